//! The peers themselves: whatever else fails, these say whether the tests' own ground is firm.

mod support;

use support::http::Sink;
use support::prometheus::Prometheus;
use support::wait::eventually;
use support::{http, process, tools};

#[test]
fn prometheus_2_scrapes_and_answers() {
    scrapes_and_answers("prometheus");
}

#[test]
fn prometheus_3_scrapes_and_answers() {
    scrapes_and_answers("prometheus3");
}

fn scrapes_and_answers(program: &str) {
    let lonely = Prometheus::start(program, &Prometheus::scraping(&[process::free_port()]));
    let scraper = Prometheus::start(program, &Prometheus::scraping(&[lonely.port]));
    lonely.wait_for("up", |up| up == 0.0);
    scraper.wait_for("up{job='copilot'}", |up| up == 1.0);
    assert_eq!(scraper.label_values("job", "up"), ["copilot"]);
}

#[test]
fn a_sink_hands_over_what_was_posted() {
    let sink = Sink::start();
    http::post(sink.port, "/hook", "text/plain", b"spike").unwrap();
    assert_eq!(eventually("the body", || sink.take()), b"spike");
}

#[test]
fn every_tool_is_there() {
    for name in [
        "alertmanager",
        "amtool",
        "oteltap",
        "promtool",
        "promtool3",
        "rotel",
        "victoria-metrics",
    ] {
        assert!(tools::tool(name).exists(), "{name}");
    }
}
