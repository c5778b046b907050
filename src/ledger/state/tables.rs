//! The rows of `ledger.db`: read when they are needed, and written in one transaction.

use std::collections::HashMap;
use std::path::PathBuf;

use rusqlite::{Connection, OptionalExtension, params};

use super::codes::Code;
use super::file::{File, Trouble, is_damage};
use super::scope::ScopeRow;
use super::{Changes, Damaged, LedgerError, Loaded, Meta, ScopeCells, cells, scope, totals};
use crate::ledger::cells::SeriesId;
use crate::ledger::intake::{SourceId, SourceState};
use crate::ledger::labels::Kind;
use crate::ledger::scope::{Scope, ScopeId};
use crate::stores::{Cursor, StoreKind};
use crate::usage::{Key, Slot, Surface, Timestamp};

impl File {
    pub(super) fn scope(&self, id: ScopeId) -> Result<Option<Scope>, LedgerError> {
        let sql = "SELECT name, newest, last_call, surface, foldable, touched, facts, cells, truth
            FROM scopes JOIN facts ON facts.scope = scopes.id WHERE id = ?1";
        let row = self.query(sql, |statement| {
            statement
                .query_row([id.0], |row| {
                    Ok(ScopeRow {
                        name: row.get(0)?,
                        newest_slot: Slot(row.get(1)?),
                        last_call: row.get::<_, Option<i64>>(2)?.map(Timestamp),
                        surface: Surface::of(row.get(3)?),
                        foldable: row.get::<_, Option<i64>>(4)?.map(Timestamp),
                        touched: Timestamp(row.get(5)?),
                        facts: row.get(6)?,
                        cells: row.get(7)?,
                        truth: row.get(8)?,
                    })
                })
                .optional()
        })?;
        row.map(|row| scope::decode(&row))
            .transpose()
            .map_err(|damaged| self.damaged(damaged))
    }

    pub(super) fn cursor(&self, source: SourceId) -> Result<Cursor, LedgerError> {
        let cursor = self.query("SELECT cursor FROM sources WHERE id = ?1", |statement| {
            statement
                .query_row([source.0 as i64], |row| row.get(0))
                .optional()
        })?;
        Ok(cursor.map(Cursor).unwrap_or_default())
    }

