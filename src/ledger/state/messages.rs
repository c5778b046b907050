//! Statements as protocol buffer messages: small, and readable by later versions that know more fields.
//!
//! Field numbers are never reused. Strings are numbers into the scope's `texts`; 0 is none.

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct StoredStatement {
    /// A place in the scope's `sources`.
    #[prost(uint32, tag = "1")]
    pub(super) source: u32,
    #[prost(fixed64, tag = "2")]
    pub(super) id: u64,
    #[prost(uint32, tag = "3")]
    pub(super) surface: u32,
    /// Set if it differs from the name of the scope that the statement is kept in.
    #[prost(uint32, tag = "4")]
    pub(super) scope: u32,
    #[prost(oneof = "StoredFact", tags = "5, 6, 7, 8, 9, 10, 11")]
    pub(super) fact: Option<StoredFact>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum StoredFact {
    #[prost(message, tag = "5")]
    Call(StoredCall),
    #[prost(message, tag = "6")]
    Turn(StoredTurn),
    #[prost(message, tag = "7")]
    Leg(StoredLeg),
    #[prost(message, tag = "8")]
    Total(StoredTotal),
    #[prost(message, tag = "9")]
    Failure(StoredFailure),
    #[prost(message, tag = "10")]
    Session(StoredSession),
    #[prost(message, tag = "11")]
    Tool(StoredTool),
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct StoredTool {
    #[prost(int64, optional, tag = "1")]
    pub(super) time: Option<i64>,
    #[prost(uint32, tag = "2")]
    pub(super) model: u32,
    #[prost(uint32, tag = "3")]
    pub(super) tool: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct StoredTokens {
    #[prost(uint64, optional, tag = "1")]
    pub(super) input: Option<u64>,
    #[prost(uint64, optional, tag = "2")]
    pub(super) cache_read: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub(super) cache_write: Option<u64>,
    #[prost(uint64, optional, tag = "4")]
    pub(super) output: Option<u64>,
    #[prost(uint64, optional, tag = "5")]
    pub(super) reasoning: Option<u64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct StoredHint {
    #[prost(uint32, tag = "1")]
    pub(super) rank: u32,
    #[prost(uint32, tag = "2")]
    pub(super) project: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct StoredProvider {
    /// 0 is Copilot, else the name of the user's own.
    #[prost(uint32, tag = "1")]
    pub(super) own: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct StoredModelTokens {
    #[prost(uint32, tag = "1")]
    pub(super) model: u32,
    #[prost(message, required, tag = "2")]
    pub(super) tokens: StoredTokens,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct StoredModelProvider {
    #[prost(uint32, tag = "1")]
    pub(super) model: u32,
    #[prost(message, required, tag = "2")]
    pub(super) provider: StoredProvider,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct StoredCall {
    #[prost(uint32, tag = "1")]
    pub(super) evidence: u32,
    #[prost(fixed64, repeated, tag = "2")]
    pub(super) keys: Vec<u64>,
    #[prost(int64, optional, tag = "3")]
    pub(super) time: Option<i64>,
    #[prost(uint32, tag = "4")]
    pub(super) model: u32,
    #[prost(message, optional, tag = "5")]
    pub(super) provider: Option<StoredProvider>,
    #[prost(uint32, tag = "6")]
    pub(super) initiator: u32,
    #[prost(message, required, tag = "7")]
    pub(super) tokens: StoredTokens,
    #[prost(bool, tag = "8")]
    pub(super) estimated: bool,
    #[prost(uint64, optional, tag = "9")]
    pub(super) credits: Option<u64>,
    #[prost(uint64, optional, tag = "10")]
    pub(super) premium: Option<u64>,
    #[prost(uint64, optional, tag = "11")]
    pub(super) duration_ms: Option<u64>,
    #[prost(uint64, optional, tag = "12")]
    pub(super) first_token_ms: Option<u64>,
    #[prost(message, optional, tag = "13")]
    pub(super) project: Option<StoredHint>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct StoredTurn {
    #[prost(uint32, tag = "1")]
    pub(super) evidence: u32,
    #[prost(fixed64, repeated, tag = "2")]
    pub(super) keys: Vec<u64>,
    #[prost(int64, optional, tag = "3")]
    pub(super) start: Option<i64>,
    #[prost(uint32, tag = "4")]
    pub(super) model: u32,
    #[prost(message, optional, tag = "5")]
    pub(super) provider: Option<StoredProvider>,
    #[prost(uint32, tag = "6")]
    pub(super) initiator: u32,
    #[prost(message, required, tag = "7")]
    pub(super) tokens: StoredTokens,
    #[prost(bool, tag = "8")]
    pub(super) estimated: bool,
    #[prost(uint64, optional, tag = "9")]
    pub(super) credits: Option<u64>,
    #[prost(uint64, optional, tag = "10")]
    pub(super) premium: Option<u64>,
    #[prost(uint64, optional, tag = "11")]
    pub(super) duration_ms: Option<u64>,
    #[prost(uint64, optional, tag = "12")]
    pub(super) first_token_ms: Option<u64>,
    #[prost(message, optional, tag = "13")]
    pub(super) project: Option<StoredHint>,
    #[prost(int64, optional, tag = "14")]
    pub(super) end: Option<i64>,
    #[prost(message, repeated, tag = "15")]
    pub(super) per_model: Vec<StoredModelTokens>,
    #[prost(bool, tag = "16")]
    pub(super) lower_bound: bool,
    #[prost(uint32, tag = "17")]
    pub(super) calls: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct StoredLeg {
    #[prost(int64, optional, tag = "1")]
    pub(super) from: Option<i64>,
    #[prost(int64, optional, tag = "2")]
    pub(super) resumed: Option<i64>,
    #[prost(int64, tag = "3")]
    pub(super) to: i64,
    #[prost(int64, optional, tag = "4")]
    pub(super) compacted: Option<i64>,
    #[prost(uint32, tag = "5")]
    pub(super) model: u32,
    #[prost(message, optional, tag = "6")]
    pub(super) provider: Option<StoredProvider>,
    #[prost(uint64, tag = "7")]
    pub(super) calls: u64,
    #[prost(message, required, tag = "8")]
    pub(super) tokens: StoredTokens,
    #[prost(uint64, optional, tag = "9")]
    pub(super) credits: Option<u64>,
    #[prost(uint64, optional, tag = "10")]
    pub(super) premium: Option<u64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct StoredTotal {
    #[prost(int64, optional, tag = "1")]
    pub(super) time: Option<i64>,
    #[prost(uint32, tag = "2")]
    pub(super) model: u32,
    #[prost(message, required, tag = "3")]
    pub(super) tokens: StoredTokens,
    #[prost(uint64, optional, tag = "4")]
    pub(super) credits: Option<u64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct StoredFailure {
    #[prost(uint32, tag = "1")]
    pub(super) evidence: u32,
    #[prost(fixed64, repeated, tag = "2")]
    pub(super) keys: Vec<u64>,
    #[prost(int64, optional, tag = "3")]
    pub(super) time: Option<i64>,
    #[prost(uint32, tag = "4")]
    pub(super) model: u32,
    #[prost(message, optional, tag = "5")]
    pub(super) provider: Option<StoredProvider>,
    #[prost(uint32, tag = "6")]
    pub(super) reason: u32,
    #[prost(message, optional, tag = "7")]
    pub(super) project: Option<StoredHint>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct StoredSession {
    #[prost(int64, optional, tag = "1")]
    pub(super) started: Option<i64>,
    #[prost(message, optional, tag = "2")]
    pub(super) project: Option<StoredHint>,
    #[prost(uint32, tag = "3")]
    pub(super) surface: u32,
    #[prost(uint32, tag = "4")]
    pub(super) model: u32,
    #[prost(message, repeated, tag = "5")]
    pub(super) providers: Vec<StoredModelProvider>,
}
