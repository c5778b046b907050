//! Model names and what tokens cost on the day of the call.

mod catalogue;
mod names;
mod plan;
mod premium;
mod rates;
mod shipped;
#[cfg(test)]
mod tests;
mod vendors;

pub use catalogue::{Catalogue, CatalogueError};
pub use names::ModelId;
pub use plan::monthly_credits;
pub use premium::{CREDITS_BEGIN, premium_requests};
pub use rates::Rates;
pub use vendors::vendor;
