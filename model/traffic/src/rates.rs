//! How a total is shared among flows.

use plait_model_quantity::Bandwidth;
use plait_model_topology::random::SplitMix64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a total rate is shared among flows: flowgen's distributions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rates {
    /// All alike.
    #[default]
    Same,
    /// In proportion to numbers drawn evenly.
    Random,
    /// In proportion to powers: a few flows carry most, drawn by lot which.
    ///
    /// Choice: the thesis names no exponent; the shares are 1/rank, Zipf's law, which gives the largest of 20 flows
    /// 28 % of all.
    PowerLaw,
}

impl Rates {
    /// The rates of `count` flows, which together are `total`. None is less than one bit per second: the largest gives what others
    /// have too much by that, if it has so much.
    pub fn share(&self, total: Bandwidth, count: usize, random: &mut SplitMix64) -> Vec<Bandwidth> {
        let weights: Vec<u64> = match self {
            Self::Same => vec![1; count],
            Self::Random => (0..count).map(|_| (random.draw() >> 40) + 1).collect(),
            Self::PowerLaw => {
                let mut weights: Vec<u64> = (1..=count as u64).map(|rank| (1 << 40) / rank).collect();
                random.shuffle(&mut weights);
                weights
            }
        };
        let sum: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
        let total = u128::from(total.bits_per_second());
        // Each flow gets what its weight brings the running total to, so that rounding never adds up.
        let (mut before, mut given) = (0u128, 0u128);
        let (mut rates, mut lifted) = (Vec::with_capacity(count), 0u64);
        for weight in weights {
            before += u128::from(weight);
            let reached = total * before / sum;
            let rate = (reached - given) as u64;
            lifted += u64::from(rate == 0);
            rates.push(rate.max(1));
            given = reached;
        }
        if let Some(largest) = rates.iter_mut().max().filter(|largest| **largest > lifted) {
            *largest -= lifted;
        }
        rates.into_iter().map(Bandwidth::from_bits_per_second).collect()
    }
}
