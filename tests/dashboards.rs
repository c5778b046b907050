//! The dashboards that ship: well made by the rules of `grafana/dashboard-linter` and some of ours, and every
//! query of every panel answered by a real Prometheus that scrapes the exporter on a made-up team.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::time::Duration;

use copilot_exporter::demo::Team;
use copilot_exporter::metrics::reference;
use copilot_exporter::usage::Timestamp;
use serde_json::Value;
use support::exporter::{Exporter, PROGRAM};
use support::prometheus::Prometheus;
use support::tools::{root, tool};
use support::wait::within;

fn dashboards() -> Vec<Value> {
    let folder = root().join("deploy/grafana/dashboards");
    let mut boards: Vec<Value> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            serde_json::from_str(&text).unwrap()
        })
        .collect();
    boards.sort_by_key(|board| board["title"].to_string());
    assert_eq!(boards.len(), 4);
    boards
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// Panels that show data, with their dashboard's title and their own for messages.
fn panels(board: &Value) -> impl Iterator<Item = (String, &Value)> {
    list(board, "panels")
        .iter()
        .filter(|panel| panel["type"] != "row")
        .map(|panel| {
            (
                format!("{} / {}", text(board, "title"), text(panel, "title")),
                panel,
            )
        })
}

#[test]
fn the_files_are_what_the_generator_writes() {
    let folder = root().join("deploy/grafana");
    let copy = tempfile::tempdir().unwrap();
    std::fs::create_dir(copy.path().join("dashboards")).unwrap();
    for entry in std::fs::read_dir(folder.join("generate")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let to = copy.path().join("generate").join(path.file_name().unwrap());
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(path, to).unwrap();
        }
    }
    let status = Command::new("python3")
        .args(["-m", "generate"])
        .current_dir(copy.path())
        .status()
        .unwrap();
    assert!(status.success());
    for entry in std::fs::read_dir(folder.join("dashboards")).unwrap() {
        let name = entry.unwrap().file_name();
        let read = |at: &std::path::Path| std::fs::read(at.join("dashboards").join(&name)).unwrap();
        assert!(
            read(&folder) == read(copy.path()),
            "{name:?} was changed by hand"
        );
    }
}

#[test]
fn every_dashboard_can_be_provisioned_and_imported() {
    let mut uids = BTreeSet::new();
    for board in dashboards() {
        let title = text(&board, "title");
        assert!(
            uids.insert(text(&board, "uid").to_owned()),
            "{title}: its uid is another's"
        );
        assert!(text(&board, "uid").starts_with("copilot-"), "{title}");
        assert!(
            board["id"].is_null() && board["__inputs"].is_null(),
            "{title}"
        );
        assert_eq!(board["schemaVersion"], 39, "{title}");
        assert_eq!(board["editable"], false, "{title}");
        assert!(!text(&board, "description").is_empty(), "{title}");
        assert_eq!(list(&board, "tags"), ["copilot"], "{title}");
        assert_eq!(
            list(&board, "links").len(),
            1,
            "{title} links to the others"
        );
    }
}

#[test]
fn every_data_source_is_the_variable() {
    fn check(title: &str, value: &Value) {
        match value {
            Value::Object(fields) => {
                if let Some(source) = fields.get("datasource") {
                    assert_eq!(source["uid"], "${datasource}", "{title}");
                }
                fields.values().for_each(|field| check(title, field));
            }
            Value::Array(items) => items.iter().for_each(|item| check(title, item)),
            _ => {}
        }
    }
    for board in dashboards() {
        check(text(&board, "title"), &board);
        let first = &list(&board["templating"], "list")[0];
        assert_eq!(
            (text(first, "name"), text(first, "type")),
            ("datasource", "datasource")
        );
        assert_eq!(text(first, "label"), "Data source");
    }
}

