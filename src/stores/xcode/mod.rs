//! The logs of Copilot for Xcode: text, with the token counts of each answer and, on lines nearby, the
//! model of the request. No file of a real installation was available: names of figures are taken in every
//! spelling, and a line that doesn't have both a prompt and a completion is none of theirs.

mod line;

use std::collections::VecDeque;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::stores::lines::Lines;
use crate::stores::{
    Cursor, Discovery, Home, Os, Reader, Reason, Sink, Source, StoreError, StoreKind, files,
};
use crate::usage::{
    CallFact, Evidence, Fact, GrossInput, Initiator, Key, Observation, Surface, TokenType,
};
use line::{Line, Usage};

const VERSION: u32 = 1;

/// How many lines back the model of a request is looked for.
const NEARBY: u64 = 50;
const MOST_MODELS: usize = 32;

/// The reader of the logs.
#[derive(Debug)]
pub(super) struct Xcode;

impl Reader for Xcode {
    fn kind(&self) -> StoreKind {
        StoreKind::Xcode
    }

    fn discover(&self, home: &Home) -> Discovery {
        let root = home.dir.join("Library/Logs/GitHubCopilot");
        if home.is_own() && home.os != Os::MacOs {
            return Discovery::default();
        }
        let mut discovery = Discovery::default();
        let mut problem = |path: &Path, error| {
            let error = StoreError::new(path, Reason::Io(error));
            discovery.problems.push(error);
        };
        let found = files::walk(&root, &root, 0, &mut problem).into_iter();
        let logs = found.filter(|path| path.extension().is_some_and(|end| end == "log"));
        discovery.sources = logs.map(Source::file).collect();
        discovery.looked_at.push(root);
        discovery
    }

    fn read(
        &self,
        home: &Home,
        source: &Source,
        cursor: &Cursor,
        sink: &mut dyn Sink,
    ) -> Result<Cursor, StoreError> {
        let (mut lines, mut state) =
            Lines::open::<State>(&home.dir, &source.path, cursor, VERSION)?;
        while let Some(line) = lines.next(sink)? {
            let place = format!("{}:{}", source.path.display(), line.offset);
            state.line(Line::read(line.bytes), line.number, &place, sink);
        }
        Ok(lines.cursor(&state))
    }
}

/// The models of the last lines that named one.
#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    models: VecDeque<Named>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Named {
    line: u64,
    request: Option<String>,
    model: String,
}

impl State {
    fn line(&mut self, line: Line<'_>, number: u64, place: &str, sink: &mut dyn Sink) {
        if let Some(model) = line.model {
            self.models.push_back(Named {
                line: number,
                request: line.request.map(str::to_owned),
                model: model.to_owned(),
            });
            if self.models.len() > MOST_MODELS {
                self.models.pop_front();
            }
        }
        let Some(usage) = line.usage else {
            return;
        };
        let model = self.model(line.request, number).map(str::to_owned);
        let id = identity(&line, &usage, model.as_deref(), place);
        let (tokens, odd) = GrossInput(usage.prompt).split(usage.cached, None);
        if odd {
            sink.parse_error("cache_above_input");
        }
        let call = CallFact {
            evidence: Evidence::Span,
            keys: vec![id],
            time: line.time,
            model,
            provider: None,
            initiator: Initiator::Unknown,
            tokens: tokens.with(TokenType::Output, Some(usage.completion)),
            estimated: false,
            credits: None,
            premium: None,
            duration_ms: None,
            first_token_ms: None,
            project: None,
        };
        sink.observe(Observation {
            scope: Observation::lone_scope(id),
            id,
            surface: Surface::Xcode,
            fact: Fact::Call(call),
        });
    }

    /// The model of the request, where lines name requests, else the last one nearby.
    fn model(&self, request: Option<&str>, number: u64) -> Option<&str> {
        let newest_first = || self.models.iter().rev();
        let near = |named: &&Named| named.line + NEARBY >= number;
        let same = |named: &&Named| request.is_some() && named.request.as_deref() == request;
        let unnamed = |named: &&Named| request.is_none() || named.request.is_none();
        newest_first()
            .find(same)
            .or_else(|| newest_first().filter(near).find(unnamed))
            .map(|named| named.model.as_str())
    }
}

