//! What renders snapshots: exposition formats, files, OTLP. An outlet decides nothing about numbers.

pub mod otlp;
pub mod textfile;
