//! Sums over the windows of a snapshot.

use std::collections::BTreeMap;

use crate::ledger::{SeriesLabels, Window, WindowTotal};
use crate::usage::Usd;

/// What was used in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sum {
    /// `None`: nothing in it could be priced.
    pub(super) cost: Option<Usd>,
    pub(super) calls: u128,
    pub(super) tokens: u128,
    /// Calls under labels of which nothing could be priced.
    pub(super) unpriced: u128,
}

impl Sum {
    fn add(&mut self, total: &WindowTotal) {
        self.calls += total.calls;
        self.tokens += total.tokens.values().sum::<u128>();
        match total.cost {
            Some(cost) => self.cost = Some(Usd(self.cost.unwrap_or_default().0 + cost.0)),
            None => self.unpriced += total.calls,
        }
    }
}

/// A name and its sums by window, in the order of [`Window::ALL`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) sums: [Sum; Window::ALL.len()],
}

impl Row {
    fn new(name: String) -> Self {
        Self {
            name,
            sums: Default::default(),
        }
    }

    fn add(&mut self, total: &WindowTotal) {
        let windows = Window::ALL.into_iter().zip(&mut self.sums);
        for (_, sum) in windows.filter(|(window, _)| *window == total.window) {
            sum.add(total);
        }
    }

    /// The month's.
    pub(super) fn month(&self) -> &Sum {
        let [_, _, month] = &self.sums;
        month
    }
}

/// Everything together.
pub(super) fn total(windows: &[WindowTotal]) -> Row {
    let mut row = Row::new(String::new());
    windows.iter().for_each(|total| row.add(total));
    row
}

/// By `name`, the most expensive of the month first; those beyond `most` become one row.
pub(super) fn by(
    windows: &[WindowTotal],
    name: impl Fn(&SeriesLabels) -> &str,
    most: usize,
) -> Vec<Row> {
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    let mut cut = BTreeMap::new();
    for total in windows {
        let name = name(&total.labels);
        rows.entry(name)
            .or_insert_with(|| Row::new(name.to_owned()))
            .add(total);
    }
    let mut rows: Vec<Row> = rows.into_values().collect();
    rows.sort_by_key(|row| {
        let sum = row.month();
        std::cmp::Reverse((sum.cost, sum.tokens, sum.calls))
    });
    if rows.len() > most {
        for row in rows.split_off(most) {
            cut.insert(row.name, ());
        }
        let mut others = Row::new(format!("{} others", cut.len()));
        let of_others = windows
            .iter()
            .filter(|total| cut.contains_key(name(&total.labels)));
        of_others.for_each(|total| others.add(total));
        rows.push(others);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::{Project, Provider, Surface, TokenType};

    fn window(window: Window, model: &str, cost: Option<u128>) -> WindowTotal {
        WindowTotal {
            window,
            labels: SeriesLabels {
                provider: Provider::Copilot,
                model: model.to_owned(),
                project: Some(Project::unknown()),
                surface: Surface::Cli,
                user: None,
            },
            cost: cost.map(Usd),
            tokens: BTreeMap::from([(TokenType::Input, 10), (TokenType::Output, 1)]),
            calls: 2,
        }
    }

    #[test]
    fn unknown_cost_is_not_zero() {
        let all = total(&[window(Window::Today, "a", None)]);
        assert_eq!(all.sums[0].cost, None);
        assert_eq!(all.sums[0].unpriced, 2);
        let all = total(&[
            window(Window::Today, "a", None),
            window(Window::Today, "b", Some(5)),
        ]);
        assert_eq!(all.sums[0].cost, Some(Usd(5)));
        assert_eq!((all.sums[0].calls, all.sums[0].unpriced), (4, 2));
        assert_eq!(all.sums[0].tokens, 22);
        assert_eq!(all.sums[1], Sum::default());
    }

    #[test]
    fn the_dearest_first_and_the_rest_together() {
        let windows = [
            window(Window::Month, "a", Some(1)),
            window(Window::Month, "b", Some(9)),
            window(Window::Month, "c", None),
            window(Window::Today, "b", Some(3)),
            window(Window::Month, "b", Some(1)),
        ];
        let rows = by(&windows, |labels| &labels.model, 1);
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["b", "2 others"]);
        assert_eq!(rows[0].month().cost, Some(Usd(10)));
        assert_eq!(rows[1].month().cost, Some(Usd(1)));
        assert_eq!(rows[1].month().unpriced, 2);
    }
}
