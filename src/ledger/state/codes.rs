//! Stable numbers for what is stored: they outlive a reordering of the enums. A number is never reused.

use crate::ledger::labels::Kind;
use crate::stores::StoreKind;
use crate::usage::{
    Evidence, FailureReason, Histogram, Initiator, Measure, ProjectRank, Surface, TokenType, Tool,
};

/// A value with a stable number.
pub(super) trait Code: Sized {
    fn code(self) -> u32;
    /// `None`: no such number, as in a damaged file.
    fn of(code: u32) -> Option<Self>;
}

macro_rules! codes {
    ($type:ident: $($variant:ident = $code:literal),+ $(,)?) => {
        impl Code for $type {
            fn code(self) -> u32 {
                match self {
                    $(Self::$variant => $code,)+
                }
            }

            fn of(code: u32) -> Option<Self> {
                match code {
                    $($code => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

codes!(Surface: Cli = 1, Desktop = 2, VsCode = 3, JetBrains = 4, VisualStudio = 5, Xcode = 6);

codes!(Initiator: Unknown = 0, User = 1, Agent = 2, Subagent = 3, Compaction = 4);

codes!(TokenType: Input = 0, CacheRead = 1, CacheWrite = 2, Output = 3);

codes!(Histogram: Duration = 0, TimeToFirstToken = 1);

codes!(ProjectRank: Folder = 1, GitRoot = 2, Workspace = 3, Repository = 4);

codes!(Kind: Project = 1, Model = 2, Provider = 3);

codes!(FailureReason:
    Other = 0,
    Auth = 1,
    RateLimit = 2,
    BadRequest = 3,
    Server = 4,
    Network = 5,
    Cancelled = 6,
);

codes!(Evidence:
    Salvage = 1,
    Partition = 2,
    Nitrite = 3,
    TranscriptMessage = 4,
    Message = 5,
    FlatRequest = 6,
    JournalRequest = 7,
    TranscriptUsage = 8,
    Span = 9,
    UsageRecord = 10,
    StoreRow = 11,
    LogRecord = 12,
);

codes!(StoreKind:
    CliEvents = 1,
    CliStore = 2,
    CliOtel = 3,
    Desktop = 4,
    VsCodeChat = 5,
    VsCodeTranscripts = 6,
    VsCodeDebug = 7,
    VsCodeTraces = 8,
    VsCodeOtel = 9,
    JetBrains = 10,
    JetBrainsPartitions = 11,
    VisualStudio = 12,
    Xcode = 13,
);

/// Tools have 1,024 numbers from here on; other measures have 32 for each kind.
const FIRST_TOOL: u32 = 1_024;
const TOOLS: u32 = 1_024;

/// A measure's number is that of its kind, in steps of 32, plus that of its label.
impl Code for Measure {
    fn code(self) -> u32 {
        let (kind, label) = match self {
            Self::Calls(initiator) => (1, initiator.code()),
            Self::Tokens(class) => (2, class.code()),
            Self::EstimatedTokens(class) => (3, class.code()),
            Self::Reasoning => (4, 0),
            Self::CostReported => (5, 0),
            Self::CostListPrice => (5, 1),
            Self::Credits => (6, 0),
            Self::PremiumRequests => (7, 0),
            Self::UnpricedCalls => (8, 0),
            Self::PartialCalls => (9, 0),
            Self::Failures(reason) => (10, reason.code()),
            Self::Sessions => (11, 0),
            Self::HistogramSum(histogram) => (12, histogram.code()),
            Self::Bucket(Histogram::Duration, bucket) => (13, u32::from(bucket)),
            Self::Bucket(Histogram::TimeToFirstToken, bucket) => (14, u32::from(bucket)),
            Self::ToolCalls(tool) => return FIRST_TOOL + tool.number(),
        };
        kind * 32 + label
    }

    fn of(code: u32) -> Option<Self> {
        if (FIRST_TOOL..FIRST_TOOL + TOOLS).contains(&code) {
            return Tool::numbered(code - FIRST_TOOL).map(Self::ToolCalls);
        }
        let label = code % 32;
        let bucket = || {
            u8::try_from(label)
                .ok()
                .filter(|&bucket| usize::from(bucket) <= Histogram::BOUNDS_MILLIS.len())
        };
        Some(match (code / 32, label) {
            (1, _) => Self::Calls(Initiator::of(label)?),
            (2, _) => Self::Tokens(TokenType::of(label)?),
            (3, _) => Self::EstimatedTokens(TokenType::of(label)?),
            (4, 0) => Self::Reasoning,
            (5, 0) => Self::CostReported,
            (5, 1) => Self::CostListPrice,
            (6, 0) => Self::Credits,
            (7, 0) => Self::PremiumRequests,
            (8, 0) => Self::UnpricedCalls,
            (9, 0) => Self::PartialCalls,
            (10, _) => Self::Failures(FailureReason::of(label)?),
            (11, 0) => Self::Sessions,
            (12, _) => Self::HistogramSum(Histogram::of(label)?),
            (13, _) => Self::Bucket(Histogram::Duration, bucket()?),
            (14, _) => Self::Bucket(Histogram::TimeToFirstToken, bucket()?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers as they lie in released ledgers.
    #[test]
    fn released_numbers_of_measures() {
        for (measure, code) in [
            (Measure::Calls(Initiator::Unknown), 32),
            (Measure::Calls(Initiator::Compaction), 36),
            (Measure::Tokens(TokenType::Input), 64),
            (Measure::Tokens(TokenType::Output), 67),
            (Measure::EstimatedTokens(TokenType::Output), 99),
            (Measure::Reasoning, 128),
            (Measure::CostReported, 160),
            (Measure::CostListPrice, 161),
            (Measure::Credits, 192),
            (Measure::PremiumRequests, 224),
            (Measure::UnpricedCalls, 256),
            (Measure::PartialCalls, 288),
            (Measure::Failures(FailureReason::Cancelled), 326),
            (Measure::Sessions, 352),
            (Measure::HistogramSum(Histogram::TimeToFirstToken), 385),
            (Measure::Bucket(Histogram::Duration, 0), 416),
            (Measure::Bucket(Histogram::TimeToFirstToken, 11), 459),
            (Measure::ToolCalls(Tool::MCP), 1_025),
        ] {
            assert_eq!(measure.code(), code, "{measure:?}");
        }
    }

    #[test]
    fn every_number_leads_back() {
        let mut known = 0;
        for code in 0..1_024 {
            if let Some(measure) = Measure::of(code) {
                assert_eq!(measure.code(), code);
                known += 1;
            }
        }
        let labels = Initiator::ALL.len() + FailureReason::ALL.len() + 2 * TokenType::ALL.len();
        let buckets = 2 * (Histogram::BOUNDS_MILLIS.len() + 2);
        assert_eq!(known, labels + buckets + 8);
        assert!(
            StoreKind::ALL
                .iter()
                .all(|&kind| StoreKind::of(kind.code()) == Some(kind))
        );
        assert!(
            Surface::ALL
                .iter()
                .all(|&surface| Surface::of(surface.code()) == Some(surface))
        );
    }
}
