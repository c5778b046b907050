//! Visual Studio's traces: OTLP envelopes, line by line, in which every value may be written as text. One
//! conversation spans several files, and files overlap: spans are told apart by their own ids.

use std::path::{Path, PathBuf};

use crate::stores::{
    Cursor, Discovery, Home, Os, Reader, Reason, Sink, Source, StoreError, StoreKind, files, otel,
};
use crate::usage::Surface;

const TRACES: &str = "VSGitHubCopilotLogs/traces";

/// The reader of the traces.
#[derive(Debug)]
pub(super) struct VisualStudio;

impl Reader for VisualStudio {
    fn kind(&self) -> StoreKind {
        StoreKind::VisualStudio
    }

    fn discover(&self, home: &Home) -> Discovery {
        let mut discovery = Discovery::default();
        for root in roots(home) {
            let mut problem = |path: &Path, error| {
                let error = StoreError::new(path, Reason::Io(error));
                discovery.problems.push(error);
            };
            let found = files::walk(&root, &root, 0, &mut problem).into_iter();
            let traces = found.filter(|path| {
                path.to_string_lossy()
                    .ends_with("_VSGitHubCopilot_traces.jsonl")
            });
            discovery.sources.extend(traces.map(Source::file));
            discovery.looked_at.push(root);
        }
        discovery
    }

    fn read(
        &self,
        home: &Home,
        source: &Source,
        cursor: &Cursor,
        sink: &mut dyn Sink,
    ) -> Result<Cursor, StoreError> {
        let surface = Surface::VisualStudio;
        otel::read_file(&home.dir, &source.path, cursor, surface, sink)
    }
}

/// Below the user's folder for temporary files.
fn roots(home: &Home) -> Vec<PathBuf> {
    let by_rule = || home.dir.join("AppData/Local/Temp");
    let folders = match home.os {
        _ if !home.is_own() => vec![by_rule()],
        Os::Windows => {
            let local = home
                .var("LOCALAPPDATA")
                .map(|dir| Path::new(dir).join("Temp"));
            let named = home.var("TEMP").map(PathBuf::from);
            std::iter::once(local.unwrap_or_else(by_rule))
                .chain(named)
                .collect()
        }
        Os::Linux | Os::MacOs => Vec::new(),
    };
    let mut roots: Vec<PathBuf> = folders.iter().map(|dir| dir.join(TRACES)).collect();
    roots.dedup();
    roots
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stores::testing::{Kept, classes};
    use crate::usage::{Observation, Timestamp};
    use std::collections::BTreeSet;
    use std::fs;

    const TRACE: &str = r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"vs-copilot"}}]},"scopeSpans":[{"spans":[{"traceId":"00000000000000000000000000000c01","spanId":"00000000000000d1","name":"chat gpt-5.4","startTimeUnixNano":"1790000000000000000","endTimeUnixNano":"1790000003000000000","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},{"key":"gen_ai.response.model","value":{"stringValue":"gpt-5.4"}},{"key":"gen_ai.usage.input_tokens","value":{"stringValue":"8100"}},{"key":"gen_ai.usage.cache_read.input_tokens","value":{"stringValue":"7000"}},{"key":"gen_ai.usage.output_tokens","value":{"stringValue":"150"}}]},{"traceId":"00000000000000000000000000000c01","spanId":"00000000000000d0","name":"invoke_agent","startTimeUnixNano":"1790000000000000000","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"invoke_agent"}},{"key":"gen_ai.usage.input_tokens","value":{"stringValue":"8100"}}]}]}]}]}"#;

    fn read(files: &[(&str, &str)]) -> Vec<Observation> {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("AppData/Local/Temp").join(TRACES);
        fs::create_dir_all(&folder).unwrap();
        for (name, lines) in files {
            fs::write(folder.join(name), lines).unwrap();
        }
        let home = Home {
            dir: dir.path().to_owned(),
            os: Os::Windows,
            ..Home::default()
        };
        let mut kept = Kept::default();
        for source in VisualStudio.discover(&home).sources {
            let none = Cursor::default();
            VisualStudio.read(&home, &source, &none, &mut kept).unwrap();
        }
        assert_eq!(kept.parse_errors, [""; 0]);
        kept.observations
    }

    fn calls(observations: Vec<Observation>) -> Kept {
        Kept {
            observations,
            ..Kept::default()
        }
    }

    #[test]
    fn numbers_in_texts_are_numbers_and_roll_ups_no_calls() {
        let trace = format!("{TRACE}\n");
        let observations = read(&[
            ("1_VSGitHubCopilot_traces.jsonl", &trace),
            ("other.jsonl", &trace),
        ]);
        assert!(
            observations
                .iter()
                .all(|o| o.surface == Surface::VisualStudio)
        );
        let kept = calls(observations);
        let [call] = kept.calls()[..] else {
            panic!("{:?}", kept.calls());
        };
        let want = [Some(1_100), Some(7_000), Some(0), Some(150)];
        assert_eq!(classes(&call.tokens), want);
        assert_eq!(call.model.as_deref(), Some("gpt-5.4"));
        assert_eq!(call.time, Some(Timestamp(1_790_000_000_000)));
    }

    #[test]
    fn a_conversation_over_overlapping_files_counts_each_span_once() {
        let second = TRACE.replace("00000000000000d1", "00000000000000d2");
        let (first, both) = (format!("{TRACE}\n"), format!("{TRACE}\n{second}\n"));
        let kept = calls(read(&[
            ("1_VSGitHubCopilot_traces.jsonl", &first),
            ("2_VSGitHubCopilot_traces.jsonl", &both),
        ]));
        assert_eq!(kept.calls().len(), 3);
        let ids: BTreeSet<_> = kept.observations.iter().map(|o| o.id).collect();
        assert_eq!(ids.len(), 2, "the statement of the shared span is the same");
    }

    #[test]
    fn traces_lie_in_the_temporary_folder_of_windows() {
        let roots = |os: Os, env: &[(&str, &str)]| {
            let home = Home {
                dir: PathBuf::from("/u"),
                os,
                env: env
                    .iter()
                    .map(|&(name, value)| (name.to_owned(), value.to_owned()))
                    .collect(),
                ..Home::default()
            };
            let roots = super::roots(&home).into_iter();
            let temp = roots.map(|root| root.ancestors().nth(2).unwrap().display().to_string());
            temp.collect::<Vec<_>>()
        };
        assert_eq!(roots(Os::Linux, &[("HOME", "/u")]), [""; 0]);
        assert_eq!(roots(Os::Linux, &[]), ["/u/AppData/Local/Temp"], "a copy");
        let own = [("LOCALAPPDATA", "/l"), ("TEMP", "/l/Temp")];
        assert_eq!(roots(Os::Windows, &own), ["/l/Temp"]);
        let own = [("LOCALAPPDATA", "/l"), ("TEMP", "/t")];
        assert_eq!(roots(Os::Windows, &own), ["/l/Temp", "/t"]);
    }
}
