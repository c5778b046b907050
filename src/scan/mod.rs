//! When and what to read: homes, stamps, the watcher, one pass, and the schedule that runs passes.

mod homes;
mod pass;
mod schedule;
mod stamp;
mod watcher;

pub use homes::missing as missing_homes;
pub use pass::{Progress, Scanner};
pub use schedule::{Schedule, Wake};
