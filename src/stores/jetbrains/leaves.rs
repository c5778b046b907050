//! What the leaves of a map tell, in their order. A store of many is read on two threads: nearly all of the
//! time goes into the documents.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

use super::conversations::{self, Entity, Told};
use super::java_object::Document;
use super::mvstore::{Leaf, Leaves, Malformed, Position, ReadAt, Store};

/// More would be faster still, and felt by whoever works at the machine.
const THREADS: usize = 2;
/// So many leaves are handed over at once.
const GROUP: usize = 128;
/// So many groups may wait for those before them.
const AHEAD: usize = 4;
/// Only one leaf of at least so many bytes is in memory at a time.
const LARGE: usize = 1 << 20;

/// What a leaf tells.
#[derive(Debug)]
pub(super) struct ReadLeaf {
    pub(super) position: Position,
    /// `None`: its page is damaged.
    pub(super) documents: Option<Documents>,
}

/// What the documents of a leaf tell.
#[derive(Debug, Default)]
pub(super) struct Documents {
    /// Their bytes.
    pub(super) bytes: u64,
    pub(super) told: Vec<Told>,
    /// How many couldn't be read.
    pub(super) broken: u32,
}

/// What is used for one leaf after the other.
#[derive(Default)]
struct Memory {
    page: Vec<u8>,
    document: Document<'static>,
}

/// Reads leaves, and gives what they tell in their order.
///
/// # Errors
/// When the file can't be read.
pub(super) fn read<R: ReadAt + Sync>(
    store: &Store<R>,
    leaves: &Leaves,
    entity: Entity,
    visit: &mut dyn FnMut(&ReadLeaf),
) -> io::Result<()> {
    let large = Mutex::new(());
    let read = |group: &&[Position]| -> io::Result<Vec<ReadLeaf>> {
        let mut memory = Memory::default();
        let read = |&position: &Position| {
            let documents = documents(store, leaves, position, entity, &mut memory, &large)?;
            Ok(ReadLeaf {
                position,
                documents,
            })
        };
        group.iter().map(read).collect()
    };
    let groups: Vec<_> = leaves.positions.chunks(GROUP).collect();
    in_order(&groups, read, &mut |leaves| {
        leaves.iter().for_each(&mut *visit)
    })
}

fn documents<R: ReadAt>(
    store: &Store<R>,
    leaves: &Leaves,
    position: Position,
    entity: Entity,
    memory: &mut Memory,
    large: &Mutex<()>,
) -> io::Result<Option<Documents>> {
    let alone = |size: usize| (size >= LARGE).then(|| lock(large));
    let mut guard = alone(position.largest().unwrap_or(usize::MAX));
    let Ok(leaf) = store.leaf(leaves, position, &mut memory.page)? else {
        return Ok(None);
    };
    // A small page may hold much that is packed.
    guard = guard.or_else(|| alone(leaf.bytes.len()));
    let documents = Documents::of(&leaf, entity, &mut memory.document);
    drop(leaf);
    if guard.is_some() {
        *memory = Memory::default();
    }
    drop(guard);
    Ok(Some(documents))
}

fn lock(large: &Mutex<()>) -> MutexGuard<'_, ()> {
    large.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Documents {
    fn of(leaf: &Leaf<'_>, entity: Entity, memory: &mut Document<'static>) -> Self {
        let mut documents = Self {
            bytes: leaf.bytes.len() as u64,
            ..Self::default()
        };
        let mut document = std::mem::take(memory).emptied();
        let whole = leaf.java_objects(&mut |object| match document.replace(object) {
            Ok(_) => documents.told.push(conversations::read(&document, entity)),
            Err(Malformed) => documents.broken += 1,
        });
        documents.broken += u32::from(whole.is_err());
        *memory = document.emptied();
        documents
    }
}

/// Does `work` on all items, on more than one thread if there are several, and shows the results in the
/// order of the items.
fn in_order<I: Sync, T: Send>(
    items: &[I],
    work: impl Fn(&I) -> io::Result<T> + Sync,
    visit: &mut dyn FnMut(&T),
) -> io::Result<()> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let count = THREADS.min(cores).min(items.len());
    if count < 2 {
        let mut results = items.iter().map(work);
        return results.try_for_each(|result| result.map(|result| visit(&result)));
    }
    let work = &work;
    thread::scope(|scope| {
        let work_on = |first| {
            let (send, results) = mpsc::sync_channel(AHEAD);
            let (give_back, spent) = mpsc::channel();
            scope.spawn(move || {
                for item in items.iter().skip(first).step_by(count) {
                    // After an error nobody listens.
                    if send.send(work(item)).is_err() {
                        break;
                    }
                    // What one thread has allocated and another frees makes the two wait for each other.
                    spent.try_iter().for_each(drop);
                }
            });
            (results, give_back)
        };
        let threads: Vec<_> = (0..count).map(work_on).collect();
        for (results, give_back) in threads.iter().cycle().take(items.len()) {
            // A thread that panicked sends nothing, and the scope panics too.
            let Ok(result) = results.recv() else { break };
            let result = result?;
            visit(&result);
            // At its end a thread needs nothing back.
            let _ = give_back.send(result);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        for count in [0, 1, 2, 3, 1000] {
            let items: Vec<usize> = (0..count).collect();
            let mut seen = Vec::new();
            let work = |&item: &usize| {
                if item % 7 == 0 {
                    thread::yield_now();
                }
                Ok(item * 2)
            };
            in_order(&items, work, &mut |&result| seen.push(result)).unwrap();
            assert_eq!(seen, items.iter().map(|item| item * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_error_ends_the_work() {
        let items: Vec<usize> = (0..1000).collect();
        let mut seen = 0;
        let work = |&item: &usize| match item {
            20 => Err(io::ErrorKind::Other.into()),
            _ => Ok(item),
        };
        assert!(in_order(&items, work, &mut |_| seen += 1).is_err());
        assert_eq!(seen, 20);
    }

    #[test]
    #[should_panic(expected = "scoped thread")]
    fn a_panic_is_one_of_the_caller_too() {
        let items: Vec<usize> = (0..100).collect();
        let work = |&item: &usize| {
            assert_ne!(item, 50);
            Ok(())
        };
        let _ = in_order(&items, work, &mut |()| {});
    }
}
