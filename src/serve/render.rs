//! Expositions, rendered once for a snapshot and a format however many scrapes there are.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use hyper::body::Bytes;
use tokio::sync::{OnceCell, watch};

use super::negotiate::{Coding, Form};
use crate::ledger::Snapshot;
use crate::metrics::{self, ConstantLabels, Recorder};

/// Renders snapshots.
#[derive(Debug)]
pub(super) struct Renderer {
    labels: ConstantLabels,
    pub(super) recorder: Arc<Recorder>,
    /// Show the exporter's own metrics.
    own: bool,
    /// Add `_created` to OpenMetrics.
    created: bool,
    /// The snapshot that is served.
    usage: Mutex<Arc<Usage>>,
}

/// Copilot's usage in a snapshot, as far as it is rendered.
#[derive(Debug, Default)]
struct Usage {
    snapshot: Arc<Snapshot>,
    text: Part,
    open_metrics: Part,
    protobuf: Part,
}

/// Usage in one format, in both codings.
#[derive(Debug, Default)]
struct Part {
    plain: OnceCell<Bytes>,
    deflated: OnceCell<Deflated>,
    /// A scrape asked for it plain; deflated.
    asked: [AtomicBool; 2],
}

/// A snapshot as an answer's body.
#[derive(Debug)]
pub(super) struct Exposition {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) pieces: Vec<Bytes>,
}

impl Renderer {
    pub(super) fn new(
        snapshot: Arc<Snapshot>,
        labels: ConstantLabels,
        recorder: Arc<Recorder>,
        own: bool,
        created: bool,
    ) -> Self {
        Self {
            labels,
            recorder,
            own,
            created,
            usage: Mutex::new(Usage::of(snapshot)),
        }
    }

    /// Serves each new snapshot as soon as it is rendered in the formats that were scraped of the last
    /// one: no scrape waits for that.
    pub(super) async fn follow(self: Arc<Self>, mut snapshots: watch::Receiver<Arc<Snapshot>>) {
        while snapshots.changed().await.is_ok() {
            let next = Usage::of(snapshots.borrow_and_update().clone());
            let last = self.usage();
            for form in Form::ALL {
                for coding in [Coding::Identity, Coding::Gzip] {
                    if last.part(form).asked(coding).load(Ordering::Relaxed) {
                        // What fails here fails again for the scrape, which says so.
                        let _ = self.prepare(&next, form, coding).await;
                    }
                }
            }
            *self.usage.lock().unwrap_or_else(PoisonError::into_inner) = next;
            // Taking thousands of series apart takes as long as a scrape may.
            tokio::task::spawn_blocking(|| drop(last));
        }
    }

    /// The snapshot that is served.
    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        self.usage().snapshot.clone()
    }

    fn usage(&self) -> Arc<Usage> {
        let usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        usage.clone()
    }

    /// The exposition. Usage, which is most of it, is shared with other scrapes; the exporter's own
    /// metrics are as of now.
    pub(super) async fn render(
        self: &Arc<Self>,
        form: Form,
        coding: Coding,
    ) -> io::Result<Exposition> {
        let usage = self.usage();
        let part = usage.part(form);
        part.asked(coding).store(true, Ordering::Relaxed);
        self.prepare(&usage, form, coding).await?;
        let own = self.own(&usage.snapshot, form);
        let pieces = match (coding, part.plain.get(), part.deflated.get()) {
            (Coding::Identity, Some(plain), _) => vec![plain.clone(), own],
            (Coding::Gzip, _, Some(deflated)) => gzip(deflated, &own)?,
            _ => return Err(io::Error::other("not prepared")),
        };
        Ok(Exposition {
            snapshot: usage.snapshot.clone(),
            pieces,
        })
    }

    /// Renders a part unless that is done; several who ask at once wait for the same.
    async fn prepare(
        self: &Arc<Self>,
        usage: &Arc<Usage>,
        form: Form,
        coding: Coding,
    ) -> io::Result<()> {
        let part = usage.part(form);
        let plain = part.plain.get_or_try_init(|| {
            let (this, snapshot) = (self.clone(), usage.snapshot.clone());
            off_reactor(move || {
                let families = metrics::usage(&snapshot, &this.labels);
                Ok(form.format(this.created).part(&families).into())
            })
        });
        let plain = plain.await?.clone();
        if coding == Coding::Gzip {
            let deflate = || off_reactor(move || Deflated::open(&plain));
            part.deflated.get_or_try_init(deflate).await?;
        }
        Ok(())
    }

    fn own(&self, snapshot: &Snapshot, form: Form) -> Bytes {
        let format = form.format(self.created);
        let families = match self.own {
            true => metrics::own(snapshot, &self.recorder.exporter()),
            false => Vec::new(),
        };
        format.render(&families).into()
    }
}

impl Usage {
    fn of(snapshot: Arc<Snapshot>) -> Arc<Self> {
        Arc::new(Self {
            snapshot,
            ..Self::default()
        })
    }

    fn part(&self, form: Form) -> &Part {
        match form {
            Form::Text => &self.text,
            Form::OpenMetrics => &self.open_metrics,
            Form::Protobuf => &self.protobuf,
        }
    }
}

impl Part {
    fn asked(&self, coding: Coding) -> &AtomicBool {
        let [plain, deflated] = &self.asked;
        match coding {
            Coding::Identity => plain,
            Coding::Gzip => deflated,
        }
    }
}

/// Rendering and compressing take milliseconds, in which other connections must go on.
async fn off_reactor<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)))
}

/// The beginning of a deflate stream: it ends on a byte's border and can be followed by a stream that
/// knows nothing of it.
struct Deflated {
    bytes: Bytes,
    crc: Crc,
}

impl std::fmt::Debug for Deflated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Deflated").finish_non_exhaustive()
    }
}

impl Deflated {
    fn open(plain: &[u8]) -> io::Result<Self> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(plain)?;
        encoder.flush()?;
        let mut crc = Crc::new();
        crc.update(plain);
        Ok(Self {
            bytes: Bytes::copy_from_slice(encoder.get_ref()),
            crc,
        })
    }
}

/// A gzip file (RFC 1952) of one member: what `beginning` holds, then `rest`.
fn gzip(beginning: &Deflated, rest: &[u8]) -> io::Result<Vec<Bytes>> {
    /// Deflate, no flags, no time, unknown system.
    const HEADER: &[u8] = &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(rest)?;
    let mut tail = encoder.finish()?;
    let mut crc = Crc::new();
    crc.combine(&beginning.crc);
    let mut of_rest = Crc::new();
    of_rest.update(rest);
    crc.combine(&of_rest);
    tail.extend(crc.sum().to_le_bytes());
    tail.extend(crc.amount().to_le_bytes());
    Ok(vec![
        Bytes::from_static(HEADER),
        beginning.bytes.clone(),
        tail.into(),
    ])
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn a_gzip_file_of_two_parts_is_one_member() {
        for (one, two) in [("", ""), ("", "b"), ("a", ""), ("one\n", "two\n")] {
            let (one, two) = (one.repeat(9_000), two.repeat(9_000));
            let deflated = Deflated::open(one.as_bytes()).unwrap();
            let file = gzip(&deflated, two.as_bytes()).unwrap().concat();
            // Not the decoder for files of several members, which would hide a mistake.
            let mut text = String::new();
            let mut decoder = flate2::read::GzDecoder::new(file.as_slice());
            decoder.read_to_string(&mut text).unwrap();
            assert_eq!(text, one + &two);
        }
    }
}
