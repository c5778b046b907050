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

pub use push::{Pusher, Render};
pub use settings::{Settings, SettingsError};
pub use stats::Stats;
pub use transport::{PushError, check};
