//! The HTTP server as its clients see it.

mod limits;
mod page;
mod program;
mod routes;
mod scrapes;
mod server;
mod snapshots;
#[path = "../support/mod.rs"]
mod support;
mod tls;