#[test]
fn variables_chain_and_match_series_without_the_label() {
    for board in dashboards() {
        let title = text(&board, "title");
        let mut before: Vec<&str> = Vec::new();
        for variable in list(&board["templating"], "list") {
            if text(variable, "type") != "query" {
                continue;
            }
            let name = text(variable, "name");
            let query = text(&variable["query"], "query");
            for earlier in &before {
                assert!(
                    query.contains(&format!("{earlier}=~\"${earlier}\"")),
                    "{title}: {name}"
                );
            }
            assert_eq!(text(variable, "allValue"), ".*", "{title}: {name}");
            assert_eq!(variable["refresh"], 2, "{title}: {name}");
            assert_eq!(variable["multi"], true, "{title}: {name}");
            before.push(name);
        }
        assert!(
            before.starts_with(&["job", "instance"]),
            "{title}: {before:?}"
        );
    }
}

#[test]
fn panels_have_ids_of_their_own_and_do_not_overlap() {
    for board in dashboards() {
        let title = text(&board, "title");
        let mut ids = BTreeSet::new();
        let mut taken: BTreeMap<(u64, u64), &str> = BTreeMap::new();
        for panel in list(&board, "panels") {
            assert!(
                ids.insert(panel["id"].as_u64().unwrap()),
                "{title}: an id is twice"
            );
            let at = |name: &str| panel["gridPos"][name].as_u64().unwrap();
            assert!(
                at("x") + at("w") <= 24,
                "{title}: {} is too wide",
                text(panel, "title")
            );
            for y in at("y")..at("y") + at("h") {
                for x in at("x")..at("x") + at("w") {
                    let other = taken.insert((x, y), text(panel, "title"));
                    assert_eq!(other, None, "{title}: lies under {}", text(panel, "title"));
                }
            }
        }
    }
}

#[test]
fn every_panel_says_what_it_shows() {
    const UNITS: [&str; 8] = [
        "bytes",
        "currencyUSD",
        "locale",
        "none",
        "percentunit",
        "reqps",
        "s",
        "short",
    ];
    for board in dashboards() {
        for (name, panel) in panels(&board) {
            let description = text(panel, "description");
            assert!(
                description.len() > 20 && description.ends_with('.'),
                "{name}: description"
            );
            let defaults = &panel["fieldConfig"]["defaults"];
            assert!(UNITS.contains(&text(defaults, "unit")), "{name}: unit");
            assert!(
                !text(defaults, "noValue").is_empty(),
                "{name}: what to say without data"
            );
            assert!(!list(panel, "targets").is_empty(), "{name}: targets");
        }
    }
}

/// A query of a dashboard.
struct Query<'a> {
    /// The panel, variable or annotation it is from.
    name: String,
    expr: &'a str,
    /// Asked for one moment, not over the time range.
    instant: bool,
}

fn queries(board: &Value) -> Vec<Query<'_>> {
    let query = |name, expr, instant| Query {
        name,
        expr,
        instant,
    };
    let mut found = Vec::new();
    for (name, panel) in panels(board) {
        for target in list(panel, "targets") {
            let name = format!("{name} {}", text(target, "refId"));
            found.push(query(name, text(target, "expr"), target["instant"] == true));
        }
    }
    for annotation in list(&board["annotations"], "list") {
        let name = format!("annotation {}", text(annotation, "name"));
        found.push(query(name, text(annotation, "expr"), false));
    }
    for variable in list(&board["templating"], "list") {
        if let Some(selector) = selector_of(variable) {
            let name = format!("variable {}", text(variable, "name"));
            found.push(query(name, selector, true));
        }
    }
    found
}

/// What a query variable looks for labels in: `label_values(SELECTOR, LABEL)`.
fn selector_of(variable: &Value) -> Option<&str> {
    let query = variable["query"]["query"].as_str()?;
    let (selector, _) = query.strip_prefix("label_values(")?.rsplit_once(", ")?;
    Some(selector)
}

