//! A ledger that somebody else keeps, to look at.

use std::path::Path;

use rusqlite::Connection;

use super::file::{self, File, Trouble};
use super::{LedgerError, Loaded, Meta, schema, tables};

impl File {
    /// Opens the ledger of a folder as it is at this moment. Its lock and its content are left alone, and
    /// whoever keeps it goes on. `None`: there is nothing in it yet.
    pub(super) fn view(dir: &Path) -> Result<Option<(Self, Meta, Loaded)>, LedgerError> {
        let path = dir.join(Self::NAME);
        match load(&path) {
            Ok((connection, loaded)) => Ok(loaded.map(|(meta, loaded)| {
                let file = Self {
                    path,
                    connection,
                    lock: None,
                    is_view: true,
                };
                (file, meta, loaded)
            })),
            Err(Trouble::Refused(error)) => Err(error),
            Err(Trouble::Damaged(reason) | Trouble::Unusable(reason)) => {
                Err(LedgerError::Unreadable { path, reason })
            }
        }
    }
}

fn load(path: &Path) -> Result<(Connection, Option<(Meta, Loaded)>), Trouble> {
    let connection = file::read_only(path)?;
    // Never ended: all that is read is of one moment, whatever is written meanwhile.
    connection.execute_batch("BEGIN")?;
    let loaded = match schema::kind(&connection)? {
        schema::Kind::Empty => None,
        schema::Kind::Foreign => return Err(Trouble::Damaged("not a ledger".to_owned())),
        schema::Kind::Ledger { version } if version > schema::VERSION => {
            return Err(Trouble::Refused(LedgerError::Newer {
                path: path.to_owned(),
                found: version,
                known: schema::VERSION,
            }));
        }
        schema::Kind::Ledger { version } if version < schema::VERSION => {
            let reason = "an older version of this program keeps it".to_owned();
            return Err(Trouble::Unusable(reason));
        }
        schema::Kind::Ledger { .. } => match tables::load_meta(&connection)? {
            Some(meta) => Some((meta, tables::load(&connection)?)),
            None => None,
        },
    };
    Ok((connection, loaded))
}
