//! Homes that are made up.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::tools::root;

/// A user's home folder that lives as long as the test.
#[derive(Debug)]
pub struct Home(TempDir);

impl Home {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Copies `fixtures/FROM` (a file or a folder) to `to` below the home.
    pub fn with(self, from: &str, to: &str) -> Self {
        copy(&root().join("fixtures").join(from), &self.at(to));
        self
    }

    /// Writes a file below the home, with the folders above it.
    pub fn write(&self, to: &str, content: impl AsRef<[u8]>) {
        fs::write(self.at(to), content).expect("to write into a temporary home");
    }

    /// Appends to a file below the home, as a program that logs does.
    pub fn append(&self, to: &str, content: impl AsRef<[u8]>) {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.at(to));
        file.and_then(|mut file| file.write_all(content.as_ref()))
            .expect("to append to a temporary home");
    }

    fn at(&self, relative: &str) -> PathBuf {
        let path = self.path().join(relative);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).expect("to create a folder in a temporary home");
        }
        path
    }
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).expect("to create a folder");
        for entry in
            fs::read_dir(from).unwrap_or_else(|error| panic!("{}: {error}", from.display()))
        {
            let entry = entry.expect("a folder entry");
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        fs::copy(from, to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    }
}
