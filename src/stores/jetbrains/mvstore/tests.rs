//! The store as a whole, over files of every format version.

use std::cell::RefCell;
use std::io::Read;
use std::path::Path;

use proptest::prelude::*;

use super::writer::{Entries, Packing, Writer};
use super::*;

/// `count` entries whose values are short strings.
fn entries(count: usize, text: &str) -> Entries {
    let value = |n: usize| {
        let text = format!("{text}{n} aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
        let mut bytes = vec![11];
        strings::write(&mut bytes, &text);
        bytes
    };
    (0..count)
        .map(|n| (vec![36, 0, 0, 0, 0, 0, 0, 0, n as u8], value(n)))
        .collect()
}

fn values(store: &Store<&[u8]>, map: &str) -> Vec<String> {
    let mut found = Vec::new();
    let walked = store
        .walk(map, &mut |_| false, &mut |_, leaf| {
            let mut bytes = super::super::bytes::Bytes::new(&leaf.bytes);
            bytes.take(9 * leaf.count).unwrap();
            for _ in 0..leaf.count {
                assert_eq!(bytes.u8(), Ok(11));
                let text = strings::read(&mut bytes).unwrap();
                found.push(text.split(' ').next().unwrap().to_owned());
            }
        })
        .unwrap();
    assert_eq!(walked.damaged, 0);
    found
}

fn numbered(count: usize, text: &str) -> Vec<String> {
    (0..count).map(|n| format!("{text}{n}")).collect()
}

fn two_versions(format: Format, packing: Packing) -> Writer {
    let mut writer = Writer::new(format);
    writer.packing = packing;
    writer.commit(&[("one", entries(50, "old")), ("two", entries(3, "b"))]);
    writer.commit(&[("one", entries(40, "new"))]);
    writer.commit(&[("empty", Vec::new())]);
    writer
}

const FORMATS: [Format; 3] = [Format::V1, Format::V2, Format::V3];

#[test]
fn edge_182_every_format_and_packing_gives_the_newest_version() {
    for format in FORMATS {
        for packing in [Packing::Plain, Packing::Lzf, Packing::Deflate] {
            let file = two_versions(format, packing).closed();
            let store = Store::open(file.as_slice()).unwrap();
            assert_eq!(store.maps().collect::<Vec<_>>(), ["empty", "one", "two"]);
            assert_eq!(
                values(&store, "one"),
                numbered(40, "new"),
                "{format:?} {packing:?}"
            );
            assert_eq!(values(&store, "two"), numbered(3, "b"));
            assert!(values(&store, "empty").is_empty());
            assert!(values(&store, "absent").is_empty());
        }
    }
}

/// A file that H2 itself wrote (`fixtures/jetbrains/mvstore`).
fn genuine(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/jetbrains/mvstore");
    let packed = std::fs::read(folder.join(format!("{name}.gz"))).unwrap();
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed.as_slice())
        .read_to_end(&mut bytes)
        .unwrap();
    bytes
}

/// The mark `<map/key/version>` in each value of a map.
fn marks(store: &Store<&[u8]>, map: &str) -> Vec<String> {
    let mut found = Vec::new();
    let begin = format!("<{map}/");
    let walked = store
        .walk(map, &mut |_| false, &mut |_, leaf| {
            leaf.java_objects(&mut |object| {
                let text = String::from_utf8_lossy(object);
                let mark = text
                    .split(&begin)
                    .nth(1)
                    .and_then(|rest| rest.split_once('>'));
                found.push(format!("{begin}{}>", mark.unwrap().0));
            })
            .unwrap();
        })
        .unwrap();
    assert_eq!(walked.damaged, 0);
    found
}

