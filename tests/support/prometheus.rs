//! A real Prometheus, and questions to it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::http::{self, encode};
use super::process::{Process, free_port};
use super::tools::tool;
use super::wait::eventually;

/// One sample of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub labels: BTreeMap<String, String>,
    pub value: f64,
}

/// A Prometheus that runs for a test, with a data folder of its own.
#[derive(Debug)]
pub struct Prometheus {
    process: Process,
    pub port: u16,
}

impl Prometheus {
    /// Starts `program` (`prometheus` or `prometheus3`) with the configuration `config` (YAML).
    pub fn start(program: &str, config: &str) -> Self {
        Self::start_on(program, config, None)
    }

    /// As [`Self::start`], on the data folder `data` (made by `promtool tsdb create-blocks-from`).
    pub fn start_on(program: &str, config: &str, data: Option<&Path>) -> Self {
        let port = free_port();
        let mut process = Process::start(program, tool(program), |folder, command| {
            let file = folder.join("prometheus.yml");
            fs::write(&file, config).expect("to write the configuration");
            let data = data.map_or_else(|| folder.join("data"), Path::to_owned);
            command
                .arg(format!("--config.file={}", file.display()))
                .arg(format!("--storage.tsdb.path={}", data.display()))
                .arg("--storage.tsdb.retention.time=10y")
                .arg(format!("--web.listen-address=127.0.0.1:{port}"));
        });
        process.wait_ready(port, "/-/ready");
        Self { process, port }
    }

    /// A configuration that scrapes the given ports every second, all as job `copilot`.
    pub fn scraping(ports: &[u16]) -> String {
        let targets: Vec<String> = ports
            .iter()
            .map(|port| format!("'127.0.0.1:{port}'"))
            .collect();
        format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n\
             scrape_configs:\n  - job_name: copilot\n    static_configs:\n      - targets: [{}]\n",
            targets.join(", ")
        )
    }

    /// The instant vector (or scalar) that `query` yields now. A query with an error panics.
    pub fn query(&self, query: &str) -> Vec<Sample> {
        samples(self.ask(&format!("/api/v1/query?query={}", encode(query)), query))
    }

    /// The instant vector at `time` (Unix seconds).
    pub fn query_at(&self, query: &str, time: f64) -> Vec<Sample> {
        let path = format!("/api/v1/query?query={}&time={time}", encode(query));
        samples(self.ask(&path, query))
    }

    /// The values of `label` over the series that match `selector`.
    pub fn label_values(&self, label: &str, selector: &str) -> Vec<String> {
        let path = format!("/api/v1/label/{label}/values?match[]={}", encode(selector));
        let data = self.ask(&path, selector);
        let values = data.as_array().expect("a list of values");
        values
            .iter()
            .map(|value| value.as_str().expect("a text").to_owned())
            .collect()
    }

    /// The value of `query` once it has exactly one sample that satisfies `wanted`.
    pub fn wait_for(&self, query: &str, wanted: impl Fn(f64) -> bool) -> f64 {
        eventually(query, || match self.query(query).as_slice() {
            [only] if wanted(only.value) => Some(only.value),
            _ => None,
        })
    }

    /// The `data` of an API answer.
    pub fn ask(&self, path: &str, about: &str) -> serde_json::Value {
        let answer = http::get(self.port, path).expect("Prometheus to answer");
        let mut json = answer.json();
        assert_eq!(json["status"], "success", "{about}: {}", json["error"]);
        json["data"].take()
    }

    pub fn output(&self) -> String {
        self.process.output()
    }
}

fn samples(data: serde_json::Value) -> Vec<Sample> {
    let value = |pair: &serde_json::Value| -> f64 {
        let text = pair[1].as_str().expect("a number as text");
        text.parse().expect("a number")
    };
    if data["resultType"] == "scalar" {
        return vec![Sample {
            labels: BTreeMap::new(),
            value: value(&data["result"]),
        }];
    }
    let results = data["result"].as_array().expect("a vector");
    results
        .iter()
        .map(|result| Sample {
            labels: serde_json::from_value(result["metric"].clone()).expect("labels"),
            value: value(&result["value"]),
        })
        .collect()
}
