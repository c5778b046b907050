//! The JetBrains plugin: Nitrite databases in H2 MVStore files, and partition files. Neither holds token
//! counts: output is estimated from the replies' length, input stays unknown.

mod bytes;
mod contents;
mod conversations;
pub mod java_object;
#[cfg(test)]
mod java_writer;
mod leaves;
mod modified_utf8;
pub mod mvstore;
mod nitrite;
mod partitions;
#[cfg(test)]
mod plugin_writer;
mod project;
mod roots;
mod salvage;
mod seen;
mod store;

pub(super) use partitions::Partitions;
pub(super) use store::JetBrains;
