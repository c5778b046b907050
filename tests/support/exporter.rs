//! The exporter under test, run as its users run it.

use std::fs;
use std::path::Path;

use super::http;
use super::process::{Process, free_port};

/// The program that this build made.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_copilot-exporter");

/// A running exporter.
#[derive(Debug)]
pub struct Exporter {
    pub process: Process,
    pub port: u16,
}

impl Exporter {
    /// `serve` on the home `home`, with the lines of `config` (TOML, without `[web]`); its state is forgotten
    /// with it. Ready, that is after its first whole pass, when this returns.
    pub fn serve(home: &Path, config: &str) -> Self {
        Self::start("serve", home, None, config, free_port())
    }

    /// As [`Self::serve`], with a state folder that outlives it.
    pub fn serve_with_state(home: &Path, state: &Path, config: &str) -> Self {
        Self::start("serve", home, Some(state), config, free_port())
    }

    /// As [`Self::serve_with_state`], where one served before: the same series for who scrapes it.
    pub fn serve_again(home: &Path, state: &Path, config: &str, port: u16) -> Self {
        Self::start("serve", home, Some(state), config, port)
    }

    fn start(subcommand: &str, home: &Path, state: Option<&Path>, config: &str, port: u16) -> Self {
        let mut process = Process::start("copilot-exporter", PROGRAM, |folder, command| {
            let file = folder.join("config.toml");
            let config = format!("{config}\n[web]\nlisten = [\"127.0.0.1:{port}\"]\n");
            fs::write(&file, config).expect("to write the configuration");
            let own = folder.join("state");
            command
                .arg(subcommand)
                .arg("--config")
                .arg(file)
                .arg("--home")
                .arg(home)
                .arg("--state-dir")
                .arg(state.unwrap_or(&own));
        });
        process.wait_ready(port, "/-/ready");
        Self { process, port }
    }

    /// The exposition, text format 0.0.4.
    pub fn metrics(&self) -> String {
        let answer = http::get_with(self.port, "/metrics", &[("Accept", "text/plain")])
            .expect("the exporter to answer");
        assert_eq!(answer.status, 200);
        answer.text()
    }
}
