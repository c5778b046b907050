//! Run as root (to read many homes), the exporter keeps only the privileges that this takes.

/// Drops every capability but those to read other people's files and to listen on a low port, and the
/// ability to gain any.
///
/// Must run before other threads are started, since capabilities are a thread's own.
#[cfg(target_os = "linux")]
pub fn drop_unneeded() {
    use rustix::thread::{
        CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs,
    };

    if !rustix::process::geteuid().is_root() {
        return;
    }
    let dropped = capabilities(None).and_then(|now| {
        // Not DAC_OVERRIDE: what can be read must not become what can be written.
        let kept =
            (CapabilitySet::DAC_READ_SEARCH | CapabilitySet::NET_BIND_SERVICE) & now.permitted;
        set_capabilities(
            None,
            CapabilitySets {
                effective: kept,
                permitted: kept,
                inheritable: CapabilitySet::empty(),
            },
        )
    });
    match dropped.and_then(|()| set_no_new_privs(true)) {
        Ok(()) => {
            tracing::debug!(
                "running as root: kept the privileges to read and to listen, dropped the others"
            )
        }
        Err(error) => tracing::warn!(%error, "running as root and could not drop privileges"),
    }
}

#[cfg(not(target_os = "linux"))]
pub fn drop_unneeded() {}
