//! Config file, environment and flags → one validated [`Config`].

mod file;
mod load;
mod validate;

pub use file::{
    Budget, BudgetWindow, Config, OtlpConfig, OtlpProtocol, PlanConfig, PlanName, PriceOverride,
    PrivacyConfig, ProjectLabel, ScanConfig, Temporality, WebConfig,
};
pub use load::{ConfigError, ConfigSource, default_path, default_state_dir};
