//! A JetBrains store of 200 MB: what reading it costs, against walking its live pages alone; from memory, and
//! (on Linux) from the disk.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::Read;
use std::path::{Path, PathBuf};

use copilot_exporter::stores::jetbrains::mvstore::Store;
use copilot_exporter::stores::{Cursor, Home, Sink, Source, StoreKind, readers};
use copilot_exporter::usage::Observation;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const SIZE: usize = 200 << 20;
const BLOCK: usize = 4096;
const SESSIONS: &str = ".NtAgentSession";
const TURNS: &str = ".NtAgentTurn";

struct Nowhere;

impl Sink for Nowhere {
    fn observe(&mut self, observation: Observation) {
        black_box(observation);
    }
    fn checkpoint(&mut self, _: Cursor) {}
    fn parse_error(&mut self, reason: &'static str) {
        panic!("{reason}");
    }
    fn skipped(&mut self, _: &'static str) {}
    fn bytes_read(&mut self, _: u64) {}
}

fn genuine() -> Vec<u8> {
    let file = "fixtures/jetbrains/h2-2.2/iu/chat-agent-sessions/s02-updates-deletes-closed/\
                copilot-agent-sessions-nitrite.db.gz";
    let packed = File::open(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed)
        .read_to_end(&mut bytes)
        .unwrap();
    bytes
}

/// The genuine leaves of a map: number of entries and bytes.
fn leaves(store: &Store<&[u8]>, end: &str) -> (String, Vec<(usize, Vec<u8>)>) {
    let map = store
        .maps()
        .find(|map| map.ends_with(end) && !map.starts_with('$'));
    let map = map.unwrap().to_owned();
    let mut leaves = Vec::new();
    store
        .walk(&map, &mut |_| false, &mut |_, leaf| {
            leaves.push((leaf.count, leaf.bytes.to_vec()));
        })
        .unwrap();
    (map, leaves)
}

/// One chunk that holds the genuine turns' leaves over and over, as one store.
fn large_store(path: &Path) {
    let genuine = genuine();
    let store = Store::open(genuine.as_slice()).unwrap();
    let (session_map, sessions) = leaves(&store, SESSIONS);
    let (turn_map, turns) = leaves(&store, TURNS);
    let mut chunk = Chunk(vec![b' '; 1024]);
    let sessions: Vec<u64> = sessions
        .iter()
        .map(|(count, bytes)| chunk.leaf(2, *count, bytes))
        .collect();
    let mut pages = Vec::new();
    for (count, bytes) in turns.iter().cycle() {
        if chunk.0.len() > SIZE {
            break;
        }
        pages.push(chunk.leaf(3, *count, bytes));
    }
    let roots = [chunk.tree(2, sessions), chunk.tree(3, pages)];
    let layout = [
        ("meta.id".to_owned(), "1".to_owned()),
        (format!("name.{session_map}"), "2".to_owned()),
        (format!("name.{turn_map}"), "3".to_owned()),
        ("root.2".to_owned(), format!("{:x}", roots[0])),
        ("root.3".to_owned(), format!("{:x}", roots[1])),
    ];
    let mut bytes = Vec::new();
    let texts = layout.iter().map(|(key, _)| key);
    for text in texts.chain(layout.iter().map(|(_, value)| value)) {
        bytes.extend(var(text.len()));
        bytes.extend(text.as_bytes());
    }
    let root = chunk.leaf(0, layout.len(), &bytes);
    let mut file = vec![0; 2 * BLOCK];
    let header = "H:2,block:2,blockSize:1000,chunk:1,clean:1,created:1,format:3,version:1";
    put(&mut file[..BLOCK], &with_sum(header));
    let mut chunk = chunk.0;
    let len = (chunk.len() + 128).div_ceil(BLOCK);
    chunk.resize(len * BLOCK, b' ');
    let header =
        format!("chunk:1,len:{len:x},pages:1,max:1,map:9,root:{root:x},time:1,version:1,next:0\n");
    put(&mut chunk, &header);
    let footer = with_sum(&format!("chunk:1,len:{len:x},version:1"));
    let at = chunk.len() - 128;
    put(&mut chunk[at..], &footer);
    file.extend(chunk);
    fs::write(path, file).unwrap();
}

struct Chunk(Vec<u8>);

impl Chunk {
    fn leaf(&mut self, map: usize, count: usize, bytes: &[u8]) -> u64 {
        self.page(map, count, &[&[0], bytes].concat(), 0)
    }