    pub(super) fn keys(&self, each: &mut dyn FnMut(Key, ScopeId)) -> Result<(), LedgerError> {
        self.query("SELECT pairs FROM keys ORDER BY id", |statement| {
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let pairs = row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?;
                for (key, owner) in decode_pairs(pairs) {
                    each(key, owner);
                }
            }
            Ok(())
        })
    }

    pub(super) fn cells_since(
        &self,
        slot: Slot,
        each: &mut dyn FnMut(ScopeCells),
    ) -> Result<(), LedgerError> {
        let sql = "SELECT id, name, last_call, surface, coalesce(truth, cells) FROM scopes
            WHERE newest >= ?1";
        let damaged = self.query(sql, |statement| {
            let mut rows = statement.query([slot.0])?;
            while let Some(row) = rows.next()? {
                let bytes = row.get_ref(4)?.as_blob().map_err(rusqlite::Error::from)?;
                let Ok(cells) = cells::decode(bytes) else {
                    return Ok(true);
                };
                each(ScopeCells {
                    scope: ScopeId(row.get(0)?),
                    name: row.get(1)?,
                    last_call: row.get::<_, Option<i64>>(2)?.map(Timestamp),
                    surface: Surface::of(row.get(3)?),
                    cells,
                });
            }
            Ok(false)
        })?;
        if damaged {
            Err(self.damaged(Damaged))
        } else {
            Ok(())
        }
    }

    pub(super) fn foldable(
        &self,
        newest: Timestamp,
        touched: Timestamp,
        most: u32,
    ) -> Result<Vec<ScopeId>, LedgerError> {
        let sql = "SELECT scope FROM facts WHERE foldable < ?1 AND touched < ?2 LIMIT ?3";
        self.query(sql, |statement| {
            statement
                .query_map(params![newest.0, touched.0, most], |row| {
                    row.get(0).map(ScopeId)
                })?
                .collect()
        })
    }

    /// One transaction: cursors, statements and all that follows from them are durable together.
    pub(super) fn write(
        &mut self,
        meta: &Meta,
        scopes: &HashMap<ScopeId, ScopeRow>,
        sources: &HashMap<SourceId, SourceState>,
        changes: &Changes<'_>,
    ) -> Result<(), LedgerError> {
        self.try_write(meta, scopes, sources, changes)
            .map_err(|error| {
                self.error(&error, |path, reason| LedgerError::Unwritable {
                    path,
                    reason,
                })
            })
    }

    fn try_write(
        &mut self,
        meta: &Meta,
        scopes: &HashMap<ScopeId, ScopeRow>,
        sources: &HashMap<SourceId, SourceState>,
        changes: &Changes<'_>,
    ) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        write_meta(&transaction, meta)?;
        {
            let mut put = transaction.prepare_cached(
                "INSERT OR REPLACE INTO sources (id, stamp, cursor) VALUES (?1, ?2, ?3)",
            )?;
            for (id, state) in sources {
                put.execute(params![id.0 as i64, state.stamp, state.cursor.0])?;
            }
            let mut put = transaction.prepare_cached(
                "INSERT OR REPLACE INTO scopes (id, name, newest, last_call, surface, cells, truth)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?;
            let mut put_facts = transaction.prepare_cached(
                "INSERT OR REPLACE INTO facts (scope, foldable, touched, facts) VALUES (?1, ?2, ?3, ?4)",
            )?;
            let mut ordered: Vec<_> = scopes.iter().collect();
            ordered.sort_unstable_by_key(|&(&id, _)| id);
            for (id, row) in ordered {
                put.execute(params![
                    id.0,
                    row.name,
                    row.newest_slot.0,
                    row.last_call.map(|time| time.0),
                    row.surface.map_or(0, Code::code),
                    row.cells,
                    row.truth
                ])?;
                let foldable = row.foldable.map(|time| time.0);
                put_facts.execute(params![id.0, foldable, row.touched.0, row.facts])?;
            }
            if !changes.keys.is_empty() {
                transaction
                    .prepare_cached("INSERT INTO keys (pairs) VALUES (?1)")?
                    .execute([encode_pairs(changes.keys)])?;
            }
            let mut put = transaction.prepare_cached(
                "INSERT OR REPLACE INTO names (kind, name, own) VALUES (?1, ?2, ?3)",
            )?;
            for &(kind, name, own) in changes.names {
                put.execute(params![kind.code(), name.0 as i64, own])?;
            }
            let mut put = transaction.prepare_cached(
                "INSERT OR REPLACE INTO series (id, labels, counters) VALUES (?1, ?2, ?3)",
            )?;
            for &(id, labels, counters) in &changes.series {
                let labels = labels.map(totals::encode_labels).unwrap_or_default();
                put.execute(params![id.0, labels, totals::encode_counters(counters)])?;
            }
            let mut put = transaction
                .prepare_cached("INSERT OR REPLACE INTO stores (kind, counters) VALUES (?1, ?2)")?;
            for &(kind, counters) in &changes.stores {
                put.execute(params![kind.code(), totals::encode_store(counters)])?;
            }
        }
        transaction.commit()
    }

    fn query<T>(
        &self,
        sql: &str,
        run: impl FnOnce(&mut rusqlite::CachedStatement<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, LedgerError> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| run(&mut statement))
            .map_err(|error| {
                self.error(&error, |path, reason| LedgerError::Unreadable {
                    path,
                    reason,
                })
            })
    }

    fn error(
        &self,
        error: &rusqlite::Error,
        otherwise: impl FnOnce(PathBuf, String) -> LedgerError,
    ) -> LedgerError {
        let (path, reason) = (self.path.clone(), error.to_string());
        if is_damage(error) {
            LedgerError::Damaged { path, reason }
        } else {
            otherwise(path, reason)
        }
    }

    fn damaged(&self, damaged: Damaged) -> LedgerError {
        LedgerError::Damaged {
            path: self.path.clone(),
            reason: damaged.to_string(),
        }
    }
}

