//! Tools that models call, as a label: a closed set, since a tool that somebody made may bear any name.

use serde::{Deserialize, Serialize};

/// A tool of Copilot's clients, or what stands for all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tool(u16);

/// The tools that clients bring along, by the names that they are called by. A tool's place is its number in
/// ledgers: new ones go to the end, and none is taken out.
const NAMES: [&str; 74] = [
    "other",
    "mcp",
    // Copilot CLI.
    "bash",
    "write_bash",
    "read_bash",
    "stop_bash",
    "list_bash",
    "powershell",
    "write_powershell",
    "read_powershell",
    "stop_powershell",
    "list_powershell",
    "view",
    "create",
    "edit",
    "str_replace_editor",
    "apply_patch",
    "grep",
    "rg",
    "glob",
    "task",
    "read_agent",
    "list_agents",
    "task_complete",
    "report_intent",
    "ask_user",
    "update_todo",
    "exit_plan_mode",
    "web_fetch",
    "web_search",
    "skill",
    "sql",
    "lsp",
    "store_memory",
    "fetch_copilot_cli_documentation",
    // Editors.
    "read_file",
    "list_dir",
    "file_search",
    "grep_search",
    "semantic_search",
    "list_code_usages",
    "search_workspace_symbols",
    "get_errors",
    "get_changed_files",
    "get_search_view_results",
    "get_vscode_api",
    "get_project_setup_info",
    "create_file",
    "create_directory",
    "insert_edit_into_file",
    "replace_string_in_file",
    "multi_replace_string_in_file",
    "create_new_workspace",
    "create_new_jupyter_notebook",
    "edit_notebook_file",
    "run_notebook_cell",
    "copilot_getNotebookSummary",
    "read_notebook_cell_output",
    "run_in_terminal",
    "get_terminal_output",
    "terminal_last_command",
    "terminal_selection",
    "create_and_run_task",
    "run_task",
    "get_task_output",
    "runTests",
    "test_failure",
    "test_search",
    "fetch_webpage",
    "github_repo",
    "open_simple_browser",
    "manage_todo_list",
    "runSubagent",
    "think",
];

impl Tool {
    pub const OTHER: Self = Self(0);
    /// Of a server that somebody connected.
    pub const MCP: Self = Self(1);

    pub fn named(name: &str) -> Self {
        match NAMES.iter().position(|known| *known == name) {
            Some(at) => Self(at as u16),
            None if name.starts_with("mcp_") || name.contains("mcp-server") => Self::MCP,
            None => Self::OTHER,
        }
    }

    pub fn as_str(self) -> &'static str {
        NAMES.get(usize::from(self.0)).copied().unwrap_or(NAMES[0])
    }

    /// The tool's number in ledgers.
    pub fn number(self) -> u32 {
        u32::from(self.0)
    }

    /// `None`: no such tool, as in a damaged file.
    pub fn numbered(number: u32) -> Option<Self> {
        let number = u16::try_from(number).ok()?;
        (usize::from(number) < NAMES.len()).then_some(Self(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_clients_own_tools_are_labels() {
        for (name, want) in [
            ("bash", "bash"),
            ("runSubagent", "runSubagent"),
            ("mcp_jira_get_issue", "mcp"),
            ("github-mcp-server-list_issues", "mcp"),
            ("deploy_secret_project", "other"),
            ("", "other"),
        ] {
            assert_eq!(Tool::named(name).as_str(), want, "{name}");
        }
    }

    /// As they lie in ledgers.
    #[test]
    fn numbers_stay() {
        for (name, number) in [("other", 0), ("mcp", 1), ("bash", 2), ("think", 73)] {
            assert_eq!(Tool::named(name).number(), number, "{name}");
            assert_eq!(Tool::numbered(number), Some(Tool::named(name)));
        }
        assert_eq!(Tool::numbered(NAMES.len() as u32), None);
        let distinct: std::collections::BTreeSet<_> = NAMES.iter().collect();
        assert_eq!(distinct.len(), NAMES.len());
    }
}
