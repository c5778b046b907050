//! OTLP over gRPC.

use std::path::Path;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_client::MetricsServiceClient;
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use tonic::codec::CompressionEncoding;
use tonic::metadata::{AsciiMetadataKey, AsciiMetadataValue, MetadataMap};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Request};

use super::settings::Settings;
use super::transport::PushError;

#[derive(Debug)]
pub(super) struct Grpc {
    client: MetricsServiceClient<Channel>,
    metadata: MetadataMap,
    timeout: Duration,
}

impl Grpc {
    pub(super) fn new(settings: &Settings) -> Result<Self, PushError> {
        let endpoint = Endpoint::from_shared(settings.url.clone())
            .map_err(|error| PushError::Unreachable(error.to_string()))?
            .connect_timeout(settings.timeout)
            .user_agent(concat!(
                env!("CARGO_PKG_NAME"),
                "/",
                env!("CARGO_PKG_VERSION")
            ))
            .map_err(|error| PushError::Unreachable(error.to_string()))?;
        let endpoint = if settings.url.starts_with("https:") {
            endpoint
                .tls_config(tls(settings)?)
                .map_err(|error| PushError::Tls(error.to_string()))?
        } else {
            endpoint
        };
        let mut client = MetricsServiceClient::new(endpoint.connect_lazy());
        if settings.gzip {
            client = client
                .send_compressed(CompressionEncoding::Gzip)
                .accept_compressed(CompressionEncoding::Gzip);
        }
        Ok(Self {
            client,
            metadata: metadata(&settings.headers)?,
            timeout: settings.timeout,
        })
    }

    pub(super) async fn send(
        &mut self,
        request: ExportMetricsServiceRequest,
    ) -> Result<ExportMetricsServiceResponse, PushError> {
        let mut request = Request::new(request);
        *request.metadata_mut() = self.metadata.clone();
        match tokio::time::timeout(self.timeout, self.client.export(request)).await {
            Err(_) => Err(PushError::Timeout),
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) => Err(PushError::Refused {
                status: format!("gRPC status {:?}", status.code()),
                temporary: is_temporary(status.code()),
                retry_after: None,
            }),
        }
    }
}

/// The codes that the OTLP specification calls retryable.
fn is_temporary(code: Code) -> bool {
    matches!(
        code,
        Code::Cancelled
            | Code::DeadlineExceeded
            | Code::Aborted
            | Code::OutOfRange
            | Code::Unavailable
            | Code::DataLoss
            | Code::ResourceExhausted
    )
}

fn metadata(headers: &[(String, String)]) -> Result<MetadataMap, PushError> {
    let mut map = MetadataMap::new();
    for (name, value) in headers {
        let bad = || PushError::Unreachable(format!("the header {name:?} is not valid"));
        let key = AsciiMetadataKey::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        let mut value: AsciiMetadataValue = value.parse().map_err(|_| bad())?;
        value.set_sensitive(true);
        map.insert(key, value);
    }
    Ok(map)
}

fn tls(settings: &Settings) -> Result<ClientTlsConfig, PushError> {
    let mut tls = ClientTlsConfig::new();
    tls = match &settings.ca_file {
        Some(path) => tls.ca_certificate(Certificate::from_pem(read(path)?)),
        None => tls.with_native_roots(),
    };
    if let Some((certificate, key)) = &settings.client_identity {
        tls = tls.identity(Identity::from_pem(read(certificate)?, read(key)?));
    }
    Ok(tls)
}

fn read(path: &Path) -> Result<Vec<u8>, PushError> {
    std::fs::read(path).map_err(|error| PushError::Tls(format!("{}: {error}", path.display())))
}