#[test]
fn queries_speak_of_metrics_and_labels_that_exist() {
    // Those that Prometheus, a constant label of the configuration or several homes add.
    let everywhere = [
        "job",
        "instance",
        "user",
        "host",
        "team",
        "le",
        "$by",
        "who",
        "alertname",
        "alertstate",
    ];
    let labels: BTreeSet<&str> = reference()
        .iter()
        .flat_map(|entry| entry.all_labels())
        .chain(everywhere)
        .collect();
    for board in dashboards() {
        for Query { name, expr, .. } in queries(&board) {
            for (metric, matchers) in selectors(expr) {
                if metric == "ALERTS" {
                    continue;
                }
                let entry = reference()
                    .iter()
                    .find(|entry| entry.name == metric.strip_suffix("_bucket").unwrap_or(metric))
                    .unwrap_or_else(|| panic!("{name}: there is no metric {metric}"));
                let known: BTreeSet<&str> = entry.all_labels().chain(everywhere).collect();
                for label in matchers {
                    assert!(
                        known.contains(label),
                        "{name}: {metric} has no label {label}"
                    );
                }
                if !name.starts_with("variable") {
                    assert!(
                        expr.contains(&format!("{metric}{{job=~\"$job\", instance=~\"$instance\"")),
                        "{name}: {metric} is not filtered"
                    );
                }
            }
            for label in grouped_by(expr) {
                assert!(labels.contains(label), "{name}: no label {label}");
            }
        }
    }
}

/// Every family of the catalogue is on some dashboard, or is here with the reason why not.
#[test]
fn no_metric_is_forgotten() {
    const NOT_SHOWN: [&str; 10] = [
        // Of plans that are no longer sold; cost and credits say the same of all.
        "copilot_premium_requests_total",
        // The counters tell tokens and calls for any time range.
        "copilot_window_tokens",
        "copilot_window_calls",
        // Off unless it is asked for: an empty panel for all others.
        "copilot_tool_calls_total",
        // Restarts change no number.
        "copilot_exporter_start_time_seconds",
        "process_start_time_seconds",
        "process_virtual_memory_bytes",
        // For those who look after one exporter; logs tell why.
        "copilot_exporter_otlp_last_success_timestamp_seconds",
        "copilot_exporter_config_last_reload_successful",
        "copilot_exporter_config_last_reload_success_timestamp_seconds",
    ];
    let boards = dashboards();
    let shown: BTreeSet<String> = boards
        .iter()
        .flat_map(queries)
        .flat_map(|query| selectors(query.expr))
        .map(|(metric, _)| metric.strip_suffix("_bucket").unwrap_or(metric).to_owned())
        .collect();
    for entry in reference() {
        assert!(
            shown.contains(entry.name) != NOT_SHOWN.contains(&entry.name),
            "{}: on a dashboard, or excused, but not both",
            entry.name
        );
    }
}

/// What recording rules have made: a rule of that name ships.
#[test]
fn recorded_series_have_their_rules() {
    let folder = root().join("deploy/prometheus/rules");
    let rules = ["recording.yml", "settings.yml"]
        .map(|name| std::fs::read_to_string(folder.join(name)).unwrap())
        .concat();
    let mut found = 0;
    for board in dashboards() {
        for Query { name, expr, .. } in queries(&board) {
            for word in expr.split(|c: char| !c.is_ascii_alphanumeric() && !['_', ':'].contains(&c))
            {
                if word.starts_with(|c: char| c.is_ascii_lowercase()) && word.contains(':') {
                    assert!(
                        rules.contains(&format!("record: {word}\n")),
                        "{name}: no rule records {word}"
                    );
                    found += 1;
                }
            }
        }
    }
    assert!(found > 0);
}

