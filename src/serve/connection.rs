//! One connection: what it is doing, since when, and for how long it may.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::Limits;
use crate::ledger::{Reader, Snapshot};

/// What a connection is doing. Shared by its stream, its answers and the crowd it is in.
#[derive(Debug)]
pub(super) struct Progress {
    state: Mutex<State>,
    /// Told when the connection has to go.
    shed: Notify,
    /// Told when a snapshot was delivered.
    seen: Arc<Notify>,
    /// As a reader of snapshots it is gone when it is closed.
    reader: Reader,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    since: Instant,
    last_write: Instant,
    /// The answer's body was taken whole or dropped; the request is over once that is flushed.
    body_gone: bool,
    carried: Option<Arc<Snapshot>>,
}

/// What is awaited of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The first byte of the first request (also a TLS handshake).
    Fresh,
    /// The first byte of another request.
    Idle,
    /// The rest of a request's head.
    Reading,
    /// That the client takes the answer.
    Serving,
}

impl Progress {
    pub(super) fn new(seen: Arc<Notify>) -> Self {
        let now = Instant::now();
        Self {
            state: Mutex::new(State {
                phase: Phase::Fresh,
                since: now,
                last_write: now,
                body_gone: false,
                carried: None,
            }),
            shed: Notify::new(),
            seen,
            reader: Reader::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The phase, how long it lasts already, and how long ago anything was written.
    pub(super) fn standing(&self) -> (Phase, Duration, Duration) {
        let state = self.state();
        (
            state.phase,
            state.since.elapsed(),
            state.last_write.elapsed(),
        )
    }

    /// A request's head is complete.
    pub(super) fn request(&self) {
        let mut state = self.state();
        state.enter(Phase::Serving);
        state.last_write = state.since;
        state.body_gone = false;
    }

    /// The answer's body is gone; whole, if it `carried` a snapshot.
    pub(super) fn body_gone(&self, carried: Option<Arc<Snapshot>>) {
        let mut state = self.state();
        state.body_gone = true;
        state.carried = carried;
    }

    fn read(&self) {
        let mut state = self.state();
        if matches!(state.phase, Phase::Fresh | Phase::Idle) {
            state.enter(Phase::Reading);
        }
    }

    fn wrote(&self) {
        self.state().last_write = Instant::now();
    }

    /// Everything that was answered so far is with the operating system.
    fn flushed(&self) {
        let mut state = self.state();
        if state.phase == Phase::Serving && state.body_gone {
            state.enter(Phase::Idle);
            if let Some(snapshot) = state.carried.take() {
                snapshot.mark_seen_by(&self.reader);
                self.seen.notify_one();
            }
        }
    }

    pub(super) fn shed(&self) {
        self.shed.notify_one();
    }

    /// Returns when the connection has to end: it was shed, or took too long.
    pub(super) async fn overdue(&self, limits: &Limits) {
        loop {
            let deadline = self.deadline(limits);
            tokio::select! {
                () = self.shed.notified() => return,
                () = tokio::time::sleep_until(deadline) => {
                    if self.deadline(limits) <= Instant::now() {
                        return;
                    }
                }
            }
        }
    }

    fn deadline(&self, limits: &Limits) -> Instant {
        let state = self.state();
        let limit = match state.phase {
            Phase::Fresh | Phase::Reading => limits.head,
            Phase::Idle => limits.idle,
            Phase::Serving => limits.answer,
        };
        state.since + limit
    }
}

impl State {
    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.since = Instant::now();
    }
}

/// A stream that tells a [`Progress`] what passes through it.
#[derive(Debug)]
pub(super) struct Watched<S> {
    pub(super) stream: S,
    pub(super) progress: Arc<Progress>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        if buffer.filled().len() > before {
            self.progress.read();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, buffer))?;
        self.progress.wrote();
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(context, buffers))?;
        self.progress.wrote();
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        self.progress.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
