//! `serve`: scan, watch, serve the metrics, and push them if configured.

use std::sync::Arc;

use tokio::sync::{Notify, watch};

use super::{CommandError, Setup, progress, reload, runtime};
use crate::ledger::Snapshot;
use crate::metrics::{ConstantLabels, Recorder, families};
use crate::outlets::otlp;
use crate::privileges;
use crate::scan::{Schedule, Wake, missing_homes};
use crate::serve::{Server, Sources};
use crate::usage::printable;

/// What a variable of the environment is set to.
pub(super) type Environment = fn(&str) -> Option<String>;

pub(super) fn run(setup: Setup, environment: Environment) -> Result<(), CommandError> {
    // Before any thread is started: capabilities are a thread's own.
    privileges::drop_unneeded();
    for home in missing_homes(&setup.config.homes) {
        tracing::warn!(home, "no such folder; it is looked for again at each scan");
    }
    runtime()?.block_on(serve(setup, environment))
}

async fn serve(setup: Setup, environment: Environment) -> Result<(), CommandError> {
    let failed = |error: &dyn std::fmt::Display| CommandError::failed(error.to_string());
    let labels = ConstantLabels::new(&setup.config.labels).map_err(|error| failed(&error))?;
    let push = otlp::Settings::resolve(&setup.config.otlp, &environment)
        .map_err(|error| failed(&error))?;
    let pushes = Arc::new(otlp::Stats::default());
    let recorder = Arc::new(match &push {
        Some(_) => {
            let pushes = Arc::clone(&pushes);
            Recorder::new().with_otlp(move || pushes.status())
        }
        None => Recorder::new(),
    });
    let (publish, snapshots) = watch::channel(Arc::new(Snapshot::default()));
    let (stop, stopping) = watch::channel(false);

    // The ledger's lock and the ports are taken before anything else is done.
    let scanner = setup.scanner()?;
    let instance = uuid(scanner.ledger().instance());
    let seen = Arc::new(Notify::new());
    let sources = Sources {
        snapshots: snapshots.clone(),
        seen: Arc::clone(&seen),
        labels: labels.clone(),
        recorder: Arc::clone(&recorder),
    };
    let server = Server::bind(&setup.config.web, sources)?;
    tracing::info!("listening on {}", server.addresses().join(", "));
    let schedule = Schedule::start(
        scanner,
        &setup.config,
        publish,
        greeter(),
        progress::on_terminal(),
    )
    .map_err(|error| failed(&error))?;

    let waker = schedule.waker();
    let releasing = tokio::spawn({
        let waker = waker.clone();
        let seen = Arc::clone(&seen);
        async move {
            loop {
                seen.notified().await;
                let _ = waker.send(Wake::Seen);
            }
        }
    });
    let mut ended = stopping.clone();
    let served = tokio::spawn(server.run(async move {
        let _ = ended.wait_for(|&stop| stop).await;
    }));
    let pushed = match push {
        Some(settings) => {
            let watermark = setup
                .state_dir
                .as_ref()
                .map(|dir| dir.join("otlp-delta.json"));
            let render = {
                let own = !setup.config.web.disable_exporter_metrics;
                let recorder = Arc::clone(&recorder);
                Arc::new(move |snapshot: &Snapshot| {
                    families(snapshot, &labels, own.then(|| recorder.exporter()).as_ref())
                })
            };
            let pusher = otlp::Pusher::new(settings, &instance, watermark, pushes, render)
                .map_err(|error| failed(&error))?;
            Some(tokio::spawn(pusher.run(snapshots, stopping, seen)))
        }
        None => None,
    };
    let reloading = tokio::spawn(reload::run(setup.source, setup.config, waker, recorder));

    terminated().await;
    tracing::info!("stopping");
    reloading.abort();
    releasing.abort();
    // The pass that runs ends first, so that the last push has its result.
    let _ = tokio::task::spawn_blocking(move || schedule.stop()).await;
    let _ = stop.send(true);
    if let Ok(Err(error)) = served.await {
        return Err(failed(&error));
    }
    if let Some(pushed) = pushed {
        let _ = pushed.await;
    }
    Ok(())
}

/// Says once, after the first pass, what was found or where it was looked for.
fn greeter() -> impl FnMut(&Snapshot) + Send + 'static {
    let mut greeted = false;
    move |snapshot: &Snapshot| {
        if std::mem::replace(&mut greeted, true) {
            return;
        }
        let files: u64 = snapshot.stores.values().map(|store| store.files).sum();
        if files > 0 {
            tracing::info!(
                "read {files} files in {:.1} s; watching for changes",
                snapshot.scan.last_duration_seconds
            );
            return;
        }
        let mut places: Vec<String> = snapshot
            .stores
            .values()
            .flat_map(|store| &store.looked_at)
            .map(|path| printable(&path.to_string_lossy()).into_owned())
            .collect();
        places.sort();
        places.dedup();
        tracing::info!(
            "no Copilot data yet; watching for it. Looked at {}",
            places.join(", ")
        );
    }
}

/// Returns when the exporter is asked to stop.
async fn terminated() {
    let interrupted = tokio::signal::ctrl_c();
    #[cfg(unix)]
    if let Ok(mut terminate) =
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
    {
        tokio::select! {
            _ = interrupted => {}
            _ = terminate.recv() => {}
        }
        return;
    }
    let _ = interrupted.await;
}

/// The usual way to write 16 bytes of identity.
fn uuid(bytes: [u8; 16]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    [
        part(0, 8),
        part(8, 12),
        part(12, 16),
        part(16, 20),
        part(20, 32),
    ]
    .join("-")
}
