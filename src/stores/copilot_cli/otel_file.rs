//! The file that the CLI's OpenTelemetry exporter writes: `otel/` below the CLI's folder by custom, any
//! other by the environment or the configuration.

use std::path::{Path, PathBuf};

use super::root;
use crate::stores::{
    Cursor, Discovery, Home, Reader, Reason, Sink, Source, StoreError, StoreKind, files, otel,
};
use crate::usage::Surface;

/// How deep below `otel/` files are looked for.
const DEPTH: usize = 4;

/// The reader of the store `cli_otel`.
#[derive(Debug)]
pub(in crate::stores) struct OtelFile;

impl Reader for OtelFile {
    fn kind(&self) -> StoreKind {
        StoreKind::CliOtel
    }

    fn discover(&self, home: &Home) -> Discovery {
        let root = root(home);
        let folder = root.join("otel");
        let mut discovery = Discovery::default();
        let mut problem = |path: &Path, error| {
            let error = StoreError::new(path, Reason::Io(error));
            discovery.problems.push(error);
        };
        let mut files = files::walk(&root, &folder, DEPTH, &mut problem);
        files.retain(|path| {
            path.extension()
                .is_some_and(|extension| extension == "jsonl")
        });
        discovery.looked_at.push(folder);
        for path in named(home) {
            if path.is_file() {
                files.push(path.clone());
            }
            discovery.looked_at.push(path);
        }
        files.sort();
        files.dedup();
        discovery.sources = files.into_iter().map(Source::file).collect();
        discovery
    }

    fn read(
        &self,
        home: &Home,
        source: &Source,
        cursor: &Cursor,
        sink: &mut dyn Sink,
    ) -> Result<Cursor, StoreError> {
        let root = root(home);
        // A file that the user named may lie anywhere; what is found must lie below the root.
        let root = match source.path.starts_with(&root) {
            true => root.as_path(),
            false => source.path.parent().unwrap_or(&source.path),
        };
        otel::read_file(root, &source.path, cursor, Surface::Cli, sink)
    }
}

/// The files that the environment and the configuration name.
fn named(home: &Home) -> impl Iterator<Item = PathBuf> + '_ {
    let variable = home.var("COPILOT_OTEL_FILE_EXPORTER_PATH");
    let variable = variable
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    variable.into_iter().chain(home.otel_files.iter().cloned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_are_found_in_the_folder_and_where_they_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join(".copilot/otel/deep");
        fs::create_dir_all(folder.join("x.jsonl")).unwrap();
        fs::write(folder.join("a.jsonl"), "").unwrap();
        fs::write(folder.join("a.txt"), "").unwrap();
        let elsewhere = dir.path().join("elsewhere.json");
        fs::write(&elsewhere, "").unwrap();
        let mut home = Home {
            dir: dir.path().to_owned(),
            ..Home::default()
        };
        home.otel_files = vec![dir.path().join("not there")];
        let variable = "COPILOT_OTEL_FILE_EXPORTER_PATH".to_owned();
        home.env.insert(variable, elsewhere.display().to_string());
        let discovery = OtelFile.discover(&home);
        let paths: Vec<_> = discovery.sources.into_iter().map(|s| s.path).collect();
        assert_eq!(paths, [folder.join("a.jsonl"), elsewhere]);
        assert_eq!(discovery.looked_at.len(), 3);
    }
}