    fn tree(&mut self, map: usize, mut level: Vec<u64>) -> u64 {
        while level.len() > 1 {
            let above = level.chunks(100).map(|children| {
                let mut body = vec![1];
                body.extend(children.iter().flat_map(|child| child.to_be_bytes()));
                (children.len() - 1, body)
            });
            level = above
                .collect::<Vec<_>>()
                .iter()
                .map(|(keys, body)| self.page(map, *keys, body, 1))
                .collect();
        }
        level[0]
    }

    fn page(&mut self, map: usize, keys: usize, body: &[u8], kind: u64) -> u64 {
        let tail = [var(0), var(map), var(keys), body.to_vec()].concat();
        let (offset, length) = (self.0.len(), tail.len() + 6);
        let fold = |x: usize| ((x >> 16) ^ x) as u16;
        let check = fold(1) ^ fold(offset) ^ fold(length);
        self.0.extend((length as u32).to_be_bytes());
        self.0.extend(check.to_be_bytes());
        self.0.extend(tail);
        let fits = |code: &u64| (2 + (code & 1)) << ((code >> 1) + 4) >= length as u64;
        let code = (0..31).find(fits).unwrap();
        1 << 38 | (offset as u64) << 6 | code << 1 | kind
    }
}

fn var(mut n: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while n >= 0x80 {
        bytes.push(n as u8 | 0x80);
        n >>= 7;
    }
    bytes.push(n as u8);
    bytes
}

fn put(bytes: &mut [u8], text: &str) {
    bytes[..text.len()].copy_from_slice(text.as_bytes());
}

/// With H2's Fletcher-32.
fn with_sum(map: &str) -> String {
    let (mut s1, mut s2) = (0xffff_u64, 0xffff_u64);
    let fold = |x: u64| (x & 0xffff) + (x >> 16);
    for word in map.as_bytes().chunks_exact(2) {
        s1 += u64::from(word[0]) << 8 | u64::from(word[1]);
        s2 += s1;
    }
    (s1, s2) = (fold(s1), fold(s2));
    if map.len() % 2 == 1 {
        s1 += u64::from(map.as_bytes()[map.len() - 1]) << 8;
        s2 += s1;
    }
    (s1, s2) = (fold(s1), fold(s2));
    format!("{map},fletcher:{:x}\n", s2 << 16 | s1)
}

/// Every page, and a look at each byte of its leaves.
fn walk(path: &Path) {
    let store = Store::open(File::open(path).unwrap()).unwrap();
    let maps: Vec<String> = store.maps().map(str::to_owned).collect();
    for map in maps {
        let mut sum = 0;
        store
            .walk(&map, &mut |_| false, &mut |_, leaf| {
                sum += memchr::memchr_iter(b'"', &leaf.bytes).count();
            })
            .unwrap();
        black_box(sum);
    }
}

/// Lets the system forget what it holds of a file.
#[cfg(target_os = "linux")]
fn forget(path: &Path) {
    use rustix::fs::{Advice, fadvise};
    let file = File::open(path).unwrap();
    file.sync_all().unwrap();
    fadvise(&file, 0, None, Advice::DontNeed).unwrap();
}

fn reading(c: &mut Criterion) {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path: PathBuf = dir.path().join("copilot-agent-sessions-nitrite.db");
    large_store(&path);
    let home = Home {
        dir: dir.path().to_owned(),
        ..Home::default()
    };
    let source = Source::file(&path);
    let reader = readers()
        .into_iter()
        .find(|reader| reader.kind() == StoreKind::JetBrains)
        .unwrap();
    let read = |cursor: &Cursor| reader.read(&home, &source, cursor, &mut Nowhere).unwrap();
    let size = Throughput::Bytes(fs::metadata(&path).unwrap().len());
    let mut group = c.benchmark_group("jetbrains");
    group.throughput(size.clone());
    group.sample_size(10);
    group.bench_function("live pages alone", |b| b.iter(|| walk(&path)));
    group.bench_function("conversations", |b| b.iter(|| read(&Cursor::default())));
    let cursor = read(&Cursor::default());
    group.bench_function("nothing new", |b| b.iter(|| read(&cursor)));
    group.finish();
    #[cfg(target_os = "linux")]
    {
        use criterion::BatchSize::PerIteration;
        let mut group = c.benchmark_group("jetbrains from disk");
        group.throughput(size);
        group.sample_size(10);
        group.bench_function("live pages alone", |b| {
            b.iter_batched(|| forget(&path), |()| walk(&path), PerIteration);
        });
        group.bench_function("conversations", |b| {
            b.iter_batched(
                || forget(&path),
                |()| read(&Cursor::default()),
                PerIteration,
            );
        });
        group.finish();
    }
}

criterion_group!(benches, reading);
criterion_main!(benches);
