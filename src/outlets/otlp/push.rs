//! The push loop: it reads snapshots and nothing else, so that a slow collector delays neither a scan nor a
//! scrape.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry_proto::tonic::resource::v1::Resource;
use tokio::sync::{Notify, watch};

use super::delta::Watermark;
use super::encode::{Batch, requests, resource};
use super::settings::Settings;
use super::stats::Stats;
use super::transport::{PushError, Transport};
use crate::config::Temporality;
use crate::ledger::{Reader, Snapshot};
use crate::metrics::Family;
use crate::usage::Timestamp;

/// Tries of one push; what fails for good is complete in the next one, since it sends totals.
const TRIES: u32 = 4;
/// How long the last push may take once the exporter is asked to stop.
const LAST_PUSH: Duration = Duration::from_secs(5);

/// Makes the families of a snapshot.
pub type Render = Arc<dyn Fn(&Snapshot) -> Vec<Family> + Send + Sync>;

/// Pushes snapshots to one collector.
pub struct Pusher {
    settings: Settings,
    transport: Transport,
    resource: Resource,
    watermark: Option<Watermark>,
    started: Timestamp,
    stats: Arc<Stats>,
    render: Render,
    failing: bool,
    /// Comes back for every snapshot, as long as pushes arrive.
    reader: Reader,
}

impl std::fmt::Debug for Pusher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pusher")
            .field("url", &self.settings.shown_url())
            .finish_non_exhaustive()
    }
}

impl Pusher {
    /// `instance` is the exporter's own durable id; `watermark` is the file for delta temporality.
    pub fn new(
        settings: Settings,
        instance: &str,
        watermark: Option<PathBuf>,
        stats: Arc<Stats>,
        render: Render,
    ) -> Result<Self, PushError> {
        let transport = Transport::new(&settings)?;
        let mut attributes: std::collections::BTreeMap<String, String> = [
            ("service.name", env!("CARGO_PKG_NAME")),
            ("service.version", env!("CARGO_PKG_VERSION")),
            ("service.instance.id", instance),
            ("os.type", std::env::consts::OS),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        attributes.extend(settings.resource.clone());
        let watermark =
            (settings.temporality == Temporality::Delta).then(|| Watermark::open(watermark));
        Ok(Self {
            transport,
            resource: resource(attributes),
            watermark,
            started: Timestamp::now(),
            stats,
            render,
            failing: false,
            reader: Reader::default(),
            settings,
        })
    }

    /// Pushes at every interval until `stop` says so, and once more then.
    /// `seen` is told of every snapshot that was delivered.
    pub async fn run(
        mut self,
        snapshots: watch::Receiver<Arc<Snapshot>>,
        mut stop: watch::Receiver<bool>,
        seen: Arc<Notify>,
    ) {
        tracing::info!(url = %self.settings.shown_url(), interval = ?self.settings.interval, "pushing OTLP");
        let mut ticks = tokio::time::interval(self.settings.interval);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                _ = stop.wait_for(|&stopping| stopping) => break,
            }
            let snapshot = snapshots.borrow().clone();
            // A push may outlast the wish to stop by the time that the last one is given.
            tokio::select! {
                () = self.push(&snapshot, &seen) => {}
                _ = stop.wait_for(|&stopping| stopping) => break,
            }
        }
        let snapshot = snapshots.borrow().clone();
        if tokio::time::timeout(LAST_PUSH, self.push(&snapshot, &seen))
            .await
            .is_err()
        {
            tracing::warn!("the last push did not end in time");
        }
    }

    async fn push(&mut self, snapshot: &Snapshot, seen: &Notify) {
        if !snapshot.ready {
            return;
        }
        match self.deliver(snapshot).await {
            Ok(()) => {
                snapshot.mark_seen_by(&self.reader);
                seen.notify_one();
                self.stats.succeeded(Timestamp::now());
                if std::mem::take(&mut self.failing) {
                    tracing::info!("pushing OTLP works again");
                }
            }
            Err(error) => {
                // Nobody waits for a backend that is away.
                self.reader = Reader::default();
                self.stats.failed();
                // Told once per outage: the metrics tell how long it lasts.
                if !std::mem::replace(&mut self.failing, true) {
                    tracing::warn!(url = %self.settings.shown_url(), %error, "cannot push OTLP; totals arrive with a later push");
                }
            }
        }
    }

    async fn deliver(&mut self, snapshot: &Snapshot) -> Result<(), PushError> {
        let families = (self.render)(snapshot);
        let batch = Batch {
            resource: self.resource.clone(),
            taken: Timestamp::now().max(snapshot.taken),
            started: self.started,
            watermark: self.watermark.as_ref(),
        };
        let taken = batch.taken;
        for request in requests(&batch, &families) {
            send(&mut self.transport, request).await?;
        }
        if let Some(watermark) = &mut self.watermark {
            watermark.acknowledge(&families, taken);
        }
        Ok(())
    }
}

async fn send(
    transport: &mut Transport,
    request: opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest,
) -> Result<(), PushError> {
    let mut wait = Duration::from_millis(500);
    for _ in 1..TRIES {
        match transport.send(request.clone()).await {
            Err(error) if error.is_temporary() => {
                let asked = match &error {
                    PushError::Refused { retry_after, .. } => *retry_after,
                    _ => None,
                };
                tokio::time::sleep(asked.unwrap_or(wait).min(Duration::from_secs(30))).await;
                wait *= 2;
            }
            done => return done,
        }
    }
    transport.send(request).await
}
