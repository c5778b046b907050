//! One way to send, whatever the protocol.

use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};

use super::grpc::Grpc;
use super::http::Http;
use super::settings::Settings;
use crate::config::OtlpProtocol;

/// Why a push failed. Never holds a header or what the server said: both may hold secrets.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    #[error("cannot set up TLS: {0}")]
    Tls(String),
    #[error("cannot reach the collector: {0}")]
    Unreachable(String),
    #[error("the collector did not answer in time")]
    Timeout,
    #[error("the collector answered {status}")]
    Refused {
        status: String,
        /// Trying again may help.
        temporary: bool,
        /// When the collector asked to be tried again.
        retry_after: Option<std::time::Duration>,
    },
    #[error("the collector rejected {0} points")]
    Partial(i64),
}

impl PushError {
    /// Trying again may help.
    pub(super) fn is_temporary(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Timeout => true,
            Self::Refused { temporary, .. } => *temporary,
            Self::Tls(_) | Self::Partial(_) => false,
        }
    }
}

/// A client of one collector.
#[derive(Debug)]
pub(super) enum Transport {
    Http(Box<Http>),
    Grpc(Box<Grpc>),
}

impl Transport {
    /// Reads certificates; connects later.
    pub(super) fn new(settings: &Settings) -> Result<Self, PushError> {
        match settings.protocol {
            OtlpProtocol::HttpProtobuf => {
                Http::new(settings).map(|client| Self::Http(Box::new(client)))
            }
            OtlpProtocol::Grpc => Grpc::new(settings).map(|client| Self::Grpc(Box::new(client))),
        }
    }

    /// Sends one request, within the timeout of the settings.
    pub(super) async fn send(
        &mut self,
        request: ExportMetricsServiceRequest,
    ) -> Result<(), PushError> {
        let response = match self {
            Self::Http(client) => client.send(&request).await?,
            Self::Grpc(client) => client.send(request).await?,
        };
        rejected(&response)
    }
}

/// Whether a client could be made: its certificates are there and can be used. Connects to nothing.
///
/// # Errors
/// What is wrong with which file.
pub async fn check(settings: &Settings) -> Result<(), PushError> {
    // tonic makes its client inside of a runtime only.
    Transport::new(settings).map(drop)
}

fn rejected(response: &ExportMetricsServiceResponse) -> Result<(), PushError> {
    match &response.partial_success {
        Some(partial) if partial.rejected_data_points > 0 => {
            Err(PushError::Partial(partial.rejected_data_points))
        }
        _ => Ok(()),
    }
}
