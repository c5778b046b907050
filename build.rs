//! Build facts for `--version` and `copilot_exporter_build_info`.

use std::process::Command;

fn main() {
    let run = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output
            .status
            .success()
            .then(|| text.trim().to_owned())
            .filter(|text| !text.is_empty())
    };
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    // A packager states the revision; in a checkout git knows it.
    println!("cargo:rerun-if-env-changed=COPILOT_EXPORTER_REVISION");
    let revision = std::env::var("COPILOT_EXPORTER_REVISION")
        .ok()
        .or_else(|| run("git", &["rev-parse", "--short=12", "HEAD"]))
        .unwrap_or_else(|| "unknown".to_owned());
    let version = run(&rustc, &["--version"]).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo:rustc-env=BUILD_REVISION={revision}");
    println!("cargo:rustc-env=BUILD_RUSTC={version}");
    println!(
        "cargo:rustc-env=BUILD_TARGET={}",
        std::env::var("TARGET").unwrap_or_default()
    );
    println!("cargo:rerun-if-changed=build.rs");
}
