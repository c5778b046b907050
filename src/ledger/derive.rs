//! From a scope's statements to its cells: reconciled, priced, labelled and attributed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3;

use super::attribute::{Attributed, attribute};
use super::cells::{Cell, Cells, SeriesId};
use super::charge::{self, Charge};
use super::intake::SourceId;
use super::labels::{LabelSets, Labels, Register};
use super::reconcile::{self, Resolution, ResolvedCall, ResolvedFailure, ResolvedTool};
use super::scope::{Scope, ScopeId, Statement};
use super::settings::Settings;
use crate::pricing::ModelId;
use crate::usage::{
    Fact, Measure, Observation, Project, Provider, Surface, Timestamp, TokenType, Usd,
};

/// A session's calls mostly share a few label sets, which are looked up once.
const FEW_LABELS: usize = 16;

/// What deriving needs besides the scope.
#[derive(Debug)]
pub(super) struct Deriver<'a> {
    pub(super) settings: &'a Settings,
    pub(super) register: &'a mut Register,
    pub(super) sets: &'a mut LabelSets,
    /// Later times are in the future.
    pub(super) present: Timestamp,
}

/// How many sessions a scope's statements are of: a CLI session and its forks share a scope.
fn sessions(statements: &[Statement]) -> u64 {
    let names: BTreeSet<&str> = statements
        .iter()
        .map(|statement| &statement.observation)
        .filter(|told| matches!(told.fact, Fact::Call(_) | Fact::Leg(_)) && !told.is_lone())
        .filter(|told| matches!(told.surface, Surface::Cli | Surface::Desktop))
        .map(|told| told.scope.as_str())
        .collect();
    names.len().max(1) as u64
}

/// What deriving found besides cells.
#[derive(Debug, Default)]
pub(super) struct Derived {
    /// How many more statements than before turned out to be duplicates.
    pub(super) new_duplicates: u64,
    /// When the series' newest call happened.
    pub(super) called: BTreeMap<SeriesId, Timestamp>,
}

