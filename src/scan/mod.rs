//! When and what to read: homes, stamps, the watcher, one pass, and the schedule that runs passes.

mod homes;
mod stamp;
mod watcher;

pub use homes::resolve as resolve_homes;
pub use stamp::Stamp;
pub use watcher::{Watcher, folder_to_watch};
