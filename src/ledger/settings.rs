//! The part of the configuration that decides what is counted and shown.

use std::time::Duration;

use jiff::tz::TimeZone;

use super::budget::Budget;
use super::window;
use crate::config::{Config, ProjectLabel};
use crate::pricing::{self, Catalogue, CatalogueError};
use crate::usage::Credits;

/// What the ledger needs of the configuration.
#[derive(Debug, Clone)]
pub struct Settings {
    pub catalogue: Catalogue,
    pub time_zone: TimeZone,
    pub project_label: ProjectLabel,
    pub max_projects: usize,
    pub zero_hold: Duration,
    pub budgets: Vec<Budget>,
    pub plan_allowance: Option<Credits>,
    /// The plan still bills premium requests.
    pub premium_requests: bool,
}

impl Settings {
    /// # Errors
    /// Names the entry of the price table that can't be used.
    pub fn new(config: &Config) -> Result<Self, CatalogueError> {
        let catalogue = Catalogue::new(&config.prices, &config.model_aliases)?;
        let time_zone = window::zone(config.time_zone.as_deref());
        let budgets = config
            .budgets
            .iter()
            .map(|budget| Budget::new(budget, &time_zone, &catalogue))
            .collect();
        Ok(Self {
            catalogue,
            time_zone,
            project_label: config.privacy.project,
            max_projects: config.max_projects,
            zero_hold: Duration::from_secs(config.scan.zero_hold_seconds),
            budgets,
            plan_allowance: pricing::monthly_credits(&config.plan),
            premium_requests: config.plan.premium_requests,
        })
    }
}
