//! The HTTP server.
//!
//! | route                      | answer                                                              |
//! |----------------------------|---------------------------------------------------------------------|
//! | `/metrics` (configurable)  | the exposition: text 0.0.4, OpenMetrics or protobuf, gzip            |
//! | `/-/healthy`               | 200 while the process runs                                          |
//! | `/-/ready`                 | 200 once the first whole pass is done, 503 before                   |
//! | `/`                        | the page for people, unless the metrics are there                   |
//! | anything else              | 404                                                                 |
//!
//! GET and HEAD only (405 otherwise). With a web configuration file every route is behind its TLS and its
//! basic auth.

mod address;
mod answer;
mod body;
mod connection;
mod crowd;
mod host;
mod listen;
mod negotiate;
mod page;
mod render;
mod web_config;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, Semaphore, watch};

use crate::config::WebConfig;
use crate::ledger::Snapshot;
use crate::metrics::{ConstantLabels, Recorder};

pub use address::{AddressError, ListenAddress};
pub use web_config::WebConfigError;

use address::Listener;
use answer::Desk;
use crowd::Crowd;
use render::Renderer;

/// What a server serves.
#[derive(Debug)]
pub struct Sources {
    /// The latest snapshot, always.
    pub snapshots: watch::Receiver<Arc<Snapshot>>,
    /// Told whenever a scrape has been delivered whole (the snapshot is marked as seen before).
    pub seen: Arc<Notify>,
    pub labels: ConstantLabels,
    pub recorder: Arc<Recorder>,
}

/// Bounds on what clients can make the server do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections at a time; beyond that the one that waits longest is closed.
    pub connections: usize,
    /// Until a request's head is there, from the connection's beginning or the head's first byte.
    pub head: Duration,
    /// Until the next request begins.
    pub idle: Duration,
    /// Until the client has taken the whole answer.
    pub answer: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 256,
            head: Duration::from_secs(10),
            // Longer than the interval at which a server scrapes, so that it can keep its connection.
            idle: Duration::from_secs(150),
            answer: Duration::from_secs(30),
        }
    }
}

/// Why the server can't start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error("cannot listen on {address}: {error}")]
    Bind {
        address: String,
        error: std::io::Error,
    },
    #[error(transparent)]
    WebConfig(#[from] WebConfigError),
}

/// Whether a server could be bound as far as the configuration goes: its addresses are addresses, and its
/// web configuration file can be used.
pub fn check(config: &WebConfig) -> Result<(), ServeError> {
    for text in &config.listen {
        text.parse::<ListenAddress>()?;
    }
    web_config::WebConfig::load(config.config_file.as_deref())?;
    Ok(())
}

fn listeners(config: &WebConfig) -> Result<Vec<Listener>, ServeError> {
    let failed = |address: &str| {
        let address = address.to_owned();
        |error| ServeError::Bind { address, error }
    };
    if config.systemd_socket {
        return address::inherited().map_err(failed("the socket of systemd"));
    }
    let bind = |text: &String| {
        let address: ListenAddress = text.parse()?;
        address.bind().map_err(failed(text))
    };
    config.listen.iter().map(bind).collect()
}

/// A server that is bound to its addresses.
#[derive(Debug)]
pub struct Server {
    listeners: Vec<Listener>,
    desk: Arc<Desk>,
    limits: Limits,
    snapshots: watch::Receiver<Arc<Snapshot>>,
    seen: Arc<Notify>,
}

impl Server {
    /// Reads the web configuration and binds every address: what is wrong is known before anything starts.
    pub fn bind(config: &WebConfig, sources: Sources) -> Result<Self, ServeError> {
        Self::bind_with(config, sources, Limits::default())
    }

    /// As [`Self::bind`], with other limits.
    pub fn bind_with(
        config: &WebConfig,
        sources: Sources,
        limits: Limits,
    ) -> Result<Self, ServeError> {
        let web_config = web_config::WebConfig::load(config.config_file.as_deref())?;
        let listeners = listeners(config)?;
        let settings = web_config.settings();
        if let Some(open) = listeners
            .iter()
            .find(|listener| !listener.origin().is_local())
            && settings.users.is_none()
        {
            tracing::warn!(
                address = %open,
                "anybody who reaches this address can read project names and costs: set basic_auth_users in --web.config.file, or listen on 127.0.0.1"
            );
        }
        let mut snapshots = sources.snapshots;
        let renderer = Renderer::new(
            snapshots.borrow_and_update().clone(),
            sources.labels,
            sources.recorder,
            !config.disable_exporter_metrics,
            config.openmetrics_created,
        );
        let desk = Desk {
            renderer: Arc::new(renderer),
            web_config,
            telemetry_path: config.telemetry_path.clone(),
            allowed_hosts: config.allowed_hosts.clone(),
            scrapes: Arc::new(Semaphore::new(config.max_requests)),
            crowd: Arc::new(Crowd::new(limits.connections)),
        };
        desk.open();
        Ok(Self {
            listeners,
            desk: Arc::new(desk),
            limits,
            snapshots,
            seen: sources.seen,
        })
    }

    /// Where it listens, for people: `127.0.0.1:19850`, `unix:/path`.
    pub fn addresses(&self) -> Vec<String> {
        self.listeners.iter().map(Listener::to_string).collect()
    }
}
