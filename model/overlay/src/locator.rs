//! Where a node is in the underlay.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// The weight of a locator that says none. Choice: that of the paper's authors.
pub const DEFAULT_WEIGHT: Weight = Weight(50);

/// A node's locators with their weights. Of the flows to it each locator gets its weight's share.
pub type Locators = BTreeMap<IpAddr, Weight>;

/// A locator's weight, from 1 to 255.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Weight(u8);

impl Weight {
    /// The number.
    pub fn get(self) -> u8 {
        self.0
    }
}

impl Default for Weight {
    fn default() -> Self {
        DEFAULT_WEIGHT
    }
}

impl TryFrom<u8> for Weight {
    type Error = NoWeight;

    fn try_from(number: u8) -> Result<Self, NoWeight> {
        if number == 0 { Err(NoWeight) } else { Ok(Self(number)) }
    }
}

impl From<Weight> for u8 {
    fn from(weight: Weight) -> u8 {
        weight.0
    }
}

impl FromStr for Weight {
    type Err = NoWeight;

    fn from_str(text: &str) -> Result<Self, NoWeight> {
        text.parse::<u8>().map_err(|_| NoWeight)?.try_into()
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A number that is no weight: a locator that nothing is sent to is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a weight is a number from 1 to 255")]
pub struct NoWeight;
