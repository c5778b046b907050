//! Shutdown lines, taken apart.

use super::*;

#[test]
fn edge_019_the_producer_says_nothing() {
    let start = r#"{"sessionId":"s1","producer":"copilot-agent","selectedModel":"m"}"#;
    let lines = event("a", "01T09:00:00.000Z", "session.start", start)
        + &shutdown("s", "01T11:00:00.000Z", [1, 100, 0, 0, 5]);
    assert_eq!(read(&lines).legs().len(), 1);
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
