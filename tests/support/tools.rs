//! The programs that `.ci/tools` brings.

use std::path::{Path, PathBuf};

/// The repository's root.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where `name` is: in `.tools/bin`, else on the search path. Panics with the remedy if it is nowhere.
pub fn tool(name: &str) -> PathBuf {
    let own = root().join(".tools/bin").join(name);
    if own.exists() {
        return own;
    }
    std::env::var_os("PATH")
        .and_then(|path| {
            std::env::split_paths(&path)
                .map(|folder| folder.join(name))
                .find(|file| file.is_file())
        })
        .unwrap_or_else(|| panic!("{name} is missing: run .ci/tools"))
}