/// The metric names in a query, each with the labels that its selector matches.
fn selectors(query: &str) -> Vec<(&str, Vec<&str>)> {
    let mut found = Vec::new();
    let mut rest = query;
    while let Some(start) = rest.find(|c: char| c.is_ascii_alphabetic() || c == '"' || c == '$') {
        rest = &rest[start..];
        if let Some(quoted) = rest.strip_prefix('"') {
            rest = quoted.split_once('"').map_or("", |(_, behind)| behind);
            continue;
        }
        let length = rest[1..]
            .find(|c: char| !c.is_ascii_alphanumeric() && !['_', ':'].contains(&c))
            .map_or(rest.len(), |end| end + 1);
        let (word, behind) = rest.split_at(length);
        rest = behind;
        let is_metric = ["copilot_", "process_", "ALERTS"]
            .iter()
            .any(|start| word.starts_with(start));
        // A colon is in the names of recording rules only.
        if !is_metric || word.contains(':') {
            continue;
        }
        let inside = behind
            .strip_prefix('{')
            .and_then(|matchers| matchers.split_once('}'))
            .map_or("", |(inside, _)| inside);
        let labels = inside
            .split(',')
            .filter_map(|matcher| matcher.split(['=', '!']).next())
            .map(str::trim)
            .filter(|label| !label.is_empty())
            .collect();
        found.push((word, labels));
        rest = behind.get(inside.len() + 1..).unwrap_or_default();
    }
    found
}

/// The labels in `by (…)`, `on (…)` and `without (…)`.
fn grouped_by(query: &str) -> Vec<&str> {
    ["by (", "on (", "without ("]
        .into_iter()
        .flat_map(|word| query.split(word).skip(1))
        .filter_map(|behind| behind.split_once(')'))
        .flat_map(|(labels, _)| labels.split(','))
        .map(str::trim)
        .filter(|label| !label.is_empty())
        .collect()
}

/// A query as Grafana sends it: every filter on All, the range a week, rates over a minute.
fn filled(query: &str) -> String {
    let mut query = query
        .replace("$__rate_interval", "1m")
        .replace("$__interval", "1h")
        .replace("$__range", "7d")
        .replace("$by", "user");
    for filter in [
        "job", "instance", "user", "provider", "project", "model", "surface",
    ] {
        query = query.replace(&format!("=~\"${filter}\""), "=~\".*\"");
    }
    query
}

/// All values of a range query over the dashboards' week.
fn over_a_week(prometheus: &Prometheus, expr: &str) -> Vec<f64> {
    let now = Timestamp::now().as_secs_f64();
    let week = 7.0 * 86_400.0;
    let path = format!(
        "/api/v1/query_range?query={}&start={}&end={now}&step=3600",
        support::http::encode(expr),
        now - week
    );
    let data = prometheus.ask(&path, expr);
    list(&data, "result")
        .iter()
        .flat_map(|series| list(series, "values"))
        .map(|value| value[1].as_str().unwrap().parse().unwrap())
        .collect()
}

/// Panels that are empty where all is well, or where something is not in use that the demo doesn't have.
const MAY_BE_EMPTY: [&str; 7] = [
    "Copilot / Exporter / Records not understood A",
    "Copilot / Exporter / Records left out on purpose A",
    "Copilot / Exporter / OTLP pushes A",
    "Copilot / Exporter / Estimated tokens, by surface A",
    "Copilot / Team / New models of the last day A",
    "annotation Alerts",
    "annotation Totals began anew",
];

/// Panels that are empty in the first days of a month, which tell nothing of its end.
const MAY_BE_EMPTY_IN_A_YOUNG_MONTH: [&str; 2] = [
    "Copilot / Spend / Forecast for the month A",
    "Copilot / Spend / Team's budget B",
];

/// The recording rules that ship, evaluated at once, with a budget for the month.
fn rules_with_a_budget(folder: &std::path::Path) -> std::path::PathBuf {
    let to = folder.join("rules");
    std::fs::create_dir(&to).unwrap();
    for name in ["recording.yml", "settings.yml"] {
        let from = root().join("deploy/prometheus/rules").join(name);
        let rules = std::fs::read_to_string(from).unwrap();
        let budget = "record: copilot_setting:month_budget_usd\n        expr: ";
        let rules = rules
            .replace(&format!("{budget}\"0\""), &format!("{budget}\"600\""))
            .replace("    interval: 5m\n", "");
        assert_eq!(rules.contains("600"), name == "settings.yml");
        std::fs::write(to.join(name), rules).unwrap();
    }
    to
}