#[test]
fn edge_182_what_older_h2s_wrote_is_read_as_they_read_it() {
    let truth = include_str!("../../../../fixtures/jetbrains/mvstore/truth.txt");
    for (h2, format) in [("h2-1.4.200", Format::V1), ("h2-2.1.214", Format::V2)] {
        for file in ["plain-killed", "lzf-killed", "deflate-closed"] {
            let bytes = genuine(&format!("{h2}/{file}"));
            let store = Store::open(bytes.as_slice()).unwrap();
            assert_eq!(store.header.format, format);
            assert_eq!(store.maps().collect::<Vec<_>>(), ["another", "one"]);
            let live = [marks(&store, "another"), marks(&store, "one")].concat();
            assert_eq!(live, truth.lines().collect::<Vec<_>>(), "{h2}/{file}");
        }
    }
}

#[test]
fn edge_181_a_header_without_or_with_an_old_chunk_leads_to_the_newest() {
    for format in FORMATS {
        let writer = two_versions(format, Packing::Plain);
        for file in [writer.killed(), writer.stale(1), writer.stale(2)] {
            let store = Store::open(file.as_slice()).unwrap();
            assert_eq!(store.version(), 3);
            assert_eq!(values(&store, "one"), numbered(40, "new"), "{format:?}");
        }
    }
}

#[test]
fn edge_180_a_torn_tail_gives_the_version_before() {
    for format in FORMATS {
        let file = two_versions(format, Packing::Plain).closed();
        let torn = &file[..file.len() - 100];
        let store = Store::open(torn).unwrap();
        assert_eq!(store.version(), 2);
        assert_eq!(values(&store, "one"), numbered(40, "new"));
    }
}

#[test]
fn a_version_whose_map_roots_are_gone_is_not_taken() {
    let writer = two_versions(Format::V3, Packing::Plain);
    let mut file = writer.killed();
    // The second chunk, with the newest root of map "one", is overwritten.
    let second = writer.stale(2);
    let header = text_map::checked(&second[..4096]).unwrap();
    let block = text_map::hex(header, "block").unwrap() as usize;
    file[block * 4096..block * 4096 + 4096].fill(0);
    let store = Store::open(file.as_slice()).unwrap();
    assert_eq!(store.version(), 1);
    assert_eq!(values(&store, "one"), numbered(50, "old"));
}

#[test]
fn edge_180_a_chunk_that_was_being_moved_is_found_where_it_still_lies() {
    for format in FORMATS {
        let writer = two_versions(format, Packing::Plain);
        for chunk in 1..=2 {
            let file = writer.moving(chunk);
            let store = Store::open(file.as_slice()).unwrap();
            assert_eq!(store.version(), 3, "{format:?}");
            assert_eq!(values(&store, "one"), numbered(40, "new"));
            assert_eq!(values(&store, "two"), numbered(3, "b"));
        }
    }
}

#[test]
fn edge_181_a_chunk_left_behind_at_the_end_does_not_hide_newer_ones() {
    for format in FORMATS {
        let file = two_versions(format, Packing::Plain).left_behind(2);
        let store = Store::open(file.as_slice()).unwrap();
        assert_eq!(store.version(), 3, "{format:?}");
        assert_eq!(store.maps().collect::<Vec<_>>(), ["empty", "one", "two"]);
    }
}

#[test]
fn a_new_store_is_empty_and_rubbish_is_none() {
    let new = Writer::new(Format::V3).killed();
    assert_eq!(Store::open(new.as_slice()).unwrap().maps().count(), 0);
    assert!(matches!(Store::open(&[0; 9000][..]), Err(Error::NoHeader)));
    let mut cut = two_versions(Format::V3, Packing::Plain).closed();
    cut.truncate(8192 + 100);
    assert!(matches!(Store::open(cut.as_slice()), Err(Error::NoVersion)));
}

#[test]
fn a_chunk_beyond_the_end_of_all_files_has_no_page() {
    let file = two_versions(Format::V3, Packing::Plain).closed();
    let store = Store::open(file.as_slice()).unwrap();
    let far = "chunk:5,block:ffffffffffffffff,len:1,version:1";
    let (chunk, _) = Chunk::of_layout(far).unwrap();
    let page = Position(5 << 38 | 0x40 << 6 | 2);
    let mut buffer = Vec::new();
    assert!(store.page(&chunk, page, 1, &mut buffer).unwrap().is_err());
}

