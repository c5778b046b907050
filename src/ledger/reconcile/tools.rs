//! Tool calls. No two stores tell of the same ones, and copies of a statement are one.

use crate::usage::ToolFact;

use super::ResolvedTool;
use super::facts::Stated;
use super::session::Labels;

/// The tool calls, in the order of their time.
pub(super) fn resolve(facts: &[Stated<'_, ToolFact>], labels: &Labels<'_>) -> Vec<ResolvedTool> {
    let resolved = facts.iter().map(|stated| {
        let model = labels.model(stated.model);
        ResolvedTool {
            time: stated.fact.time,
            model: model.map(|model| model.name.to_owned()),
            provider: labels.provider(None, model),
            surface: labels.surface(stated.surface),
            project: labels.project(),
            tool: stated.fact.tool,
        }
    });
    resolved.collect()
}
