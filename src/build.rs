//! What this binary was built from.

pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The commit, or `unknown` outside a checkout.
pub const REVISION: &str = env!("BUILD_REVISION");
pub const RUSTC: &str = env!("BUILD_RUSTC");
pub const TARGET: &str = env!("BUILD_TARGET");

/// What `--version` prints.
pub const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\nrevision: ",
    env!("BUILD_REVISION"),
    "\nrustc:    ",
    env!("BUILD_RUSTC"),
    "\nplatform: ",
    env!("BUILD_TARGET"),
);
