//! Chat sessions of VS Code's core: journals and flat documents (formats, vscode.md §3).

use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::stores::files::open_regular;
use crate::stores::{Cursor, Discovery, Home, Reader, Sink, Source, StoreError, StoreKind};
use crate::usage::Evidence;

use super::journal::{Entry, read_entry};
use super::layout::{Search, io_error, root_of, source, stem, workspace_file};
use super::lean::{Lean, TOO_MANY_ITEMS};
use super::mark::Mark;
use super::session::{SHAPE, Saved, Session};
use super::skim::{Fault, Skim};
use super::workspace::project_of;

/// Raised when a request is read differently, so that all of them are stated anew.
const VERSION: u32 = 1;
const BUFFER: usize = 256 << 10;

/// Reads chat sessions: of workspaces, of empty windows, and copies on their way to another window.
#[derive(Debug)]
pub(crate) struct ChatSessions;

/// How far a journal was read.
#[derive(Debug, Serialize, Deserialize)]
struct Position {
    version: u32,
    mark: Mark,
    session: Saved,
}

impl Reader for ChatSessions {
    fn kind(&self) -> StoreKind {
        StoreKind::VsCodeChat
    }

    fn discover(&self, home: &Home) -> Discovery {
        let mut search = Search::new(home);
        for user in search.users() {
            let mut folders = Vec::new();
            for workspace in search.workspaces(&user) {
                for extension in search.extensions(&workspace) {
                    folders.push(extension.join("chatSessions"));
                }
                folders.push(workspace.join("chatSessions"));
            }
            for storage in search.global_storages(&user) {
                folders.push(storage.join("emptyWindowChatSessions"));
                folders.push(storage.join("transferredChatSessions"));
            }
            for folder in folders {
                for file in search.files(&folder, &["json", "jsonl"]) {
                    search.add(source(file));
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
        let io = io_error(path);
        let (mut file, metadata) = open_regular(root, path).map_err(&io)?;
        let workspace = workspace_file(path).and_then(|file| project_of(root, &file));
        let name = path.to_string_lossy();
        if path
            .extension()
            .is_some_and(|extension| extension == "jsonl")
        {
            let (mut session, offset) = resume(cursor, &mut file, &metadata).map_err(&io)?;
            file.seek(SeekFrom::Start(offset)).map_err(&io)?;
            let (read, end) = replay(&mut session, &file, offset, sink);
            session.observe(
                &name,
                &stem(path),
                Evidence::JournalRequest,
                workspace,
                sink,
            );
            end.map_err(&io)?;
            let mark = Mark::at(&mut file, &metadata, offset + read).map_err(&io)?;
            return Ok(match session.save() {
                Some(session) => Cursor::store(&Position {
                    version: VERSION,
                    mark,
                    session,
                }),
                None => Cursor::default(),
            });
        }
        let mut session = flat(file, path, sink)?;
        session.observe(&name, &stem(path), Evidence::FlatRequest, workspace, sink);
        Ok(Cursor::default())
    }
}

/// The session as it was left, and where to go on. What was seen of its requests is kept also when the
/// journal must be read from its beginning: it was rewritten, and undone requests are no longer in it.
fn resume(cursor: &Cursor, file: &mut File, metadata: &Metadata) -> io::Result<(Session, u64)> {
    let position = cursor.load::<Position>();
    let Some(position) = position.filter(|position| position.version == VERSION) else {
        return Ok((Session::default(), 0));
    };
    let session = Session::load(position.session);
    Ok(match position.mark.resume(file, metadata)? {
        0 => (session.only_seen(), 0),
        offset => (session, offset),
    })
}

/// Applies the whole lines of `input`, which begins at the file's `offset`, and tells how long they are
/// together. A last line without its line end isn't finished and waits.
pub(super) fn replay(
    session: &mut Session,
    input: impl Read,
    offset: u64,
    sink: &mut dyn Sink,
) -> (u64, io::Result<()>) {
    let mut whole = 0;
    let mut skim = Skim::lines(BufReader::with_capacity(BUFFER, input));
    let end = loop {
        if offset == 0
            && skim.consumed() == 0
            && let Err(Fault::Io(error)) = skim.skip_mark()
        {
            break Err(error);
        }
        let left_out = skim.left_out();
        let entry = match read_entry(&mut skim, &SHAPE) {
            Ok(entry) => entry,
            Err(Fault::Broken) => Entry::Rejected("line"),
            Err(Fault::Ended) => break Ok(()),
            Err(Fault::Io(error)) => break Err(error),
        };
        match skim.skip_line() {
            Ok(true) => whole = skim.consumed(),
            Err(Fault::Io(error)) => break Err(error),
            _ => break Ok(()),
        }
        match session.apply(entry) {
            Err("unknown_kind") => sink.skipped("unknown_kind"),
            Err(reason) => sink.parse_error(reason),
            Ok(()) if skim.left_out() > left_out => sink.parse_error(TOO_MANY_ITEMS),
            Ok(()) => {}
        }
    };
    sink.bytes_read(skim.consumed());
    (whole, end)
}

/// A document that holds the whole session. One that is no session holds no requests.
fn flat(file: File, path: &Path, sink: &mut dyn Sink) -> Result<Session, StoreError> {
    let mut skim = Skim::document(BufReader::with_capacity(BUFFER, file));
    let document = skim
        .skip_mark()
        .and_then(|()| Lean::read(&mut skim, &SHAPE));
    sink.bytes_read(skim.consumed());
    if skim.left_out() > 0 {
        sink.parse_error(TOO_MANY_ITEMS);
    }
    match document {
        Ok(document) => Ok(Session::of(document)),
        Err(Fault::Io(error)) => Err(io_error(path)(error)),
        Err(Fault::Ended) if skim.consumed() == 0 => Ok(Session::default()),
        Err(Fault::Ended | Fault::Broken) => {
            sink.parse_error("document");
            Ok(Session::default())
        }
    }
}

#[cfg(test)]
#[path = "chat_sessions_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "journal_model_tests.rs"]
mod model_tests;
