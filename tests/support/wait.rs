//! Waiting for what happens soon.

use std::time::{Duration, Instant};

/// How long anything may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// What `look` finds, as soon as it finds something; panics with `what` after [`PATIENCE`].
pub fn eventually<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, what, look)
}

/// What `look` finds, as soon as it finds something; panics with `what` after `patience`.
pub fn within<T>(patience: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(
            Instant::now() < deadline,
            "waited {patience:?} in vain: {what}"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}
