//! Config file, environment and flags → one validated [`Config`].

mod file;

pub use file::{
    Budget, BudgetWindow, Config, OtlpConfig, OtlpProtocol, PlanConfig, PlanName, PriceOverride,
    PrivacyConfig, ProjectLabel, ScanConfig, Temporality, WebConfig,
};