impl Deriver<'_> {
    /// Derives the scope's cells anew. `anchor` is what of it was published.
    pub(super) fn derive(&mut self, id: ScopeId, scope: &mut Scope, anchor: Cells) -> Derived {
        let resolution = resolve(scope);
        let mut cells: Vec<Cell> = Vec::new();
        let mut prices = BTreeMap::new();
        let mut first: Option<(Timestamp, SeriesId)> = None;
        let mut derived = Derived::default();
        let mut met: Vec<(CallLabels<'_>, SeriesId, ModelId)> = Vec::new();
        for call in &resolution.calls {
            let time = call.time.unwrap_or(scope.first_seen);
            let labels = call.labels();
            let (series, model) = match met.iter().find(|(known, ..)| *known == labels) {
                Some((_, series, model)) => (*series, model.clone()),
                None => {
                    let series = self.series(scope, labels);
                    let model = self.settings.catalogue.canonical(call.model.as_deref());
                    if met.len() < FEW_LABELS {
                        met.push((labels, series, model.clone()));
                    }
                    (series, model)
                }
            };
            let price = self.price(scope, call, &model, time, &mut prices);
            let premium =
                charge::premium_requests(call, &model, time, self.settings.premium_requests);
            let charge = Charge::of(call, price);
            if charge == Charge::Unpriced {
                self.settings.catalogue.tell_unpriced(&model);
            }
            let amounts = charge::amounts(call, charge, premium);
            cells.extend(amounts.into_iter().map(|(measure, amount)| Cell {
                slot: time.slot(),
                series,
                measure,
                amount,
            }));
            if call.count > 0 {
                first = Some(first.map_or((time, series), |known| known.min((time, series))));
                scope.surface = Some(call.surface);
                if time <= self.present {
                    scope.last_call = scope.last_call.max(Some(time));
                    let newest = derived.called.entry(series).or_insert(time);
                    *newest = time.max(*newest);
                }
            }
        }
        for failure in &resolution.failures {
            let time = failure.time.unwrap_or(scope.first_seen);
            cells.push(Cell {
                slot: time.slot(),
                series: self.series(scope, failure.labels()),
                measure: Measure::Failures(failure.reason),
                amount: 1,
            });
        }
        for tool in &resolution.tools {
            let time = tool.time.unwrap_or(scope.first_seen);
            cells.push(Cell {
                slot: time.slot(),
                series: self.series(scope, tool.labels()),
                measure: Measure::ToolCalls(tool.tool),
                amount: 1,
            });
        }
        let counted_before = scope
            .base
            .iter()
            .any(|cell| cell.measure == Measure::Sessions);
        if let Some((time, series)) = first.filter(|_| !id.is_lone() && !counted_before) {
            cells.push(Cell {
                slot: time.slot(),
                series,
                measure: Measure::Sessions,
                amount: sessions(&scope.statements),
            });
        }
        if resolution.unattributed.0 > 0 {
            cells.push(Cell {
                slot: scope.newest.unwrap_or(scope.first_seen).slot(),
                series: SeriesId::UNATTRIBUTED,
                measure: Measure::Credits,
                amount: resolution.unattributed.0,
            });
        }
        scope.prices = prices;
        let model = |series| self.sets.get(series).map(|labels| &labels.model);
        let same_model = |a, b| model(a) == model(b);
        let on = |base: &Cells| -> Cells { base.iter().chain(&cells).copied().collect() };
        let told = on(&scope.base);
        let truth = scope.base_truth.as_ref().map(on);
        match attribute(&told, &anchor, same_model) {
            Some(Attributed { cells, unbacked }) => {
                (scope.cells, scope.unbacked) = (cells, unbacked);
                let truth = truth.unwrap_or(told);
                scope.truth = Some(truth).filter(|truth| *truth != scope.cells);
            }
            None => {
                (scope.cells, scope.unbacked) = (told, Cells::default());
                scope.truth = truth;
            }
        }
        scope.anchor = anchor;
        derived.new_duplicates = resolution.duplicates.saturating_sub(scope.duplicates);
        scope.duplicates += derived.new_duplicates;
        derived
    }

    /// The list price of a call, as it was fixed when the call was first priced.
    fn price(
        &self,
        scope: &Scope,
        call: &ResolvedCall,
        model: &ModelId,
        time: Timestamp,
        prices: &mut BTreeMap<u64, Option<Usd>>,
    ) -> Option<Usd> {
        let print = fingerprint(call, time);
        let price = match scope.prices.get(&print) {
            Some(&fixed) => fixed,
            None => charge::list_price(&self.settings.catalogue, call, model, time),
        };
        prices.insert(print, price);
        price
    }

    fn series(&mut self, scope: &Scope, call: CallLabels<'_>) -> SeriesId {
        let model = self.settings.catalogue.canonical(call.model);
        let labels = Labels {
            provider: call.provider.clone(),
            model: Arc::from(model.as_str()),
            project: call.project.clone(),
            surface: call.surface,
            user: scope.user.clone(),
        };
        let labels = self.register.labels(&labels, self.settings.max_projects);
        self.sets.id(&labels)
    }
}

fn resolve(scope: &mut Scope) -> Resolution {
    let statements = std::mem::take(&mut scope.statements);
    let (sources, observations): (Vec<SourceId>, Vec<Observation>) = statements
        .into_iter()
        .map(|statement| (statement.source, statement.observation))
        .unzip();
    let resolution = reconcile::reconcile(&observations);
    scope.statements = sources
        .into_iter()
        .zip(observations)
        .map(|(source, observation)| Statement {
            source,
            observation,
        })
        .collect();
    resolution
}

/// What decides a call's list price. Stored, so its bytes are spelt out.
fn fingerprint(call: &ResolvedCall, time: Timestamp) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(call.model.as_deref().unwrap_or_default().as_bytes());
    hash.update(&time.0.to_le_bytes());
    hash.update(&call.count.to_le_bytes());
    for class in TokenType::ALL {
        let tokens = call.tokens.get(class).map_or(0, |tokens| tokens + 1);
        hash.update(&tokens.to_le_bytes());
    }
    hash.digest()
}

/// What a call, failure or tool call is labelled with.
#[derive(Debug, Clone, Copy, PartialEq)]
struct CallLabels<'a> {
    provider: &'a Provider,
    model: Option<&'a str>,
    project: &'a Project,
    surface: Surface,
}

impl ResolvedCall {
    fn labels(&self) -> CallLabels<'_> {
        CallLabels {
            provider: &self.provider,
            model: self.model.as_deref(),
            project: &self.project,
            surface: self.surface,
        }
    }
}

impl ResolvedTool {
    fn labels(&self) -> CallLabels<'_> {
        CallLabels {
            provider: &self.provider,
            model: self.model.as_deref(),
            project: &self.project,
            surface: self.surface,
        }
    }
}

impl ResolvedFailure {
    fn labels(&self) -> CallLabels<'_> {
        CallLabels {
            provider: &self.provider,
            model: self.model.as_deref(),
            project: &self.project,
            surface: self.surface,
        }
    }
}
