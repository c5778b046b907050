//! The JetBrains plugin: Nitrite databases in H2 MVStore files, and partition files. Neither holds token
//! counts: output is estimated from the replies' length, input stays unknown.

mod bytes;
pub mod java_object;
#[cfg(test)]
mod java_writer;
mod modified_utf8;
pub mod mvstore;