fn write_meta(connection: &Connection, meta: &Meta) -> rusqlite::Result<()> {
    let mut put =
        connection.prepare_cached("INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)")?;
    put.execute(params!["epoch", meta.epoch.0])?;
    put.execute(params!["secret", meta.secret])?;
    put.execute(params!["instance", meta.instance])?;
    put.execute(params!["pass", meta.pass as i64])?;
    put.execute(params!["published_pass", meta.published_pass as i64])?;
    put.execute(params!["counted", meta.counted])?;
    put.execute(params!["next_scope", meta.next_scope])?;
    put.execute(params!["newest", meta.newest.0])?;
    Ok(())
}

/// `None`: the process that made the file died before its first commit.
pub(super) fn load_meta(connection: &Connection) -> Result<Option<Meta>, Trouble> {
    if connection.query_row("SELECT count(*) FROM meta", [], |row| row.get::<_, i64>(0))? == 0 {
        return Ok(None);
    }
    fn get<T: rusqlite::types::FromSql>(
        connection: &Connection,
        name: &str,
    ) -> rusqlite::Result<T> {
        connection.query_row("SELECT value FROM meta WHERE name = ?1", [name], |row| {
            row.get(0)
        })
    }
    Ok(Some(Meta {
        epoch: Timestamp(get(connection, "epoch")?),
        secret: get(connection, "secret")?,
        instance: get(connection, "instance")?,
        pass: get::<i64>(connection, "pass")? as u64,
        published_pass: get::<i64>(connection, "published_pass")? as u64,
        counted: get(connection, "counted")?,
        next_scope: get(connection, "next_scope")?,
        newest: Timestamp(get(connection, "newest")?),
    }))
}

pub(super) fn load(connection: &Connection) -> Result<Loaded, Trouble> {
    let mut loaded = Loaded::default();
    let mut statement = connection.prepare("SELECT id, stamp FROM sources")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let id = SourceId(row.get::<_, i64>(0)? as u64);
        loaded.stamps.insert(id, row.get(1)?);
    }
    let mut statement =
        connection.prepare("SELECT id, labels, counters FROM series ORDER BY id")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let id = SeriesId(row.get(0)?);
        let counters = totals::decode_counters(&row.get::<_, Vec<u8>>(2)?)?;
        if id == SeriesId::UNATTRIBUTED {
            loaded.unattributed = Some(counters);
        } else {
            let labels = totals::decode_labels(&row.get::<_, Vec<u8>>(1)?)?;
            loaded.series.push((id, labels, counters));
        }
    }
    let mut statement = connection.prepare("SELECT kind, name, own FROM names")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let kind = Kind::of(row.get(0)?).ok_or(Damaged)?;
        loaded
            .names
            .push((kind, Key(row.get::<_, i64>(1)? as u64), row.get(2)?));
    }
    let mut statement = connection.prepare("SELECT kind, counters FROM stores")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let kind = StoreKind::of(row.get(0)?).ok_or(Damaged)?;
        let counters = totals::decode_store(&row.get::<_, Vec<u8>>(1)?)?;
        loaded.stores.push((kind, counters));
    }
    Ok(loaded)
}

/// 12 bytes a pair, little-endian.
fn encode_pairs(pairs: &[(Key, ScopeId)]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(pairs.len() * 12);
    for (key, owner) in pairs {
        bytes.extend(key.0.to_le_bytes());
        bytes.extend(owner.0.to_le_bytes());
    }
    bytes
}

fn decode_pairs(bytes: &[u8]) -> impl Iterator<Item = (Key, ScopeId)> + '_ {
    bytes.chunks_exact(12).filter_map(|pair| {
        let (key, owner) = pair.split_at_checked(8)?;
        Some((
            Key(u64::from_le_bytes(key.try_into().ok()?)),
            ScopeId(u32::from_le_bytes(owner.try_into().ok()?)),
        ))
    })
}