/// The whole road: a made-up team's files → exporter → history and scrapes in a real Prometheus → panels.
#[test]
fn every_query_of_every_panel_has_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let now = Timestamp::now();
    // More than the dashboards' week, so that the last day has days before it.
    let mut team = Team::settle(folder.path(), now, 10).unwrap();
    let homes = team.homes();
    // Two days that begin at different times: one of them is old enough to have a forecast.
    let budget = |zone: &str| {
        format!(
            "[[budgets]]\nname = \"{zone}\"\nusd = 10\nwindow = \"day\"\ntime_zone = \"{zone}\"\n"
        )
    };
    let config = format!(
        "[labels]\nteam = \"demo\"\n[plan]\nname = \"business\"\n{}{}",
        budget("UTC"),
        budget("Pacific/Honolulu")
    );
    let exporter = Exporter::serve(homes.as_ref(), &config);

    let history = Command::new(PROGRAM)
        .args(["history", "--no-state", "--step", "30m", "--home", &homes])
        .args(["--label", "job=copilot", "--label", "team=demo", "--label"])
        .arg(format!("instance=127.0.0.1:{}", exporter.port))
        .output()
        .unwrap();
    assert!(
        history.status.success(),
        "{}",
        String::from_utf8_lossy(&history.stderr)
    );
    let (file, data) = (folder.path().join("history.om"), folder.path().join("data"));
    std::fs::write(&file, history.stdout).unwrap();
    let blocks = Command::new(tool("promtool3"))
        .args([
            "tsdb",
            "create-blocks-from",
            "openmetrics",
            "--max-block-duration=256h",
        ])
        .args([&file, &data])
        .output()
        .unwrap();
    assert!(
        blocks.status.success(),
        "{}",
        String::from_utf8_lossy(&blocks.stderr)
    );

    let config = format!(
        "{}rule_files: ['{}/*.yml']\n",
        Prometheus::scraping(&[exporter.port]),
        rules_with_a_budget(folder.path()).display()
    );
    let prometheus = Prometheus::start_on("prometheus3", &config, Some(&data));
    prometheus.wait_for("count_over_time(up{job='copilot'}[1m]) > 3", |_| true);
    // Calls that scrapes see coming, for what history doesn't hold.
    team.plan_spike(Timestamp(now.0 - 120_000));
    assert!(team.catch_up(Timestamp::now()).unwrap() > 0);

    let month_is_young = jiff::Timestamp::now()
        .to_zoned(jiff::tz::TimeZone::UTC)
        .day()
        <= 2;
    for board in dashboards() {
        for Query {
            name,
            expr,
            instant,
        } in queries(&board)
        {
            let expr = filled(expr);
            let excused = MAY_BE_EMPTY.contains(&name.as_str())
                || month_is_young && MAY_BE_EMPTY_IN_A_YOUNG_MONTH.contains(&name.as_str());
            let answered = || {
                let values = match instant {
                    true => prometheus
                        .query(&expr)
                        .iter()
                        .map(|one| one.value)
                        .collect(),
                    false => over_a_week(&prometheus, &expr),
                };
                // A quantile of no call is no number; a single moment must have one.
                let some = values.iter().any(|value| value.is_finite());
                let all = values.iter().all(|value| value.is_finite());
                (excused || some && (all || !instant)).then_some(())
            };
            within(
                Duration::from_secs(30),
                &format!("{name}: {expr}"),
                answered,
            );
        }
        for variable in list(&board["templating"], "list") {
            let (name, Some(selector)) = (text(variable, "name"), selector_of(variable)) else {
                continue;
            };
            assert_ne!(
                prometheus.label_values(name, &filled(selector)),
                [""; 0],
                "{name}"
            );
        }
    }
}
