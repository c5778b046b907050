//! The chat extension's own `session-store.db`, of the CLI's schema (formats, vscode.md §1).

use crate::stores::{
    Cursor, Discovery, Home, Reader, Sink, Source, StoreError, StoreKind, copilot_cli, sqlite,
};
use crate::usage::Surface;

use super::layout::{Search, root_of};

/// Reads the database of every root.
#[derive(Debug)]
pub(crate) struct SessionStore;

impl Reader for SessionStore {
    fn kind(&self) -> StoreKind {
        StoreKind::CliStore
    }

    fn discover(&self, home: &Home) -> Discovery {
        let mut search = Search::new(home);
        for user in search.users() {
            for storage in search.global_storages(&user) {
                for extension in search.extensions(&storage) {
                    for path in search.files(&extension, &["db"]) {
                        if path.ends_with("session-store.db") {
                            search.add(sqlite::source(&path));
                        }
                    }
                }
            }
        }
        search.finish()
    }

    fn read(
        &self,
        home: &Home,
        source: &Source,
        cursor: &Cursor,
        sink: &mut dyn Sink,
    ) -> Result<Cursor, StoreError> {
        let path = source.path.as_path();
        let root = root_of(home, path);
        copilot_cli::read_session_store(root, path, cursor, Surface::VsCode, sink)
    }
}
