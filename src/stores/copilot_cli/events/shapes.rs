//! The fields of events that matter (formats, copilot-cli.md §2 to §7). Contents are never taken.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::figures::{Counts, Detail};
use crate::stores::json::{Figure, Number, Text, lenient};

/// The envelope around every event.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Event<'a, D> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    pub(super) timestamp: Option<Text<'a>>,
    /// Set on the lines of a sub-agent.
    #[serde(borrow, default, deserialize_with = "lenient")]
    pub(super) agent_id: Option<Text<'a>>,
    pub(super) data: D,
}

/// `session.start` and `session.resume`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Opening<'a> {
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) session_id: Option<Text<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) start_time: Option<Text<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) selected_model: Option<Text<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) context: Option<Context<'a>>,
    /// That the key is there tells the client's age, whatever its value.
    #[serde(deserialize_with = "present")]
    pub(super) session_limits: bool,
    /// Another process had the session open.
    #[serde(deserialize_with = "lenient")]
    pub(super) session_was_active: Option<bool>,
    #[serde(deserialize_with = "lenient")]
    pub(super) already_in_use: Option<bool>,
}

/// Where a session runs: within an opening, or `session.context_changed` itself.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Context<'a> {
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) repository: Option<Text<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) git_root: Option<Text<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) cwd: Option<Text<'a>>,
}

/// `session.model_change` and `session.auto_mode_resolved`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ModelChange<'a> {
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) new_model: Option<Text<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) chosen_model: Option<Text<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) source: Option<Text<'a>>,
}

/// `assistant.message`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Message<'a> {
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) model: Option<Text<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) api_call_id: Option<Text<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) request_id: Option<Text<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) interaction_id: Option<Text<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) turn_id: Option<Text<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) parent_tool_call_id: Option<Text<'a>>,
    pub(super) output_tokens: Figure,
    pub(super) chunk_index: Figure,
    pub(super) chunk_count: Figure,
}

/// `session.usage_record`.
#[derive(Debug, Deserialize)]
pub(super) struct Recorded<'a> {
    #[serde(borrow)]
    pub(super) usage: Usage<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Usage<'a> {
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) model: Option<Text<'a>>,
    pub(super) input_tokens: Figure,
    pub(super) output_tokens: Figure,
    pub(super) cache_read_tokens: Figure,
    pub(super) cache_write_tokens: Figure,
    pub(super) reasoning_tokens: Figure,
    pub(super) cost: Figure,
    pub(super) duration: Figure,
    pub(super) time_to_first_token_ms: Figure,
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) initiator: Option<Text<'a>>,
    #[serde(deserialize_with = "lenient")]
    pub(super) is_byok: Option<bool>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) model_provider: Option<Text<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) provider_type: Option<Text<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) api_call_id: Option<Text<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) accounting: Option<Accounting<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) ai_credits_status: Option<Text<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) copilot_usage: Option<CopilotUsage<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) parent_tool_call_id: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Accounting<'a> {
    #[serde(borrow)]
    pub(super) source_session_id: Text<'a>,
    pub(super) sequence: Number,
    #[serde(borrow, default, deserialize_with = "lenient")]
    pub(super) usage_id: Option<Text<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct CopilotUsage<'a> {
    pub(super) total_nano_aiu: Figure,
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) token_details: Option<Vec<Detail<'a>>>,
}

/// `session.compaction_complete`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Compaction<'a> {
    #[serde(deserialize_with = "lenient")]
    pub(super) success: Option<bool>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) compaction_tokens_used: Option<CompactionUsage<'a>>,
}

/// What a compaction's call used; clients up to 1.0.24 wrote the shorter names.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct CompactionUsage<'a> {
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) model: Option<Text<'a>>,
    #[serde(alias = "input")]
    pub(super) input_tokens: Figure,
    #[serde(alias = "output")]
    pub(super) output_tokens: Figure,
    #[serde(alias = "cachedInput")]
    pub(super) cache_read_tokens: Figure,
    pub(super) cache_write_tokens: Figure,
    pub(super) duration: Figure,
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) ai_credits_status: Option<Text<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) copilot_usage: Option<CopilotUsage<'a>>,
}

/// `session.shutdown` and `session.usage_checkpoint`: running totals.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Shutdown<'a> {
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) model_metrics: Option<BTreeMap<String, Metrics<'a>>>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) provider_model_metrics: Option<Vec<ProviderMetrics<'a>>>,
    pub(super) total_nano_aiu: Figure,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Metrics<'a> {
    #[serde(deserialize_with = "lenient")]
    pub(super) requests: Option<Requests>,
    #[serde(deserialize_with = "lenient")]
    pub(super) usage: Option<LegUsage>,
    pub(super) total_nano_aiu: Figure,
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) ai_credits_status: Option<Text<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Requests {
    pub(super) count: Figure,
    pub(super) cost: Figure,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct LegUsage {
    pub(super) input_tokens: Figure,
    pub(super) output_tokens: Figure,
    pub(super) cache_read_tokens: Figure,
    pub(super) cache_write_tokens: Figure,
    pub(super) reasoning_tokens: Figure,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ProviderMetrics<'a> {
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) provider: Option<Text<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) model_id: Option<Text<'a>>,
}

/// `subagent.started`, `.completed`, `.failed`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Subagent<'a> {
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) tool_call_id: Option<Text<'a>>,
}

/// `session.error`; its message is never taken.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SessionError<'a> {
    #[serde(borrow, deserialize_with = "lenient")]
    pub(super) error_type: Option<Text<'a>>,
    pub(super) status_code: Figure,
}

/// The counts of a record, and whether one of them was no count.
pub(super) fn counts(
    input: Figure,
    cache_read: Figure,
    cache_write: Figure,
    output: Figure,
    reasoning: Figure,
) -> (Counts, bool) {
    let figures = [input, cache_read, cache_write, output, reasoning];
    let counts = Counts {
        input: input.count(),
        cache_read: cache_read.count(),
        cache_write: cache_write.count(),
        output: output.count(),
        reasoning: reasoning.count(),
    };
    (counts, figures.contains(&Figure::Odd))
}

fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    serde::de::IgnoredAny::deserialize(deserializer).map(|_| true)
}
