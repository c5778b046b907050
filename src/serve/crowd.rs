//! All connections together: a bounded number, in which the one that waits longest makes room.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::connection::{Phase, Progress};

/// The connections of a server.
///
/// When it is full, the connection that has kept the server waiting longest is closed for the new one.
/// Thus any number of sockets that are idle or slow costs a bounded amount of memory and never keeps a
/// client out that gets on with its request.
#[derive(Debug)]
pub(super) struct Crowd {
    limit: usize,
    members: Mutex<Members>,
}

#[derive(Debug, Default)]
struct Members {
    next: u64,
    live: HashMap<u64, Arc<Progress>>,
}

/// A connection's place in the crowd.
#[derive(Debug)]
pub(super) struct Place {
    crowd: Arc<Crowd>,
    number: u64,
}

impl Crowd {
    /// A connection gets this long before it can be shed: else a flood of new ones would push out those
    /// that had no time yet to send their request.
    const GRACE: Duration = Duration::from_millis(50);
    /// An answer that isn't taken for this long no longer counts as being served.
    const STALLED: Duration = Duration::from_secs(1);

    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit: limit.max(1),
            members: Mutex::default(),
        }
    }

    /// Takes a connection in, at the expense of another if need be; waits while all are too new for that.
    pub(super) async fn admit(self: &Arc<Self>, progress: &Arc<Progress>) -> Place {
        loop {
            if let Some(place) = self.try_admit(progress) {
                return place;
            }
            tokio::time::sleep(Self::GRACE / 4).await;
        }
    }

    fn try_admit(self: &Arc<Self>, progress: &Arc<Progress>) -> Option<Place> {
        let mut members = self.members();
        if members.live.len() >= self.limit {
            members.shed(|_, age, _| age >= Self::GRACE)?;
        }
        let number = members.next;
        members.next += 1;
        members.live.insert(number, progress.clone());
        Some(Place {
            crowd: self.clone(),
            number,
        })
    }

    /// Closes the connection that waits longest, to free a file descriptor.
    pub(super) fn shed_one(&self) {
        self.members().shed(|_, age, _| age >= Self::GRACE);
    }

    /// Closes a connection whose client doesn't take its answer; whether there was one.
    pub(super) fn shed_stalled(&self) -> bool {
        let stalled = |phase, _, unwritten| phase == Phase::Serving && unwritten >= Self::STALLED;
        self.members().shed(stalled).is_some()
    }

    pub(super) fn len(&self) -> usize {
        self.members().live.len()
    }

    fn members(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Members {
    /// Sheds, of those that are `eligible` (phase, its duration, time since anything was written), the one
    /// that keeps us waiting longest; one that is being served only if there is no other.
    fn shed(&mut self, eligible: impl Fn(Phase, Duration, Duration) -> bool) -> Option<()> {
        let (_, number) = self
            .live
            .iter()
            .filter_map(|(&number, progress)| {
                let (phase, age, unwritten) = progress.standing();
                let rank = (phase != Phase::Serving, age);
                eligible(phase, age, unwritten).then_some((rank, number))
            })
            .max()?;
        self.live.remove(&number)?.shed();
        Some(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.crowd.members().live.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::Notify;
    use tokio::time::{advance, timeout};

    use super::super::Limits;
    use super::*;

    fn progress() -> Arc<Progress> {
        Arc::new(Progress::new(Arc::new(Notify::new())))
    }

    async fn is_shed(progress: &Progress) -> bool {
        let limits = Limits::default();
        timeout(Duration::ZERO, progress.overdue(&limits))
            .await
            .is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn the_one_that_waits_longest_makes_room() {
        let crowd = Arc::new(Crowd::new(2));
        let (served, idle, new) = (progress(), progress(), progress());
        let _served = crowd.admit(&served).await;
        served.request();
        advance(Duration::from_secs(1)).await;
        let _idle = crowd.admit(&idle).await;
        advance(Duration::from_secs(1)).await;
        let _new = crowd.admit(&new).await;
        assert_eq!(crowd.len(), 2);
        assert!(is_shed(&idle).await);
        assert!(!is_shed(&served).await && !is_shed(&new).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_connection_gets_time_for_its_request() {
        let crowd = Arc::new(Crowd::new(1));
        let (first, second) = (progress(), progress());
        let _first = crowd.admit(&first).await;
        assert!(crowd.try_admit(&second).is_none());
        advance(Crowd::GRACE).await;
        assert!(crowd.try_admit(&second).is_some());
        assert!(is_shed(&first).await);
    }

    #[tokio::test(start_paused = true)]
    async fn only_an_answer_that_is_not_taken_is_stalled() {
        let crowd = Arc::new(Crowd::new(9));
        let (idle, served) = (progress(), progress());
        let _idle = crowd.admit(&idle).await;
        let _served = crowd.admit(&served).await;
        served.request();
        assert!(!crowd.shed_stalled());
        advance(Crowd::STALLED).await;
        assert!(crowd.shed_stalled());
        assert!(is_shed(&served).await && !is_shed(&idle).await);
    }
}
