//! `demo`: the ordinary `serve`, pointed at a made-up team.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use super::{CommandError, Setup, serve};
use crate::cli::{CommonArgs, DemoArgs, ServeArgs};
use crate::config::ConfigSource;
use crate::demo::Team;
use crate::usage::Timestamp;

/// How often the team's files grow.
const TICK: Duration = Duration::from_secs(1);

pub(super) fn run(common: &CommonArgs, args: &DemoArgs) -> Result<(), CommandError> {
    match &args.dir {
        Some(dir) => {
            let fresh = fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none());
            if dir.exists() && !fresh {
                let dir = dir.display();
                return Err(CommandError::usage(format!("{dir} is not an empty folder")));
            }
            run_in(dir, common, args)
        }
        None => {
            let folder = tempfile::Builder::new()
                .prefix("copilot-exporter-demo-")
                .tempdir()
                .map_err(|error| failed(&error))?;
            run_in(folder.path(), common, args)
        }
    }
}

fn run_in(folder: &Path, common: &CommonArgs, args: &DemoArgs) -> Result<(), CommandError> {
    let now = Timestamp::now();
    let mut team = Team::settle(folder, now, args.days).map_err(|error| failed(&error))?;
    team.plan_spike(now);
    let config = folder.join("config.toml");
    fs::write(&config, configuration(&team)).map_err(|error| failed(&error))?;
    let setup = Setup::load(source(&config, folder, common, &args.serve), false)?;
    tracing::info!(
        "a made-up team works in {}; your own data stays untouched",
        folder.display()
    );

    let (stop, stopped) = mpsc::channel::<()>();
    let work = move || {
        while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            if let Err(error) = team.catch_up(Timestamp::now()) {
                tracing::error!("the made-up team stops working: {error}");
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        // A demo never pushes to where the environment says: that is for real data.
        let served = serve::run(setup, |_| None);
        drop(stop);
        served
    })
}

/// The demo's own config, homes and ledger, whatever the user's are.
fn source(config: &Path, folder: &Path, common: &CommonArgs, serve: &ServeArgs) -> ConfigSource {
    let common = CommonArgs {
        config: Some(config.to_owned()),
        home: Vec::new(),
        state_dir: Some(folder.join("state")),
        no_state: false,
        ..common.clone()
    };
    ConfigSource::new(&common, serve)
}

/// A config that shows what there is to configure for a team.
fn configuration(team: &Team) -> String {
    let homes = toml::Value::String(team.homes());
    format!(
        r#"homes = [{homes}]

[labels]
team = "demo"

[plan]
name = "business"
seats = 8

[[budgets]]
name = "everybody"
usd = 600
window = "month"

[[budgets]]
name = "checkout"
usd = 150
window = "month"
project = "checkout"

[[budgets]]
name = "a day"
usd = 60
window = "day"
"#
    )
}

fn failed(error: &std::io::Error) -> CommandError {
    CommandError::failed(format!("the demo can't write its files: {error}"))
}
