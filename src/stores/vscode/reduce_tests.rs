use proptest::prelude::*;

use super::*;
use crate::stores::vscode::journal::{Entry, read_entry};
use crate::stores::vscode::lean::Lean;
use crate::stores::vscode::model::{plain_model_id, split_model_id};
use crate::stores::vscode::session::{SHAPE, Session};
use crate::stores::vscode::skim::Skim;
use crate::stores::vscode::testing::Seen;
use crate::usage::Evidence;

/// Endings that are cut off may stand twice, and separators at every place.
const ADDRESS: &str = r"(https?://|file:///|git@|vscode-remote://wsl%2B)?[a-c.:/\\@ %~é]{0,12}(\.git|\.code-workspace|%20|/|:){0,3}";

proptest! {
    #[test]
    fn a_reduced_text_reads_the_same(text in ADDRESS, more in "\\PC{0,20}") {
        for text in [text.clone(), format!("{text}{more}"), more] {
            let kept = folder(&text);
            prop_assert_eq!(project_of_uri(&kept), project_of_uri(&text), "{} {}", &text, &kept);
            prop_assert_eq!(&folder(&kept), &kept);
            prop_assert!(!kept.trim_end_matches('/').contains('/'));
            let kept = repository(&text);
            let read = Project::of_repository;
            prop_assert_eq!(read(&kept), read(&text), "{} {}", &text, &kept);
            prop_assert_eq!(&repository(&kept), &kept);
            prop_assert!(!kept.trim_end_matches('/').contains(['/', ':']));
            for reduce in [credits, error_code, request_source, extension, presence, plain_model_id] {
                let kept = reduce(&text);
                prop_assert_eq!(&reduce(&kept), &kept);
            }
            prop_assert_eq!(split_model_id(&plain_model_id(&text)), split_model_id(&text));
            prop_assert_eq!(is_copilot(&extension(&text)), is_copilot(&text));
        }
    }
}

#[test]
fn what_is_read_stays() {
    for (reduce, text, want) in [
        (
            folder as fn(&str) -> String,
            "file:///home/u/My%20App",
            "My App",
        ),
        (folder, "/w/all.code-workspace", "all"),
        (
            folder,
            "/w/a.code-workspace.code-workspace",
            "a.code-workspace.code-workspace",
        ),
        (folder, "file:///", "/"),
        (repository, "https://user:word@host/acme/shop.git", "shop"),
        (repository, "git@host:acme/site.git.git", "site.git.git"),
        (credits, "GPT-5.4 • 1.6 credits", "1.6 credits"),
        (credits, "a text about credits", ""),
        (credits, "4111111111111111 credits", ""),
        (error_code, "rateLimited", "ratelimited"),
        (error_code, "something of its own", ""),
        (request_source, "user", "user"),
        (request_source, "an extension", "other"),
        (extension, "GitHub.copilot-chat", "github.copilot"),
        (extension, "ms-toolsai.jupyter", "other"),
        (
            plain_model_id,
            "customendpoint/My Company/demo",
            "customendpoint/demo",
        ),
        (plain_model_id, "copilot/gpt-5.4", "copilot/gpt-5.4"),
    ] {
        assert_eq!(reduce(text), want, "{text}");
    }
}

fn document(text: &str) -> Lean {
    Lean::read(&mut Skim::document(text.as_bytes()), &SHAPE).unwrap()
}

#[test]
fn no_text_of_a_document_is_kept_but_ids_and_names() {
    let members = r#""sessionId":"ID","creationDate":"no","sessionCopilotCredits":"no",
        "repoData":{"remoteUrl":"https://no:no@no/no/repo.git"},
        "workingDirectory":{"external":"file:///no/folder","path":"/no/folder","fsPath":"/no/folder"}"#;
    let request = r#"{"requestId":"ID","timestamp":"no","modelId":"copilot/MODEL","agent":{"extensionId":"no"},
        "modelState":{"value":"no","completedAt":"no"},"completionTokens":"no","modelTotals":["no",
        {"model":"MODEL","inputTokens":"no"}],"requestSource":"no","isSystemInitiated":"no","result":{
        "errorDetails":{"code":"no","isRateLimited":"no"},"details":"no 2 credits no","timings":{"totalElapsed":"no"},
        "metadata":{"resolvedModel":"MODEL","toolCallRounds":["no",{"response":"no"}],"summaries":["no",
        {"toolCallRoundId":"ID","usage":{"prompt_tokens":"no"}}],"claudeSessionId":"no"}}}"#;
    for text in [
        format!(r#"{{{members},"requests":[{request},"no"]}}"#),
        r#"{"workingDirectory":"/no/folder","repoData":"no","requests":"no"}"#.to_owned(),
        r#"{"requests":[{"agent":"no","result":"no","modelState":"no","modelTotals":"no"},
            {"result":{"metadata":"no","timings":"no","errorDetails":"no"}},
            {"result":{"metadata":{"toolCallRounds":"no","summaries":"no"}}}]}"#
            .to_owned(),
    ] {
        let kept = serde_json::to_string(&document(&text)).unwrap();
        assert!(!kept.contains("\"no") && !kept.contains("no "), "{kept}");
        assert!(!kept.contains("no/") && !kept.contains("no@"), "{kept}");
        assert_eq!(document(&kept), document(&text));
    }
}

/// What a program before this one saved has the texts as they were.
#[test]
fn an_earlier_state_reads_the_same_and_loses_its_texts_when_it_is_saved() {
    let line = r#"{"kind":0,"v":{"sessionId":"s","workingDirectory":{"path":"/home/kim/shop"},"requests":[
        {"requestId":"a","completionTokens":5,"result":{"details":"GPT • 2 credits","errorDetails":{"code":"x y"}}}]}}"#
        .replace('\n', " ");
    let saved = format!(
        r#"{{"document":{},"id":"s","more":[]}}"#,
        line.trim_start_matches(r#"{"kind":0,"v":"#)
            .strip_suffix('}')
            .unwrap()
    );
    let tail = r#"{"kind":1,"k":["requests",0,"completionTokens"],"v":9}"#;
    let state = |mut session: Session| {
        let entry = read_entry(&mut Skim::lines(tail.as_bytes()), &SHAPE).unwrap();
        session.apply(entry).unwrap();
        let mut seen = Seen::default();
        session.observe("f", "s", Evidence::JournalRequest, None, &mut seen);
        let saved = serde_json::to_string(&session.save().unwrap()).unwrap();
        assert!(!saved.contains("kim") && !saved.contains("GPT") && !saved.contains("x y"));
        seen.facts()
    };
    let Entry::Initial(document) = read_entry(&mut Skim::lines(line.as_bytes()), &SHAPE).unwrap()
    else {
        panic!("{line}")
    };
    let fresh = state(Session::of(document));
    assert_eq!(fresh.len(), 2);
    assert_eq!(
        state(Session::load(serde_json::from_str(&saved).unwrap())),
        fresh
    );
}
