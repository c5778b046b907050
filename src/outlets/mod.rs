//! What renders snapshots: exposition formats, files, OTLP. An outlet decides nothing about numbers and
//! knows no metric by name.

#[cfg(test)]
mod examples;
mod format;
pub mod history;
mod lines;
mod openmetrics;
pub mod otlp;
pub mod period;
mod protobuf;
pub mod report;
mod text;
pub mod textfile;

pub use format::Format;