#[test]
fn names_that_no_class_has_are_not_kept() {
    let mut writer = Writer::new(Format::V3);
    writer.commit(&[(&"n".repeat(5_000), entries(3, "a"))]);
    let file = writer.closed();
    assert!(matches!(
        Store::open(file.as_slice()),
        Err(Error::NoVersion)
    ));
}

#[test]
fn a_tree_that_leads_to_itself_ends() {
    let mut writer = Writer::new(Format::V3);
    writer.commit(&[("one", entries(40, "a"))]);
    let mut file = writer.closed();
    let store = Store::open(file.as_slice()).unwrap();
    let mut leaves = Vec::new();
    store
        .walk("one", &mut |_| false, &mut |position, _| {
            leaves.push(position)
        })
        .unwrap();
    let root = store.layout.roots[&store.layout.names["one"]];
    // Where a node has the first leaf, it has the root.
    let at = memchr::memmem::find(&file, &leaves[0].0.to_be_bytes()).unwrap();
    file[at..at + 8].copy_from_slice(&root.0.to_be_bytes());
    let store = Store::open(file.as_slice()).unwrap();
    let mut visited = Vec::new();
    let walked = store.walk("one", &mut |_| false, &mut |position, _| {
        visited.push(position)
    });
    assert_eq!(walked.unwrap().damaged, 0);
    assert_eq!(visited, leaves[1..]);
}

#[test]
fn leaves_that_are_known_are_not_read_again() {
    let mut writer = Writer::new(Format::V3);
    writer.commit(&[("one", entries(40, "a"))]);
    let file = writer.closed();
    let store = Store::open(file.as_slice()).unwrap();
    let mut leaves = Vec::new();
    let mut walk = |skip: &mut dyn FnMut(Position) -> bool| {
        leaves.clear();
        store
            .walk("one", skip, &mut |position, _| leaves.push(position))
            .unwrap();
        leaves.clone()
    };
    let all = walk(&mut |_| false);
    assert_eq!(all.len(), 10);
    let known = &all[..7];
    assert_eq!(walk(&mut |leaf| known.contains(&leaf)), all[7..]);
}

/// A file that others write.
struct Shared<'a>(&'a RefCell<Vec<u8>>);

impl ReadAt for Shared<'_> {
    fn size(&self) -> io::Result<u64> {
        Ok(self.0.borrow().len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.borrow().as_slice().read_at(buffer, offset)
    }
}

#[test]
fn what_a_file_gains_or_loses_while_it_is_read_changes_no_other_page() {
    let mut writer = two_versions(Format::V3, Packing::Plain);
    let file = RefCell::new(writer.closed());
    let store = Store::open(Shared(&file)).unwrap();
    writer.commit(&[("one", entries(60, "newer"))]);
    *file.borrow_mut() = writer.killed();
    let read = || {
        let mut count = 0;
        let walked = store.walk("one", &mut |_| false, &mut |_, leaf| count += leaf.count);
        (count, walked.unwrap().damaged)
    };
    assert_eq!(read(), (40, 0));

    // From its end on, block by block; below the node, all of its leaves are missed at once.
    let mut last = 40;
    while file.borrow().len() > BLOCK as usize {
        let (count, damaged) = read();
        assert!(count <= last && (damaged == 0) == (count == 40));
        last = count;
        let length = file.borrow().len() - 512;
        file.borrow_mut().truncate(length);
    }
    assert_eq!(read(), (0, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_damage_is_survived(
        at in proptest::collection::vec((0usize..40_000, any::<u8>()), 1..20),
        cut in 0usize..50_000,
        format in 0usize..3,
    ) {
        let mut file = two_versions(FORMATS[format], Packing::Lzf).killed();
        for (at, byte) in at {
            if let Some(place) = file.get_mut(at) {
                *place = byte;
            }
        }
        file.truncate(cut.max(1));
        if let Ok(store) = Store::open(file.as_slice()) {
            for map in store.maps() {
                store.walk(map, &mut |_| false, &mut |_, leaf| {
                    let _ = leaf.java_objects(&mut |_| {});
                }).unwrap();
            }
        }
    }
}
