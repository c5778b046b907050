//! All stores, in one list. A new store is one new file and one line here.

use super::{Reader, copilot_cli, jetbrains, visual_studio, vscode, xcode};

/// The label `store`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub enum StoreKind {
    CliEvents,
    CliStore,
    CliOtel,
    Desktop,
    VsCodeChat,
    VsCodeTranscripts,
    VsCodeDebug,
    VsCodeTraces,
    VsCodeOtel,
    JetBrains,
    JetBrainsPartitions,
    VisualStudio,
    Xcode,
}

impl StoreKind {
    pub const ALL: [Self; 13] = [
        Self::CliEvents,
        Self::CliStore,
        Self::CliOtel,
        Self::Desktop,
        Self::VsCodeChat,
        Self::VsCodeTranscripts,
        Self::VsCodeDebug,
        Self::VsCodeTraces,
        Self::VsCodeOtel,
        Self::JetBrains,
        Self::JetBrainsPartitions,
        Self::VisualStudio,
        Self::Xcode,
    ];

    /// The store is a database: how much of it was read is SQLite's affair and not known.
    pub fn is_database(self) -> bool {
        matches!(self, Self::CliStore | Self::Desktop | Self::VsCodeTraces)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::CliEvents => "cli_events",
            Self::CliStore => "cli_store",
            Self::CliOtel => "cli_otel",
            Self::Desktop => "desktop",
            Self::VsCodeChat => "vscode_chat",
            Self::VsCodeTranscripts => "vscode_transcripts",
            Self::VsCodeDebug => "vscode_debug",
            Self::VsCodeTraces => "vscode_traces",
            Self::VsCodeOtel => "vscode_otel",
            Self::JetBrains => "jetbrains",
            Self::JetBrainsPartitions => "jetbrains_partitions",
            Self::VisualStudio => "visual_studio",
            Self::Xcode => "xcode",
        }
    }
}

/// Every reader, in the order in which a pass runs them: events before the CLI's store, so that a row
/// that lands meanwhile is seen as the better record at the next pass and never lost.
pub fn readers() -> Vec<Box<dyn Reader>> {
    vec![
        Box::new(copilot_cli::Events),
        Box::new(copilot_cli::OtelFile),
        Box::new(copilot_cli::Desktop),
        Box::new(copilot_cli::SessionStore),
        Box::new(vscode::ChatSessions),
        Box::new(vscode::Transcripts),
        Box::new(vscode::DebugLogs),
        Box::new(vscode::AgentTraces),
        Box::new(vscode::OtelOutfile),
        Box::new(vscode::SessionStore),
        Box::new(jetbrains::JetBrains),
        Box::new(jetbrains::Partitions),
        Box::new(visual_studio::VisualStudio),
        Box::new(xcode::Xcode),
    ]
}
