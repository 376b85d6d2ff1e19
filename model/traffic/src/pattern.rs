//! Who sends to whom.

use plait_model_topology::random::SplitMix64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Who sends to whom, of `n` hosts. Nobody sends to itself.
///
/// Written `random`, `stride(4)`, `permutation`, `incast(0)`, `one_to_all(0)`, `all_to_all`, `pair(0,5)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum Pattern {
    /// Each flow from a host in turn to one drawn by lot: host i sends flows i, i + n and so on. Several may draw the same.
    Random,
    /// From host x to host (x + i) mod n, as of Al-Fares et al. (NSDI 2010).
    Stride(usize),
    /// Each host sends to one other and receives from one other, drawn by lot.
    Permutation,
    /// All others to one host.
    Incast(usize),
    /// One host to all others: many flows of one sender to many hosts.
    OneToAll(usize),
    /// Every host to every other.
    AllToAll,
    /// One host to another: flowgen's many flows between two.
    Pair(usize, usize),
}

/// A pattern that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadPattern {
    /// A text that is none.
    #[error(
        "`{0}` is no pattern: write `random`, `stride(4)`, `permutation`, `incast(0)`, `one_to_all(0)`, \
         `all_to_all` or `pair(0,1)`"
    )]
    Unknown(String),
    /// Fewer than two hosts.
    #[error("{0} hosts send nothing to each other: give at least 2")]
    TooFew(usize),
    /// A host that is not there.
    #[error("there is no host {host} among {count}: they count from 0")]
    NoHost {
        /// The number.
        host: usize,
        /// How many there are.
        count: usize,
    },
    /// A host that would send to itself.
    #[error("with {count} hosts `{pattern}` would have hosts send to themselves: choose another number")]
    Itself {
        /// The pattern.
        pattern: String,
        /// How many hosts there are.
        count: usize,
    },
}

impl Pattern {
    /// The pairs of sender and receiver of one round of the pattern: `n` of them, `n - 1` for incast and one-to-all,
    /// `n (n - 1)` for all-to-all, one for a pair. More flows go round again; of [`Pattern::Random`] each round is drawn
    /// anew.
    ///
    /// # Errors
    /// What cannot be with so many hosts.
    pub fn round(&self, hosts: usize, random: &mut SplitMix64) -> Result<Vec<(usize, usize)>, BadPattern> {
        if hosts < 2 {
            return Err(BadPattern::TooFew(hosts));
        }
        let known = |host: usize| match host < hosts {
            true => Ok(host),
            false => Err(BadPattern::NoHost { host, count: hosts }),
        };
        let itself = || BadPattern::Itself { pattern: self.to_string(), count: hosts };
        Ok(match *self {
            Self::Random => {
                let other = |from: usize, draw: usize| if draw >= from { draw + 1 } else { draw };
                (0..hosts).map(|from| (from, other(from, random.below(hosts - 1)))).collect()
            }
            Self::Stride(step) if step % hosts == 0 => return Err(itself()),
            Self::Stride(step) => (0..hosts).map(|from| (from, (from + step % hosts) % hosts)).collect(),
            Self::Permutation => {
                // One circle through all hosts, drawn by lot (Sattolo 1986): nobody can get itself.
                let mut circle: Vec<usize> = (0..hosts).collect();
                random.shuffle(&mut circle);
                let mut pairs: Vec<(usize, usize)> =
                    (0..hosts).map(|at| (circle[at], circle[(at + 1) % hosts])).collect();
                pairs.sort_unstable();
                pairs
            }
            Self::Incast(to) => {
                let to = known(to)?;
                (0..hosts).filter(|from| *from != to).map(|from| (from, to)).collect()
            }
            Self::OneToAll(from) => {
                let from = known(from)?;
                (0..hosts).filter(|to| *to != from).map(|to| (from, to)).collect()
            }
            Self::AllToAll => (0..hosts)
                .flat_map(|from| (0..hosts).filter(move |to| *to != from).map(move |to| (from, to)))
                .collect(),
            Self::Pair(from, to) if from == to => {
                known(from)?;
                return Err(itself());
            }
            Self::Pair(from, to) => vec![(known(from)?, known(to)?)],
        })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random => f.write_str("random"),
            Self::Stride(step) => write!(f, "stride({step})"),
            Self::Permutation => f.write_str("permutation"),
            Self::Incast(to) => write!(f, "incast({to})"),
            Self::OneToAll(from) => write!(f, "one_to_all({from})"),
            Self::AllToAll => f.write_str("all_to_all"),
            Self::Pair(from, to) => write!(f, "pair({from},{to})"),
        }
    }
}

impl FromStr for Pattern {
    type Err = BadPattern;

    fn from_str(text: &str) -> Result<Self, BadPattern> {
        let bad = || BadPattern::Unknown(text.to_owned());
        let trimmed = text.trim();
        let (name, numbers) = match trimmed.split_once('(') {
            None => (trimmed, Vec::new()),
            Some((name, rest)) => {
                let inside = rest.strip_suffix(')').ok_or_else(bad)?;
                let numbers = inside.split(',').map(|number| number.trim().parse().map_err(|_| bad()));
                (name.trim_end(), numbers.collect::<Result<Vec<usize>, _>>()?)
            }
        };
        match (name, &numbers[..]) {
            ("random", []) => Ok(Self::Random),
            ("stride", [step]) => Ok(Self::Stride(*step)),
            ("permutation", []) => Ok(Self::Permutation),
            ("incast", [to]) => Ok(Self::Incast(*to)),
            ("one_to_all" | "one-to-all", [from]) => Ok(Self::OneToAll(*from)),
            ("all_to_all" | "all-to-all", []) => Ok(Self::AllToAll),
            ("pair", [from, to]) => Ok(Self::Pair(*from, *to)),
            _ => Err(bad()),
        }
    }
}

impl TryFrom<String> for Pattern {
    type Error = BadPattern;

    fn try_from(text: String) -> Result<Self, BadPattern> {
        text.parse()
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> String {
        pattern.to_string()
    }
}
