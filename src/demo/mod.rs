//! A made-up team that works in real time: files as Copilot writes them, in a folder of their own, to which
//! the ordinary exporter is pointed. Nothing of the user's is read or written.

mod chance;
mod people;
mod stores;
mod work;

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};

use crate::pricing::Catalogue;
use crate::usage::Timestamp;
use people::TEAM;
use stores::Desk;
use work::{DAY, Step};

/// The team, its past written and its future planned.
#[derive(Debug)]
pub struct Team {
    homes: PathBuf,
    prices: Catalogue,
    desk: Desk,
    /// What is going to happen today, in order of time.
    planned: VecDeque<Step>,
    /// The day (UTC, since 1970) that is planned next.
    next_day: i64,
}

impl Team {
    /// Lays the homes of the team below `folder` and writes the last `days` days of its work, up to `now`.
    ///
    /// # Errors
    /// The folder can't be written.
    pub fn settle(folder: &Path, now: Timestamp, days: u32) -> io::Result<Self> {
        let today = now.0.div_euclid(DAY);
        let homes = folder.join("homes");
        let mut team = Self {
            desk: Desk::new(&homes),
            homes,
            prices: Catalogue::default(),
            planned: VecDeque::new(),
            next_day: today - i64::from(days),
        };
        for person in TEAM {
            std::fs::create_dir_all(team.homes.join(person.name))?;
        }
        team.catch_up(now)?;
        Ok(team)
    }

    /// The homes, as `homes` in the config takes them.
    pub fn homes(&self) -> String {
        self.homes.join("*").display().to_string()
    }

    /// Plans what nobody expects: somebody's agent runs away soon after `now`.
    pub fn plan_spike(&mut self, now: Timestamp) {
        if let Some(person) = TEAM.first() {
            self.plan(work::runaway(person, now, &self.prices));
        }
    }

    /// Writes what has happened up to `now` and was not written yet; tells how many calls.
    ///
    /// # Errors
    /// The homes can't be written.
    pub fn catch_up(&mut self, now: Timestamp) -> io::Result<usize> {
        // A day ahead: east of UTC, tomorrow's work begins today.
        while (self.next_day - 1) * DAY <= now.0 {
            let day = self.next_day;
            self.next_day += 1;
            let steps = TEAM
                .iter()
                .flat_map(|person| work::day(person, day, &self.prices));
            self.plan(steps.collect());
        }
        let happened = self.planned.partition_point(|step| step.time <= now);
        for step in self.planned.drain(..happened) {
            self.desk.write(&step)?;
        }
        self.desk.flush()?;
        Ok(happened)
    }

    fn plan(&mut self, steps: Vec<Step>) {
        self.planned.extend(steps);
        self.planned.make_contiguous().sort_by_key(|step| step.time);
    }
}

#[cfg(test)]
mod tests;
