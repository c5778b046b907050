//! The body of an answer, which knows when it has been taken whole.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};

use super::connection::Progress;
use crate::ledger::Snapshot;

/// Ready pieces.
#[derive(Debug)]
pub(super) struct Payload {
    pieces: VecDeque<Bytes>,
    left: u64,
    progress: Option<Arc<Progress>>,
    carries: Option<Arc<Snapshot>>,
    /// The place among the scrapes that are served at a time.
    _place: Option<tokio::sync::OwnedSemaphorePermit>,
}

impl Payload {
    pub(super) fn new(pieces: Vec<Bytes>) -> Self {
        let pieces: VecDeque<Bytes> = pieces.into_iter().filter(|p| !p.is_empty()).collect();
        Self {
            left: pieces.iter().map(|piece| piece.len() as u64).sum(),
            pieces,
            progress: None,
            carries: None,
            _place: None,
        }
    }

    /// The body is a whole exposition of `snapshot`.
    pub(super) fn carrying(
        mut self,
        snapshot: Arc<Snapshot>,
        place: tokio::sync::OwnedSemaphorePermit,
    ) -> Self {
        self.carries = Some(snapshot);
        self._place = Some(place);
        self
    }

    /// Tells `progress` when it is gone.
    pub(super) fn on(mut self, progress: Arc<Progress>) -> Self {
        self.progress = Some(progress);
        self
    }
}

impl Body for Payload {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.pieces.pop_front();
        if let Some(piece) = &piece {
            self.left -= piece.len() as u64;
        }
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        if let Some(progress) = &self.progress {
            // Of a HEAD request nothing was taken.
            progress.body_gone(self.carries.take().filter(|_| self.pieces.is_empty()));
        }
    }
}
