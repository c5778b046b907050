//! OTLP push. Requests are built here rather than by the OpenTelemetry SDK, which can state neither a
//! series' own start time nor more than 2,000 series without losing some.

mod delta;
mod encode;
mod grpc;
mod http;
mod push;
mod settings;
mod stats;
mod transport;

/// Whether a pusher could be made: its certificates are there and can be used. Connects to nothing.
///
/// # Errors
/// What is wrong with which file.
pub async fn check(settings: &Settings) -> Result<(), PushError> {
    // tonic makes its client inside of a runtime only.
    transport::Transport::new(settings).map(drop)
}

pub use push::{Pusher, Render};
pub use settings::{Settings, SettingsError};
pub use stats::Stats;
pub use transport::PushError;
