//! The numbers in the names are those of the collected edge cases; cases without one state a rule.

use std::fs;

use super::*;
use crate::stores::testing::{Kept, classes};
use crate::usage::{
    Credits, Evidence, Fact, FailureReason, Initiator, Key, ProjectRank, Provider, SessionFact,
    Surface, Timestamp, TotalFact,
};

/// A session's folder in a home of its own.
struct Session {
    dir: tempfile::TempDir,
    cursor: Cursor,
}

impl Session {
    fn new(lines: &str) -> Self {
        let session = Self {
            dir: tempfile::tempdir().unwrap(),
            cursor: Cursor::default(),
        };
        fs::create_dir_all(session.path().parent().unwrap()).unwrap();
        fs::write(session.path(), lines).unwrap();
        session
    }

    fn path(&self) -> PathBuf {
        self.dir
            .path()
            .join(".copilot/session-state/s1/events.jsonl")
    }

    fn pass(&mut self) -> Kept {
        let home = Home {
            dir: self.dir.path().to_owned(),
            ..Home::default()
        };
        let mut kept = Kept::default();
        for source in Events.discover(&home).sources {
            self.cursor = Events
                .read(&home, &source, &self.cursor, &mut kept)
                .unwrap();
        }
        kept
    }
}

fn read(lines: &str) -> Kept {
    Session::new(lines).pass()
}

