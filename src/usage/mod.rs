//! The vocabulary: what a call, its tokens, its money and its labels are. No I/O, and nothing else of
//! the crate is used here.

mod key;
mod labels;
mod measure;
mod money;
mod observation;
mod printable;
mod time;
mod tokens;
mod tool;

pub use key::Key;
pub use labels::{Initiator, Project, ProjectHint, ProjectRank, Provider, Surface};
pub use measure::{FailureReason, Histogram, Measure, Measures};
pub use money::{Credits, PremiumRequests, Usd};
pub use observation::{
    CallFact, Evidence, Fact, FailureFact, LegFact, Observation, SessionFact, ToolFact, TotalFact,
    TurnFact,
};
pub use printable::{is_printable, printable};
pub use time::{Slot, Timestamp};
pub use tokens::{GrossInput, TokenType, Tokens};
pub use tool::Tool;
