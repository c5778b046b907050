//! The JetBrains plugin: Nitrite databases in H2 MVStore files, and partition files. Neither holds token
//! counts: output is estimated from the replies' length, input stays unknown.

mod bytes;
pub mod mvstore;