fn event(id: &str, time: &str, kind: &str, data: &str) -> String {
    format!(r#"{{"type":"{kind}","data":{data},"id":"{id}","timestamp":"2026-09-{time}"}}"#) + "\n"
}

fn message(id: &str, data: &str) -> String {
    event(id, "01T10:00:00.000Z", "assistant.message", data)
}

/// A shutdown of one model: count, gross input, cache read, cache write, output.
fn shutdown(id: &str, time: &str, [count, input, read, write, output]: [u64; 5]) -> String {
    let data = format!(
        r#"{{"modelMetrics":{{"claude-sonnet-4.5":{{"requests":{{"count":{count},"cost":1}},"usage":{{"inputTokens":{input},"outputTokens":{output},"cacheReadTokens":{read},"cacheWriteTokens":{write},"reasoningTokens":0}}}}}}}}"#
    );
    event(id, time, "session.shutdown", &data)
}

fn resume(id: &str, time: &str, data: &str) -> String {
    event(id, time, "session.resume", data)
}

/// Input, cache read, cache write of each leg.
fn legs(kept: &Kept) -> Vec<[u64; 3]> {
    let tokens = kept.legs().into_iter().map(|leg| classes(&leg.tokens));
    tokens
        .map(|[input, read, write, _]| [input, read, write].map(Option::unwrap))
        .collect()
}

fn outputs(kept: &Kept) -> Vec<Option<u64>> {
    let calls = kept.calls().into_iter();
    calls.map(|call| classes(&call.tokens)[3]).collect()
}

fn models(kept: &Kept) -> Vec<Option<&str>> {
    let calls = kept.calls().into_iter();
    calls.map(|call| call.model.as_deref()).collect()
}

fn session(kept: &Kept) -> SessionFact {
    let facts = kept.observations.iter().map(|o| &o.fact);
    let sessions = facts.filter_map(|fact| match fact {
        Fact::Session(session) => Some(session.clone()),
        _ => None,
    });
    sessions.collect::<Vec<_>>().pop().unwrap_or_default()
}

fn credit_totals(kept: &Kept) -> Vec<&TotalFact> {
    let facts = kept.observations.iter().map(|o| &o.fact);
    facts
        .filter_map(|fact| match fact {
            Fact::Total(total) => Some(total),
            _ => None,
        })
        .collect()
}

/// The record of copilot-cli.md §4.
const RECORD: &str = r#"{"type":"session.usage_record","id":"u1","timestamp":"2026-11-02T10:00:03.100Z","parentId":"e9","data":{"usage":{"model":"gpt-5.4","inputTokens":9000,"outputTokens":60,"cacheReadTokens":8000,"cacheWriteTokens":0,"reasoningTokens":20,"cost":0.0,"duration":812,"timeToFirstTokenMs":240.5,"initiator":"user","isByok":false,"apiCallId":"resp-7","accounting":{"sourceSessionId":"5d1e0000-0000-4000-8000-000000000001","sequence":1,"usageId":"resp-7"},"aiCreditsStatus":"complete","copilotUsage":{"totalNanoAiu":540000000,"tokenDetails":[{"tokenType":"input","tokenCount":1000,"batchSize":1000000,"costPerBatch":250000000000},{"tokenType":"cache_read","tokenCount":8000,"batchSize":1000000,"costPerBatch":25000000000},{"tokenType":"output","tokenCount":60,"batchSize":1000000,"costPerBatch":1500000000000}]}}}}"#;

#[test]
fn edge_001_a_message_alone_is_a_call_with_unknown_input() {
    let lines = event(
        "m",
        "01T09:00:00.000Z",
        "session.model_change",
        r#"{"newModel":"gpt-4.1"}"#,
    ) + &message("e", r#"{"messageId":"1","outputTokens":150}"#);
    let kept = read(&lines);
    let [call] = kept.calls()[..] else {
        panic!("{kept:?}")
    };
    assert_eq!(call.evidence, Evidence::Message);
    assert_eq!(call.model.as_deref(), Some("gpt-4.1"));
    assert_eq!(classes(&call.tokens), [None, None, None, Some(150)]);
    assert_eq!(kept.observations[0].scope, "s1");
}

#[test]
fn edge_002_to_005_the_model_in_force() {
    let change = |id, data| event(id, "01T09:00:00.000Z", "session.model_change", data);
    let plain = |id| message(id, r#"{"outputTokens":5}"#);
    let kept = read(
        &[
            change("a", r#"{"newModel":"m1"}"#),
            plain("b"),
            change("c", r#"{"newModel":"m2"}"#),
            plain("d"),
            change("e", r#"{"newModel":null}"#),
            plain("f"),
            change("g", r#"{"newModel":"x","source":"agent"}"#),
            plain("h"),
            message("i", r#"{"outputTokens":5,"model":"own"}"#),
            plain("j"),
        ]
        .concat(),
    );
    let want = ["m1", "m2", "m2", "m2", "own", "own"].map(Some);
    assert_eq!(models(&kept), want);

    let of_agent = r#"{"type":"session.model_change","data":{"newModel":"x"},"agentId":"a1","id":"k","timestamp":"2026-09-01T10:00:00Z"}"#;
    let lines = change("a", r#"{"newModel":"m1"}"#) + of_agent + "\n" + &plain("b");
    assert_eq!(models(&read(&lines)), [Some("m1")]);
}

#[test]
fn edge_006_a_model_that_comes_late_is_the_sessions() {
    let lines = message("a", r#"{"outputTokens":5}"#)
        + &shutdown("s", "01T11:00:00.000Z", [1, 100, 0, 0, 5]);
    let kept = read(&lines);
    assert_eq!(models(&kept), [None]);
    assert_eq!(session(&kept).model.as_deref(), Some("claude-sonnet-4.5"));
}

#[test]
fn edge_007_odd_tool_requests_do_no_harm() {
    let kept = read(
        &[r#""text""#, "null", r#"[null,{"name":5}]"#]
            .map(|odd| {
                message(
                    odd.trim_matches('"'),
                    &format!(r#"{{"outputTokens":5,"toolRequests":{odd}}}"#),
                )
            })
            .concat()
            .replace(r#""id":"[null,{"name":5}]""#, r#""id":"x""#),
    );
    assert_eq!(kept.calls().len(), 3, "{kept:?}");
}

#[test]
fn edge_008_to_010_outputs_of_zero_absent_and_odd() {
    let kept = read(
        &[
            message("a", r#"{"model":"m","outputTokens":0}"#),
            message("b", r#"{"model":"m","outputTokens":42}"#),
            message("c", r#"{"model":"m"}"#),
            message("d", r#"{"model":"m","outputTokens":"12"}"#),
            message("e", r#"{"model":"m","outputTokens":-3}"#),
            message("f", r#"{"model":"m","outputTokens":null}"#),
        ]
        .concat(),
    );
    assert_eq!(outputs(&kept), [Some(42), None, None, None, None]);
    assert_eq!(kept.parse_errors, ["number"; 3]);
}

#[test]
fn edge_011_the_same_file_twice_is_nothing_new() {
    let mut log = Session::new(&message("a", r#"{"model":"m","outputTokens":5}"#));
    assert_eq!(log.pass().calls().len(), 1);
    let again = log.pass();
    assert!(again.calls().is_empty());
    assert_eq!(again.bytes, 0);
    log.cursor = Cursor::default();
    let anew = log.pass();
    let first = read(&message("a", r#"{"model":"m","outputTokens":5}"#));
    assert_eq!(anew.observations[0].id, first.observations[0].id);
}

#[test]
fn edge_012_a_file_that_is_gone_gives_nothing_and_no_error() {
    let mut log = Session::new(&message("a", r#"{"model":"m","outputTokens":5}"#));
    let source = Source::file(log.path());
    log.pass();
    fs::remove_file(log.path()).unwrap();
    let home = Home {
        dir: log.dir.path().to_owned(),
        ..Home::default()
    };
    let mut kept = Kept::default();
    let cursor = Events.read(&home, &source, &log.cursor, &mut kept).unwrap();
    assert_eq!(cursor, log.cursor);
    assert!(kept.observations.is_empty());
}

#[test]
fn edge_013_messages_without_message_id_are_two_calls() {
    let kept = read(
        &[
            message("a", r#"{"model":"m","outputTokens":5}"#),
            message("b", r#"{"model":"m","outputTokens":5}"#),
        ]
        .concat(),
    );
    assert_eq!(kept.calls().len(), 2);
    assert_ne!(kept.observations[0].id, kept.observations[1].id);

    let bare = r#"{"type":"assistant.message","data":{"model":"m","outputTokens":5}}"#;
    let kept = read(&format!("{bare}\n{bare}\n"));
    assert_ne!(
        kept.observations[0].id, kept.observations[1].id,
        "by position"
    );
}

#[test]
fn edge_014_broken_lines_are_skipped_and_counted() {
    let lines = format!(
        "null\n17\n\"x\"\n{{\"type\":\"assistant.message\",\n{}\n{}\n{}",
        r#"{"type":"session.shutdown"}"#,
        r#"{"type":"assistant.message","data":"text"}"#,
        message("a", r#"{"model":"m","outputTokens":5}"#)
    );
    let kept = read(&lines);
    assert_eq!(kept.calls().len(), 1);
    assert_eq!(kept.parse_errors.len(), 6);
}

#[test]
fn edge_016_sub_agents_nest() {
    let agent = |id: &str, kind: &str, call: &str| {
        let data = format!(r#"{{"toolCallId":"{call}","totalTokens":7000}}"#);
        event(id, "01T09:00:00.000Z", kind, &data)
    };
    let plain = |id| message(id, r#"{"model":"m","outputTokens":5}"#);
    let kept = read(
        &[
            agent("1", "subagent.started", "A"),
            agent("2", "subagent.started", "B"),
            plain("3"),
            agent("4", "subagent.completed", "B"),
            plain("5"),
            agent("6", "subagent.completed", "unknown"),
            plain("7"),
            agent("8", "subagent.failed", "A"),
            plain("9"),
        ]
        .concat(),
    );
    let initiators: Vec<_> = kept.calls().iter().map(|call| call.initiator).collect();
    let sub = Initiator::Subagent;
    assert_eq!(initiators, [sub, sub, sub, Initiator::Unknown]);
    // Edge case 17: the total of a sub-agent repeats its calls.
    assert_eq!(outputs(&kept), [Some(5); 4]);
}

#[test]
fn edge_018_a_sub_agents_model_is_its_own() {
    let kept = read(
        &[
            message("a", r#"{"model":"m1","outputTokens":5}"#),
            message(
                "b",
                r#"{"model":"m2","outputTokens":6,"parentToolCallId":"t"}"#,
            ),
            message("c", r#"{"outputTokens":7}"#),
        ]
        .concat(),
    );
    assert_eq!(models(&kept), [Some("m1"), Some("m2"), Some("m1")]);
    assert_eq!(kept.calls()[1].initiator, Initiator::Subagent);
    assert_eq!(kept.calls()[2].initiator, Initiator::Unknown);
}

#[test]
fn edge_019_the_producer_says_nothing() {
    let start = r#"{"sessionId":"s1","producer":"copilot-agent","selectedModel":"m"}"#;
    let lines = event("a", "01T09:00:00.000Z", "session.start", start)
        + &shutdown("s", "01T11:00:00.000Z", [1, 100, 0, 0, 5]);
    assert_eq!(read(&lines).legs().len(), 1);
}

#[test]
fn edge_020_auto_is_no_model_until_it_is_resolved() {
    let start = event(
        "a",
        "01T09:00:00.000Z",
        "session.start",
        r#"{"selectedModel":"auto"}"#,
    );
    let plain = message("b", r#"{"outputTokens":5}"#);
    let kept = read(&(start.clone() + &plain));
    assert_eq!((models(&kept), session(&kept).model), (vec![None], None));
    let resolved = event(
        "c",
        "01T09:00:01.000Z",
        "session.auto_mode_resolved",
        r#"{"chosenModel":"gpt-5.4"}"#,
    );
    let kept = read(&(start + &plain + &resolved + &message("d", r#"{"outputTokens":6}"#)));
    assert_eq!(models(&kept), [None, Some("gpt-5.4")]);
    assert_eq!(session(&kept).model.as_deref(), Some("gpt-5.4"));
}

#[test]
fn edge_022_tools_and_resumed_runs_are_no_calls() {
    let kept = read(&event(
        "a",
        "01T09:00:00.000Z",
        "tool.execution_complete",
        r#"{"model":"resumed","toolTelemetry":{"metrics":{"inputTokens":5}}}"#,
    ));
    assert!(kept.observations.is_empty());
}

#[test]
fn edge_023_one_leg() {
    let lines = message("a", r#"{"model":"claude-sonnet-4.5","outputTokens":345}"#)
        + &shutdown("s", "01T11:00:00.000Z", [1, 71_282, 35_495, 35_783, 345])
            .replace(r#""reasoningTokens":0"#, r#""reasoningTokens":31"#);
    let kept = read(&lines);
    let [leg] = kept.legs()[..] else {
        panic!("{kept:?}")
    };
    assert_eq!(
        classes(&leg.tokens),
        [Some(4), Some(35_495), Some(35_783), Some(345)]
    );
    assert_eq!(leg.tokens.reasoning(), Some(31));
    assert_eq!(leg.calls, 1);
    assert_eq!(leg.from, None);
    assert_eq!(Some(leg.to), Timestamp::parse_iso("2026-09-01T11:00:00Z"));
}

#[test]
fn edge_025_two_models_in_one_leg() {
    let data = r#"{"modelMetrics":{
        "a":{"requests":{"count":1},"usage":{"inputTokens":10100,"outputTokens":1,"cacheReadTokens":8000,"cacheWriteTokens":2000}},
        "b":{"requests":{"count":1},"usage":{"inputTokens":5050,"outputTokens":1,"cacheReadTokens":5000,"cacheWriteTokens":0}}}}"#
        .replace('\n', "");
    let kept = read(&event("s", "01T11:00:00.000Z", "session.shutdown", &data));
    assert_eq!(legs(&kept), [[100, 8_000, 2_000], [50, 5_000, 0]]);
    assert_ne!(kept.observations[0].id, kept.observations[1].id);
}

/// The three shutdowns of edge cases 26 and 27.
fn three_legs(resume_data: &str) -> Kept {
    read(
        &[
            shutdown("a", "01T08:00:00.000Z", [2, 24_672, 0, 24_670, 10]),
            resume("b", "02T08:00:00.000Z", resume_data),
            shutdown("c", "02T09:00:00.000Z", [4, 74_463, 49_489, 24_968, 20]),
            resume("d", "03T08:00:00.000Z", resume_data),
            shutdown("e", "03T09:00:00.000Z", [6, 124_783, 99_569, 25_204, 30]),
        ]
        .concat(),
    )
}

#[test]
fn edge_026_running_totals_three_legs() {
    let kept = three_legs(r#"{"sessionLimits":null}"#);
    assert_eq!(
        legs(&kept),
        [[2, 0, 24_670], [4, 49_489, 298], [4, 50_080, 236]]
    );
    let days: Vec<_> = kept
        .legs()
        .iter()
        .map(|leg| leg.to.0 / 86_400_000)
        .collect();
    assert_eq!(days[1] - days[0], 1);
    assert_eq!(days[2] - days[1], 1);
    assert_eq!(kept.legs()[1].from, Some(kept.legs()[0].to));
    assert_eq!(kept.legs()[1].calls, 2);
}

#[test]
fn edge_027_the_same_lines_per_run() {
    let kept = three_legs(r#"{"eventCount":9}"#);
    assert_eq!(
        legs(&kept),
        [[2, 0, 24_670], [6, 49_489, 24_968], [10, 99_569, 25_204]]
    );
}

#[test]
fn edge_028_rising_charges() {
    let nano = |id, time, count, nano: u64| {
        shutdown(id, time, [count, 1_000 * count, 0, 0, 10 * count]).replace(
            r#""requests""#,
            &format!(r#""totalNanoAiu":{nano},"requests""#),
        )
    };
    let limits = r#"{"sessionLimits":null}"#;
    let kept = read(
        &[
            nano("a", "01T08:00:00.000Z", 1, 86_800_000_000),
            resume("b", "02T08:00:00.000Z", limits),
            nano("c", "02T09:00:00.000Z", 2, 506_300_000_000),
            resume("d", "03T08:00:00.000Z", limits),
            nano("e", "03T09:00:00.000Z", 3, 1_023_600_000_000),
        ]
        .concat(),
    );
    let credits: Vec<_> = kept
        .legs()
        .iter()
        .map(|leg| leg.credits.unwrap().0)
        .collect();
    assert_eq!(credits, [86_800_000_000, 419_500_000_000, 517_300_000_000]);
}

#[test]
fn edge_029_and_030_running_totals_that_fall() {
    let limits = r#"{"sessionLimits":null}"#;
    let kept = read(
        &[
            shutdown("a", "01T08:00:00.000Z", [1, 10_000, 0, 5_000, 1]),
            resume("b", "02T08:00:00.000Z", limits),
            shutdown("c", "02T09:00:00.000Z", [1, 2_000, 0, 1_000, 1]),
            resume("d", "03T08:00:00.000Z", limits),
            shutdown("e", "03T09:00:00.000Z", [2, 5_000, 2_000, 1_500, 2]),
        ]
        .concat(),
    );
    assert_eq!(
        legs(&kept),
        [[5_000, 0, 5_000], [1_000, 0, 1_000], [500, 2_000, 500]]
    );
    let kept = read(
        &[
            shutdown("a", "01T08:00:00.000Z", [1, 100, 80, 0, 1]),
            resume("b", "02T08:00:00.000Z", limits),
            shutdown("c", "02T09:00:00.000Z", [2, 150, 60, 0, 2]),
        ]
        .concat(),
    );
    assert_eq!(
        legs(&kept),
        [[20, 80, 0], [50, 0, 0]],
        "only reads fall: no reset"
    );
}

#[test]
fn edge_031_figures_that_were_split_already() {
    let kept = read(&shutdown("a", "01T08:00:00.000Z", [1, 10, 20, 0, 1]));
    assert_eq!(legs(&kept), [[10, 20, 0]]);
    assert_eq!(kept.parse_errors, ["cache_above_input"]);
}

#[test]
fn edge_032_a_repeated_line_counts_once_and_equal_legs_twice() {
    let line = shutdown("a", "01T08:00:00.000Z", [1, 100, 0, 0, 1]);
    assert_eq!(read(&(line.clone() + &line)).legs().len(), 1);
    let other = shutdown("c", "02T08:00:00.000Z", [1, 100, 0, 0, 1]);
    let lines = line + &resume("b", "02T07:00:00.000Z", "{}") + &other;
    assert_eq!(legs(&read(&lines)), [[100, 0, 0]; 2]);
}

#[test]
fn edge_033_a_shutdown_without_models_changes_nothing() {
    let limits = r#"{"sessionLimits":null}"#;
    let empty = event(
        "e",
        "02T09:00:00.000Z",
        "session.shutdown",
        r#"{"modelMetrics":{}}"#,
    );
    let kept = read(
        &[
            shutdown("a", "01T08:00:00.000Z", [1, 100, 0, 0, 1]),
            resume("b", "02T08:00:00.000Z", limits),
            empty,
            resume("c", "03T08:00:00.000Z", limits),
            shutdown("d", "03T09:00:00.000Z", [2, 250, 0, 0, 3]),
        ]
        .concat(),
    );
    assert_eq!(legs(&kept), [[100, 0, 0], [150, 0, 0]]);
}

#[test]
fn edge_034_details_of_a_leg_are_not_added() {
    let with = shutdown("a", "01T08:00:00.000Z", [1, 12_839, 1_664, 0, 1]).replace(
        r#""requests""#,
        r#""tokenDetails":{"input":{"tokenCount":11175}},"requests""#,
    );
    assert_eq!(legs(&read(&with)), [[11_175, 1_664, 0]]);
}

#[test]
fn edge_035_a_leg_without_time_is_dated_by_the_line_before() {
    let bare = shutdown("b", "x", [1, 100, 0, 0, 1]).replace("2026-09-x", "yesterday");
    let lines = message("a", r#"{"model":"m","outputTokens":5}"#) + &bare;
    let kept = read(&lines);
    assert_eq!(
        Some(kept.legs()[0].to),
        Timestamp::parse_iso("2026-09-01T10:00:00Z")
    );
}

#[test]
fn edge_036_a_leg_alone_says_how_many_calls() {
    let kept = read(&shutdown("a", "01T08:00:00.000Z", [7, 100, 20, 10, 9]));
    let leg = kept.legs()[0];
    assert_eq!(leg.calls, 7);
    assert_eq!(
        classes(&leg.tokens),
        [Some(70), Some(20), Some(10), Some(9)]
    );
}

#[test]
fn edge_037_reasoning_alone_is_no_call() {
    let line = shutdown("a", "01T08:00:00.000Z", [0, 0, 0, 0, 0])
        .replace(r#""cost":1"#, r#""cost":0"#)
        .replace(r#""reasoningTokens":0"#, r#""reasoningTokens":800"#);
    assert!(read(&line).legs().is_empty());
}

#[test]
fn edge_038_checkpoints_are_no_sum() {
    let checkpoint = |id, nano: u64| {
        let data = format!(r#"{{"totalNanoAiu":{nano}}}"#);
        event(id, "01T08:00:00.000Z", "session.usage_checkpoint", &data)
    };
    let kept = read(
        &[
            checkpoint("a", 100_000_000),
            checkpoint("b", 250_000_000),
            checkpoint("c", 400_000_000),
        ]
        .concat(),
    );
    let totals = credit_totals(&kept);
    assert_eq!(totals.last().unwrap().credits, Some(Credits(400_000_000)));
    let mut ids: Vec<_> = kept.observations.iter().map(|o| o.id).collect();
    ids.dedup();
    assert_eq!(ids.len(), 1, "each replaces the one before");
}

#[test]
fn edge_039_figures_of_a_leg_as_text_are_unknown() {
    let line = shutdown("a", "01T08:00:00.000Z", [1, 250, 0, 0, 1])
        .replace(r#""inputTokens":250"#, r#""inputTokens":"250""#)
        .replace(r#""outputTokens":1,"#, r#""outputTokens":1.0,"#);
    let kept = read(&line);
    assert_eq!(classes(&kept.legs()[0].tokens)[0], None);
    assert_eq!(classes(&kept.legs()[0].tokens)[3], Some(1));
    assert_eq!(kept.parse_errors, ["number"]);
}

#[test]
fn edge_041_without_a_resume_line_counts_decide() {
    let plain = |id| message(id, r#"{"model":"claude-sonnet-4.5","outputTokens":5}"#);
    let second = |count| {
        read(
            &[
                plain("1"),
                plain("2"),
                shutdown("a", "01T11:00:00.000Z", [2, 200, 0, 0, 10]),
                plain("3"),
                plain("4"),
                plain("5"),
                shutdown("b", "02T11:00:00.000Z", [count, 500, 0, 0, 25]),
            ]
            .concat(),
        )
    };
    assert_eq!(legs(&second(3))[1], [500, 0, 0], "per run");
    assert_eq!(legs(&second(5))[1], [300, 0, 0], "running total");
    let lower = shutdown("b", "02T11:00:00.000Z", [9, 100, 0, 0, 25]);
    let lines = plain("1") + &shutdown("a", "01T11:00:00.000Z", [2, 200, 0, 0, 10]) + &lower;
    assert_eq!(legs(&read(&lines))[1], [100, 0, 0]);
}

#[test]
fn a_checkpoint_proves_a_running_total() {
    let checkpoint = event("c", "02T10:00:00.000Z", "session.usage_checkpoint", "{}");
    let lines = shutdown("a", "01T11:00:00.000Z", [2, 200, 0, 0, 10])
        + &checkpoint
        + &shutdown("b", "02T11:00:00.000Z", [3, 500, 0, 0, 25]);
    assert_eq!(legs(&read(&lines))[1], [300, 0, 0]);
}

#[test]
fn legs_written_by_an_upgraded_client() {
    // Old, old, new: the third contains the second but not the first.
    let lines = [
        shutdown("a", "01T08:00:00.000Z", [1, 100, 0, 0, 1]),
        resume("b", "02T08:00:00.000Z", "{}"),
        shutdown("c", "02T09:00:00.000Z", [1, 150, 0, 0, 1]),
        resume("d", "03T08:00:00.000Z", r#"{"sessionLimits":null}"#),
        shutdown("e", "03T09:00:00.000Z", [2, 400, 0, 0, 2]),
    ]
    .concat();
    assert_eq!(legs(&read(&lines)), [[100, 0, 0], [150, 0, 0], [250, 0, 0]]);
}

#[test]
fn a_resume_after_a_kill_is_told_apart() {
    let lines = [
        shutdown("a", "01T08:00:00.000Z", [1, 100, 0, 0, 1]),
        resume("b", "02T08:00:00.000Z", r#"{"sessionLimits":null}"#),
        resume("c", "03T08:00:00.000Z", r#"{"sessionLimits":null}"#),
        shutdown("d", "03T09:00:00.000Z", [2, 400, 0, 0, 2]),
    ]
    .concat();
    let kept = read(&lines);
    let leg = kept.legs()[1];
    assert_eq!(leg.from, Timestamp::parse_iso("2026-09-01T08:00:00Z"));
    assert_eq!(leg.resumed, Timestamp::parse_iso("2026-09-03T08:00:00Z"));
    let active = lines.replace(
        r#"{"sessionLimits":null}"#,
        r#"{"sessionLimits":null,"sessionWasActive":true}"#,
    );
    assert_eq!(read(&active).legs()[1].resumed, None);
}

#[test]
fn edge_042_errors_are_failures_and_no_calls() {
    let error = |id, data| event(id, "01T08:00:00.000Z", "session.error", data);
    let kept = read(
        &[
            error(
                "a",
                r#"{"errorType":"query","statusCode":500,"message":"private"}"#,
            ),
            error("b", r#"{"errorType":"authentication","statusCode":401}"#),
            error("c", r#"{"errorType":"query"}"#),
            error("d", r#"{"errorType":"internal"}"#),
            event(
                "e",
                "01T09:00:00.000Z",
                "session.shutdown",
                r#"{"modelMetrics":{}}"#,
            ),
        ]
        .concat(),
    );
    let reasons: Vec<_> = kept
        .observations
        .iter()
        .map(|o| match &o.fact {
            Fact::Failure(failure) => failure.reason,
            other => panic!("{other:?}"),
        })
        .collect();
    let want = [
        FailureReason::Server,
        FailureReason::Auth,
        FailureReason::Other,
    ];
    assert_eq!(reasons, want);
}

#[test]
fn edge_043_a_record_without_usage_is_a_call_of_unknown_tokens() {
    let record = r#"{"type":"session.usage_record","id":"u","timestamp":"2026-11-02T10:00:03Z","data":{"usage":{"model":"m","cacheReadTokens":0,"cacheWriteTokens":0,"isByok":true,"cacheDetailsReported":false,"aiCreditsStatus":"unavailable"}}}"#;
    let kept = read(&format!("{record}\n"));
    assert_eq!(classes(&kept.calls()[0].tokens), [None; 4]);
}

#[test]
fn a_usage_record() {
    let kept = read(&format!("{RECORD}\n"));
    let [call] = kept.calls()[..] else {
        panic!("{kept:?}")
    };
    assert_eq!(
        classes(&call.tokens),
        [Some(1_000), Some(8_000), Some(0), Some(60)]
    );
    assert_eq!(call.tokens.reasoning(), Some(20));
    assert_eq!(call.credits, Some(Credits(540_000_000)));
    assert_eq!(call.provider, Some(Provider::Copilot));
    assert_eq!(call.initiator, Initiator::User);
    assert_eq!(
        (call.duration_ms, call.first_token_ms),
        (Some(812), Some(240))
    );
    let accounting = Key::accounting("5d1e0000-0000-4000-8000-000000000001", 1);
    assert_eq!(kept.observations[0].id, accounting);
    assert_eq!(call.keys, [Key::response("resp-7")]);
}

#[test]
fn edge_089_and_092_records_make_their_messages_and_legs_redundant() {
    let lines = format!("{RECORD}\n")
        + &event(
            "m",
            "01T10:00:04.000Z",
            "assistant.message",
            r#"{"model":"gpt-5.4","apiCallId":"resp-7"}"#,
        )
        + &shutdown("s", "01T11:00:00.000Z", [1, 9_000, 8_000, 0, 60]);
    let kept = read(&lines);
    assert_eq!(kept.calls().len(), 1);
    assert!(kept.legs().is_empty());
}

#[test]
fn legs_before_the_first_record_count() {
    let lines = shutdown("a", "01T08:00:00.000Z", [2, 200, 0, 0, 10])
        + &resume("b", "02T08:00:00.000Z", r#"{"sessionLimits":null}"#)
        + &format!("{RECORD}\n")
        + &shutdown("c", "02T11:00:00.000Z", [3, 9_200, 8_000, 0, 70]);
    let kept = read(&lines);
    assert_eq!(legs(&kept), [[200, 0, 0]]);
    assert_eq!(kept.calls().len(), 1);
}

#[test]
fn edge_253_the_wire_name_is_the_model() {
    let record = RECORD.replace(
        r#""model":"gpt-5.4""#,
        r#""model":"gpt-5-mini","modelDisplayName":"gpt-5.4""#,
    );
    assert_eq!(models(&read(&format!("{record}\n"))), [Some("gpt-5-mini")]);
}

#[test]
fn own_providers_are_named() {
    let with = |fields: &str| {
        let record = RECORD.replace(r#""isByok":false"#, &format!(r#""isByok":true,{fields}"#));
        read(&format!("{record}\n")).calls()[0].provider.clone()
    };
    for (fields, want) in [
        (
            r#""modelProvider":"anthropic","providerType":"anthropic""#,
            "anthropic",
        ),
        (
            r#""modelProvider":"other","providerType":"openai""#,
            "openai",
        ),
        (r#""providerType":"azure""#, "azure"),
        (r#""modelProvider":null"#, "byok"),
    ] {
        assert_eq!(with(fields), Some(Provider::own(want)), "{fields}");
    }
}

#[test]
fn edge_085_a_compaction_is_a_call() {
    let compaction =
        |id, data: &str| event(id, "01T08:00:00.000Z", "session.compaction_complete", data);
    let used = r#""compactionTokensUsed":{"requestCount":1,"model":"m","inputTokens":18541,"outputTokens":71,"cacheReadTokens":18432,"cacheWriteTokens":0,"duration":16,"aiCreditsStatus":"complete","copilotUsage":{"totalNanoAiu":500}}"#;
    let kept = read(
        &[
            compaction("a", &format!(r#"{{"success":true,{used}}}"#)),
            compaction("b", &format!(r#"{{"success":false,{used}}}"#)),
            compaction("c", r#"{"success":true}"#),
        ]
        .concat(),
    );
    assert_eq!(kept.calls().len(), 2, "a failed one was billed, too");
    let call = kept.calls()[0];
    assert_eq!(call.initiator, Initiator::Compaction);
    assert_eq!(
        classes(&call.tokens),
        [Some(109), Some(18_432), Some(0), Some(71)]
    );
    assert_eq!(call.credits, Some(Credits(500)));
    assert_eq!(call.evidence, Evidence::UsageRecord);
    assert_eq!(call.time, Timestamp::parse_iso("2026-09-01T08:00:00Z"));
}

#[test]
fn compactions_of_old_clients_have_shorter_names_and_no_model() {
    let lines = event(
        "a",
        "01T07:00:00.000Z",
        "session.model_change",
        r#"{"newModel":"m1"}"#,
    ) + &event(
        "b",
        "01T08:00:00.000Z",
        "session.compaction_complete",
        r#"{"success":true,"compactionTokensUsed":{"input":1000,"output":50,"cachedInput":400}}"#,
    );
    let kept = read(&lines);
    assert_eq!(models(&kept), [Some("m1")]);
    assert_eq!(
        classes(&kept.calls()[0].tokens),
        [Some(600), Some(400), None, Some(50)]
    );
}

#[test]
fn a_leg_knows_the_compaction_that_may_have_reset_it() {
    let compaction = |id, time: &str, success| {
        let data = format!(r#"{{"success":{success}}}"#);
        event(id, time, "session.compaction_complete", &data)
    };
    let end = shutdown("z", "01T11:00:00.000Z", [1, 100, 0, 0, 1]);
    let first = compaction("a", "01T08:00:00.000Z", true);
    let failed = compaction("b", "01T09:00:00.000Z", false);
    let kept = read(&(first.clone() + &failed + &end));
    let at = Timestamp::parse_iso("2026-09-01T08:00:00Z");
    assert_eq!(kept.legs()[0].compacted, at);
    let kept = read(&(first + &resume("r", "01T10:00:00.000Z", "{}") + &end));
    assert_eq!(
        kept.legs()[0].compacted,
        None,
        "another process ended the leg"
    );
}

#[test]
fn charges_of_replayed_compactions_are_taken_off_totals_per_run() {
    let used = r#"{"success":true,"compactionTokensUsed":{"model":"claude-sonnet-4.5","inputTokens":10,"outputTokens":1,"copilotUsage":{"totalNanoAiu":300}}}"#;
    let nano = |id, time, nano: u64| {
        shutdown(id, time, [1, 100, 0, 0, 1]).replace(
            r#""requests""#,
            &format!(r#""totalNanoAiu":{nano},"requests""#),
        )
    };
    let kept = read(
        &[
            event("c", "01T07:00:00.000Z", "session.compaction_complete", used),
            nano("a", "01T08:00:00.000Z", 1_000),
            resume("b", "02T08:00:00.000Z", "{}"),
            nano("d", "02T09:00:00.000Z", 900),
        ]
        .concat(),
    );
    let credits: Vec<_> = kept.legs().iter().map(|leg| leg.credits).collect();
    assert_eq!(credits, [Some(Credits(1_000)), Some(Credits(600))]);
}

#[test]
fn edge_231_a_checkpoint_of_a_killed_run_bounds_the_credits() {
    let limits = r#"{"sessionLimits":null}"#;
    let total = |line: String, nano: u64, of_model: u64| {
        line.replace(
            r#"{"modelMetrics""#,
            &format!(r#"{{"totalNanoAiu":{nano},"modelMetrics""#),
        )
        .replace(
            r#""requests""#,
            &format!(r#""totalNanoAiu":{of_model},"requests""#),
        )
    };
    let checkpoint = event(
        "c",
        "01T09:00:00.000Z",
        "session.usage_checkpoint",
        r#"{"totalNanoAiu":700}"#,
    );
    let mut log = Session::new(
        &(total(
            shutdown("a", "01T08:00:00.000Z", [1, 100, 0, 0, 1]),
            400,
            400,
        ) + &resume("b", "01T08:30:00.000Z", limits)
            + &checkpoint),
    );
    let kept = log.pass();
    assert_eq!(credit_totals(&kept)[0].credits, Some(Credits(700)));

    let append = |log: &Session, line: &str| {
        let lines = fs::read_to_string(log.path()).unwrap() + line;
        fs::write(log.path(), lines).unwrap();
    };
    // The run was killed: its charge is in the total, and in no model's.
    let later = resume("d", "01T10:00:00.000Z", limits)
        + &total(
            shutdown("e", "01T11:00:00.000Z", [2, 200, 0, 0, 2]),
            900,
            600,
        );
    append(&log, &later);
    let kept = log.pass();
    assert_eq!(credit_totals(&kept)[0].credits, Some(Credits(900)));
    // Explained: taken back.
    let explained = resume("f", "02T10:00:00.000Z", limits)
        + &total(
            shutdown("g", "02T11:00:00.000Z", [3, 300, 0, 0, 3]),
            950,
            950,
        );
    append(&log, &explained);
    assert_eq!(credit_totals(&log.pass())[0].credits, None);
}

#[test]
fn a_forks_running_total_is_its_parents() {
    let start = event(
        "s",
        "01T07:00:00.000Z",
        "session.start",
        r#"{"sessionId":"parent"}"#,
    );
    let checkpoint = r#"{"totalNanoAiu":700}"#;
    let checkpoint = event(
        "c",
        "01T09:00:00.000Z",
        "session.usage_checkpoint",
        checkpoint,
    );
    assert!(credit_totals(&read(&(start + &checkpoint))).is_empty());
}

#[test]
fn chunks_of_a_message_are_one_call() {
    let chunk = |id, index, tokens: &str| {
        let data = format!(
            r#"{{"model":"m","apiCallId":"r","chunkIndex":{index},"chunkCount":3{tokens}}}"#
        );
        message(id, &data)
    };
    let lines = chunk("a", 0, "")
        + &chunk("b", 1, r#","outputTokens":40"#)
        + &chunk("c", 2, "")
        + &shutdown("s", "01T11:00:00.000Z", [1, 100, 0, 0, 40]);
    let kept = read(&lines);
    let mut calls: Vec<_> = kept
        .observations
        .iter()
        .filter(|o| matches!(o.fact, Fact::Call(_)))
        .map(|o| o.id)
        .collect();
    calls.dedup();
    assert_eq!(calls.len(), 1);
    assert_eq!(outputs(&kept).last(), Some(&Some(40)));
}

#[test]
fn messages_that_no_model_wrote_are_no_calls() {
    let own = message(
        "a",
        r#"{"messageId":"1","content":"","toolRequests":[{"name":"read_agent"}]}"#,
    );
    let kept = read(&own);
    assert!(kept.observations.is_empty());
    assert_eq!(kept.skipped, ["no_answer"]);
}

#[test]
fn edge_229_empty_and_blank_files_and_marks_give_nothing() {
    for contents in ["", "\n\n  \n", "\u{feff}", "\u{feff}\n"] {
        let kept = read(contents);
        assert!(kept.observations.is_empty() && kept.parse_errors.is_empty());
    }
}

#[test]
fn edge_224_repeated_totals_beside_the_models_count_once() {
    let line = shutdown("a", "01T08:00:00.000Z", [1, 100, 0, 0, 1]);
    let metrics = r#""modelMetrics":{"claude-sonnet-4.5":{"requests":{"count":1},"usage":{"inputTokens":100,"outputTokens":1}}}"#;
    let line = line.replace(
        r#"{"modelMetrics""#,
        &format!(
            r#"{{"accountingSnapshot":{{{metrics}}},"agentMetrics":{{"main":{{{metrics}}}}},"providerModelMetrics":[{{"provider":null,"modelId":"claude-sonnet-4.5","metrics":{{}}}}],"modelMetrics""#
        ),
    );
    let kept = read(&line);
    assert_eq!(legs(&kept), [[100, 0, 0]]);
}

#[test]
fn edge_201_and_225_sessions_of_all_layouts_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join(".copilot");
    let state = root.join("session-state");
    for name in [
        "a/events.jsonl",
        "b/other.txt",
        ".locks/events.jsonl",
        "c.jsonl/x",
    ] {
        let path = state.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    fs::write(state.join("a.jsonl"), "").unwrap();
    fs::create_dir(root.join("history-session-state")).unwrap();
    fs::write(root.join("history-session-state/old.jsonl"), "").unwrap();
    fs::write(root.join("history-session-state/old.json"), "").unwrap();
    let home = Home {
        dir: dir.path().to_owned(),
        ..Home::default()
    };
    let discovery = Events.discover(&home);
    assert!(discovery.problems.is_empty());
    let found: Vec<_> = discovery
        .sources
        .iter()
        .map(|s| session(&s.path).unwrap())
        .collect();
    assert_eq!(found, ["a", "a", "old"]);

    fn session(path: &Path) -> Option<String> {
        super::session(path)
    }
}

#[test]
fn edge_059_and_205_one_project_a_session() {
    let start = r#"{"sessionId":"s1","startTime":"2026-09-01T09:00:00.000Z","context":{"cwd":"/srv/shop-copy"}}"#;
    let mut log = Session::new(&event("a", "01T09:00:01.000Z", "session.start", start));
    let folder = session(&log.pass()).project.unwrap();
    assert_eq!(
        (folder.rank, folder.project.as_str()),
        (ProjectRank::Folder, "shop-copy")
    );

    let workspace = log.path().with_file_name("workspace.yaml");
    fs::write(
        workspace,
        "cwd: /srv/shop-copy\nrepository: acme/shop\nclient_name: github/cli\n",
    )
    .unwrap();
    let about = session(&log.pass());
    assert_eq!(about.project.unwrap().project.as_str(), "shop");
    assert_eq!(about.surface, Some(Surface::Cli));
    assert_eq!(about.started, Timestamp::parse_iso("2026-09-01T09:00:00Z"));
}

#[test]
fn edge_258_a_resume_with_another_model() {
    let lines = [
        event(
            "a",
            "01T09:00:00.000Z",
            "session.start",
            r#"{"selectedModel":"m1"}"#,
        ),
        message("b", r#"{"outputTokens":5}"#),
        resume("c", "02T09:00:00.000Z", r#"{"selectedModel":"m1"}"#),
        event(
            "d",
            "02T09:00:01.000Z",
            "session.model_change",
            r#"{"newModel":"m2","previousModel":"m1","source":"startup"}"#,
        ),
        message("e", r#"{"outputTokens":5}"#),
    ]
    .concat();
    assert_eq!(models(&read(&lines)), [Some("m1"), Some("m2")]);
}

#[test]
fn edge_254_and_255_signals_and_cleared_answers() {
    let turn = |id, kind: &str| event(id, "01T08:00:00.000Z", kind, r#"{"turnId":"0"}"#);
    let lines = [
        turn("a", "assistant.turn_start"),
        message("b", r#"{"model":"claude-sonnet-4.5","outputTokens":5}"#),
        turn("c", "assistant.turn_end"),
        turn("d", "assistant.turn_start"),
        event(
            "e",
            "01T10:30:00.000Z",
            "abort",
            r#"{"reason":"user_abort"}"#,
        ),
        shutdown("f", "01T11:00:00.000Z", [1, 100, 0, 0, 5]),
    ]
    .concat();
    let kept = read(&lines);
    assert_eq!((kept.calls().len(), kept.legs().len()), (1, 1));
    assert_eq!(kept.legs()[0].calls, 1);
}

#[test]
fn edge_259_absent_reasoning_is_unknown() {
    let record = RECORD.replace(r#""reasoningTokens":20,"#, "");
    let kept = read(&format!("{record}\n"));
    let call = kept.calls()[0];
    assert_eq!(call.tokens.reasoning(), None);
    assert_eq!(classes(&call.tokens)[3], Some(60));
}

#[test]
fn edge_260_a_checkpoint_after_a_compaction_of_a_killed_run() {
    let compaction = r#"{"success":true,"compactionTokensUsed":{"model":"m","inputTokens":10,"outputTokens":1,"copilotUsage":{"totalNanoAiu":300}}}"#;
    let with_records = format!("{RECORD}\n")
        + &event(
            "c",
            "02T08:00:00.000Z",
            "session.compaction_complete",
            compaction,
        )
        + &event(
            "d",
            "02T08:00:01.000Z",
            "session.usage_checkpoint",
            r#"{"totalNanoAiu":540000300}"#,
        );
    let kept = read(&with_records);
    assert_eq!(kept.calls().len(), 2);
    assert!(credit_totals(&kept).is_empty(), "records tell every call");
}

#[test]
fn edge_040_a_session_that_was_left_without_shutdown() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join(".copilot/session-state");
    let left = message("m", r#"{"model":"m","outputTokens":5}"#);
    let next = shutdown("s", "01T11:00:00.000Z", [1, 100, 0, 0, 5]);
    for (name, lines) in [("left", left), ("next", next)] {
        fs::create_dir_all(state.join(name)).unwrap();
        fs::write(state.join(name).join("events.jsonl"), lines).unwrap();
    }
    let home = Home {
        dir: dir.path().to_owned(),
        ..Home::default()
    };
    let mut kept = Kept::default();
    for source in Events.discover(&home).sources {
        Events
            .read(&home, &source, &Cursor::default(), &mut kept)
            .unwrap();
    }
    assert_eq!((kept.calls().len(), kept.legs().len()), (1, 1));
}

#[test]
fn edge_021_no_state_of_one_file_reaches_the_next() {
    let change = event(
        "a",
        "01T09:00:00.000Z",
        "session.model_change",
        r#"{"newModel":"m1"}"#,
    );
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join(".copilot/session-state");
    for (name, lines) in [("a", change), ("b", message("m", r#"{"outputTokens":5}"#))] {
        fs::create_dir_all(state.join(name)).unwrap();
        fs::write(state.join(name).join("events.jsonl"), lines).unwrap();
    }
    let home = Home {
        dir: dir.path().to_owned(),
        ..Home::default()
    };
    let mut kept = Kept::default();
    for source in Events.discover(&home).sources {
        Events
            .read(&home, &source, &Cursor::default(), &mut kept)
            .unwrap();
    }
    assert_eq!(models(&kept), [None]);
}

#[test]
fn edge_216_a_rewritten_file_gives_the_same_statements() {
    let lines = shutdown("a", "01T08:00:00.000Z", [1, 100, 0, 0, 1]);
    let mut log = Session::new(&(message("m", r#"{"model":"m","outputTokens":5}"#) + &lines));
    let first = log.pass();
    fs::write(log.path(), lines).unwrap();
    let second = log.pass();
    assert_eq!(second.legs().len(), 1);
    let ids = |kept: &Kept| kept.observations.iter().map(|o| o.id).collect::<Vec<_>>();
    assert!(ids(&second).iter().all(|id| ids(&first).contains(id)));
}

/// A file of several kinds of lines, cut at every byte: what was read before the cut and after it is what
/// is read at once.
#[test]
fn any_cut_gives_the_same_statements() {
    let text = [
        event(
            "a",
            "01T07:00:00.000Z",
            "session.start",
            r#"{"sessionId":"s1","selectedModel":"m1","context":{"cwd":"/srv/é"}}"#,
        ),
        message("b", r#"{"outputTokens":5,"content":"\u00e9…"}"#),
        shutdown("c", "01T08:00:00.000Z", [1, 100, 0, 0, 5]),
        resume("d", "02T08:00:00.000Z", r#"{"sessionLimits":null}"#),
        "not json\n".to_owned(),
        format!("{RECORD}\n"),
        message("e", r#"{"model":"m1","apiCallId":"resp-7"}"#),
        shutdown("f", "02T09:00:00.000Z", [2, 9_100, 8_000, 0, 65]),
    ]
    .concat()
    .into_bytes();
    let last = |kept: &[Kept]| {
        let mut statements = std::collections::BTreeMap::new();
        for observation in kept.iter().flat_map(|k| &k.observations) {
            statements.insert(observation.id, observation.clone());
        }
        let errors: usize = kept.iter().map(|k| k.parse_errors.len()).sum();
        (statements, errors)
    };
    let whole = last(&[Session::new(std::str::from_utf8(&text).unwrap()).pass()]);
    let mut log = Session::new("");
    for cut in 0..text.len() {
        log.cursor = Cursor::default();
        fs::write(log.path(), &text[..cut]).unwrap();
        let before = log.pass();
        fs::OpenOptions::new()
            .append(true)
            .open(log.path())
            .and_then(|mut file| std::io::Write::write_all(&mut file, &text[cut..]))
            .unwrap();
        let after = log.pass();
        assert_eq!(last(&[before, after]), whole, "cut at {cut}");
    }
}
