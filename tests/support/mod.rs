//! What end-to-end tests stand on: real peers started on free ports and stopped when the test ends, homes
//! that are made up, and waiting with a deadline instead of sleeping.

#![allow(
    dead_code,
    reason = "every test program compiles this and uses its own part"
)]

pub mod exporter;
pub mod home;
pub mod http;
pub mod process;
pub mod prometheus;
pub mod tools;
pub mod wait;
