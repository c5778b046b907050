//! The tools that an `assistant.message` asks for: the CLI's event logs and VS Code's transcripts write them
//! alike (formats, copilot-cli.md §2, vscode.md §4).

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::{Text, filled, lenient};
use crate::usage::Tool;

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    data: Option<Message<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    tool_requests: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    tool_call_id: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    name: Option<Text<'a>>,
}

/// Identity within the message, and tool, of each request on `line`. What is no request is left out.
pub(crate) fn tool_requests(line: &[u8]) -> Vec<(String, Tool)> {
    let Ok(Event { data: Some(data) }) = serde_json::from_slice(line) else {
        return Vec::new();
    };
    let requests = data.tool_requests.unwrap_or_default();
    let requests = requests.iter().enumerate();
    requests
        .filter_map(|(at, raw)| {
            let request: Request<'_> = serde_json::from_str(raw.get()).ok()?;
            let tool = Tool::named(filled(&request.name)?);
            let id = filled(&request.tool_call_id).map_or_else(|| at.to_string(), str::to_owned);
            Some((id, tool))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edge_007_odd_requests_are_left_out() {
        for (requests, want) in [
            (
                r#"[{"toolCallId":"a","name":"bash"},{"name":"view"}]"#,
                vec!["bash", "view"],
            ),
            (
                r#"[null,{"name":5},{"name":"deploy_to_acme"}]"#,
                vec!["other"],
            ),
            (r#""text""#, vec![]),
            ("null", vec![]),
        ] {
            let line =
                format!(r#"{{"type":"assistant.message","data":{{"toolRequests":{requests}}}}}"#);
            let tools = tool_requests(line.as_bytes());
            let names: Vec<_> = tools.iter().map(|(_, tool)| tool.as_str()).collect();
            assert_eq!(names, want, "{requests}");
        }
        assert!(tool_requests(b"{").is_empty());
    }
}