/// A rotated copy of a log has the same times and figures; only a line without a time is where it is.
fn identity(line: &Line<'_>, usage: &Usage, model: Option<&str>, place: &str) -> Key {
    let time = line.time.map(|time| time.0.to_string());
    let figures = format!("{}/{:?}/{}", usage.prompt, usage.cached, usage.completion);
    let stamp = match (line.request, &time) {
        (Some(request), _) => request,
        (None, Some(time)) => time,
        (None, None) => place,
    };
    let time = time.as_deref().unwrap_or_default();
    Key::of("xcode", &[stamp, time, &figures, model.unwrap_or_default()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stores::testing::{Kept, classes};
    use std::fs;

    fn read(files: &[(&str, &str)]) -> Kept {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("Library/Logs/GitHubCopilot");
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in files {
            fs::write(folder.join(name), text).unwrap();
        }
        let home = Home {
            dir: dir.path().to_owned(),
            os: Os::MacOs,
            ..Home::default()
        };
        let mut kept = Kept::default();
        for source in Xcode.discover(&home).sources {
            let none = Cursor::default();
            Xcode.read(&home, &source, &none, &mut kept).unwrap();
        }
        kept
    }

    const LOG: &str = "\
2026-08-07T17:56:38.100Z [info] request started, model: claude-sonnet-4.5
2026-08-07T17:56:40.000Z [info] usage prompt_tokens=5000 completion_tokens=80 cached_tokens=4200
2026-08-07T17:57:00.000Z [info] {\"model\":\"gpt-4.1\",\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":7}}
";

    #[test]
    fn the_prompt_is_gross_and_the_model_that_of_a_line_nearby() {
        let kept = read(&[("a.log", LOG), ("notes.txt", LOG)]);
        let calls = kept.calls();
        let told: Vec<_> = calls
            .iter()
            .map(|call| (classes(&call.tokens), call.model.as_deref()))
            .collect();
        assert_eq!(
            told,
            [
                (
                    [Some(800), Some(4_200), None, Some(80)],
                    Some("claude-sonnet-4.5")
                ),
                ([Some(100), None, None, Some(7)], Some("gpt-4.1")),
            ]
        );
        assert_eq!(calls[0].time.map(|t| t.0), Some(1_786_125_400_000));
    }

    #[test]
    fn a_rotated_copy_states_the_same() {
        let kept = read(&[("a.1.log", LOG), ("a.log", LOG)]);
        let ids: std::collections::BTreeSet<_> = kept.observations.iter().map(|o| o.id).collect();
        assert_eq!((kept.observations.len(), ids.len()), (4, 2));
    }

    #[test]
    fn lines_without_a_time_are_where_they_are() {
        let line = "prompt tokens: 10, completion tokens: 2\n";
        let kept = read(&[("a.log", &line.repeat(2)), ("b.log", line)]);
        let ids: std::collections::BTreeSet<_> = kept.observations.iter().map(|o| o.id).collect();
        assert_eq!(ids.len(), 3);
    }

    #[test]
    fn requests_that_run_at_once_keep_their_own_models() {
        let log = "\
requestId=11111111-aaaa model=gpt-4.1
requestId=22222222-bbbb model=o3-mini
requestId=11111111-aaaa promptTokens=10 completionTokens=1
requestId=22222222-bbbb promptTokens=20 completionTokens=2
";
        let kept = read(&[("a.log", log)]);
        let models: Vec<_> = kept
            .calls()
            .iter()
            .map(|call| call.model.as_deref())
            .collect();
        assert_eq!(models, [Some("gpt-4.1"), Some("o3-mini")]);
    }

    #[test]
    fn more_cached_than_prompted_is_kept_and_told() {
        let kept = read(&[(
            "a.log",
            "prompt_tokens=10 completion_tokens=1 cached_tokens=20\n",
        )]);
        assert_eq!(
            classes(&kept.calls()[0].tokens),
            [Some(10), Some(20), None, Some(1)]
        );
        assert_eq!(kept.parse_errors, ["cache_above_input"]);
    }
}
