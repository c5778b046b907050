//! OTLP over HTTP with protobuf bodies.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{
    CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT,
};
use hyper::{Request, StatusCode};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use prost::Message;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};

use super::settings::Settings;
use super::transport::PushError;

/// The most that is read of an answer.
const MOST_ANSWER: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Http {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    url: String,
    headers: HeaderMap,
    gzip: bool,
    timeout: Duration,
}

impl Http {
    pub(super) fn new(settings: &Settings) -> Result<Self, PushError> {
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls(settings)?)
            .https_or_http()
            .enable_http1()
            .build();
        Ok(Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
            url: settings.url.clone(),
            headers: headers(settings)?,
            gzip: settings.gzip,
            timeout: settings.timeout,
        })
    }

    pub(super) async fn send(
        &self,
        request: &ExportMetricsServiceRequest,
    ) -> Result<ExportMetricsServiceResponse, PushError> {
        tokio::time::timeout(self.timeout, self.exchange(request))
            .await
            .unwrap_or(Err(PushError::Timeout))
    }

    async fn exchange(
        &self,
        request: &ExportMetricsServiceRequest,
    ) -> Result<ExportMetricsServiceResponse, PushError> {
        let mut body = request.encode_to_vec();
        if self.gzip {
            body = compressed(&body).map_err(|error| PushError::Unreachable(error.to_string()))?;
        }
        let mut post = Request::post(&self.url)
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| PushError::Unreachable(error.to_string()))?;
        *post.headers_mut() = self.headers.clone();
        let response = self
            .client
            .request(post)
            .await
            .map_err(|error| PushError::Unreachable(cause(&error)))?;
        let (head, body) = response.into_parts();
        if !head.status.is_success() {
            return Err(refused(head.status, &head.headers));
        }
        let body = Limited::new(body, MOST_ANSWER)
            .collect()
            .await
            .map(|body| body.to_bytes())
            .unwrap_or_default();
        // An answer that isn't the protocol's (some collectors answer with text) is an acknowledgement all the same.
        Ok(ExportMetricsServiceResponse::decode(body).unwrap_or_default())
    }
}

fn refused(status: StatusCode, headers: &HeaderMap) -> PushError {
    let retry_after = headers
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.parse().ok())
        .map(Duration::from_secs);
    PushError::Refused {
        status: format!("HTTP {status}"),
        temporary: matches!(status.as_u16(), 429 | 502 | 503 | 504),
        retry_after,
    }
}

fn headers(settings: &Settings) -> Result<HeaderMap, PushError> {
    let mut headers = HeaderMap::new();
    let agent = concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"));
    headers.insert(USER_AGENT, HeaderValue::from_static(agent));
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("application/x-protobuf"),
    );
    if settings.gzip {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    for (name, value) in &settings.headers {
        let bad = || PushError::Unreachable(format!("the header {name:?} is not valid"));
        let mut text = HeaderValue::from_str(value).map_err(|_| bad())?;
        text.set_sensitive(true);
        headers.insert(
            HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?,
            text,
        );
    }
    Ok(headers)
}

fn compressed(body: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 8), Compression::fast());
    encoder.write_all(body)?;
    encoder.finish()
}

/// The innermost reason: "connection refused" says more than "client error".
fn cause(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

fn tls(settings: &Settings) -> Result<ClientConfig, PushError> {
    let mut roots = RootCertStore::empty();
    if let Some(path) = &settings.ca_file {
        for certificate in certificates(path)? {
            roots
                .add(certificate)
                .map_err(|error| PushError::Tls(format!("{}: {error}", path.display())))?;
        }
    } else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| PushError::Tls(error.to_string()))?
        .with_root_certificates(roots);
    match &settings.client_identity {
        None => Ok(builder.with_no_client_auth()),
        Some((certificate, key)) => {
            let private = PrivateKeyDer::from_pem_file(key)
                .map_err(|error| PushError::Tls(format!("{}: {error}", key.display())))?;
            builder
                .with_client_auth_cert(certificates(certificate)?, private)
                .map_err(|error| PushError::Tls(error.to_string()))
        }
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, PushError> {
    let bad = |error: String| PushError::Tls(format!("{}: {error}", path.display()));
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path)
        .map_err(|error| bad(error.to_string()))?
        .collect();
    let found = found.map_err(|error| bad(error.to_string()))?;
    if found.is_empty() {
        Err(bad("holds no certificate".to_owned()))
    } else {
        Ok(found)
    }
}
