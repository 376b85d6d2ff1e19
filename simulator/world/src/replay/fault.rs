//! What was wrong, where, and for whom.

use plait_model_overlay::Application;
use std::time::Duration;

/// Something that took their ways from pairs of members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// In which overlay.
    pub application: Application,
    /// What and where.
    pub cause: Cause,
    /// When it took the first pair's way.
    pub from: Duration,
    /// When none was without a way for it any more; none if some were to the end.
    pub until: Option<Duration>,
    /// Whose ways.
    pub outages: Vec<Outage>,
}

/// That a pair had no way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outage {
    /// From this member, by its place,
    pub source: usize,
    /// to this one.
    pub destination: usize,
    /// Since when.
    pub from: Duration,
    /// Until when; none if it was so to the end.
    pub until: Option<Duration>,
}

/// What ends a way. Members are named by their places.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Packets go round from one to the next, from the last to the first, until their hops are used up.
    Loop(Vec<usize>),
    /// A member has no next hop to another, or does not know where it is.
    NoRoute {
        /// Who.
        at: usize,
        /// To whom.
        to: usize,
    },
    /// A member does not know who hands it packets, and drops them.
    UnknownLocator {
        /// Who drops them.
        at: usize,
        /// Whose.
        from: usize,
    },
    /// A member does not know whose packets arrive, and drops them.
    UnknownSource {
        /// Who drops them.
        at: usize,
        /// Whose.
        from: usize,
    },
    /// Nothing arrived that the one sent to the other, though that one listened.
    Lost {
        /// Who sent.
        from: usize,
        /// Who did not get it.
        to: usize,
    },
    /// Nothing was heard of a member: its agent, or all of it, was dead. Packets pass it only if its tables outlived it.
    Silent {
        /// Who.
        at: usize,
    },
}

impl Cause {
    /// Its name: that of the data plane's counter, where there is one.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Loop(_) => "loop",
            Self::NoRoute { .. } => "no-route",
            Self::UnknownLocator { .. } => "unknown-locator",
            Self::UnknownSource { .. } => "unknown-source",
            Self::Lost { .. } => "lost",
            Self::Silent { .. } => "silent",
        }
    }

    /// Where it is, in words.
    pub fn place(&self, name: impl Fn(usize) -> String) -> String {
        match self {
            Self::Loop(round) => {
                let round = round.iter().chain(round.first()).map(|member| name(*member));
                round.collect::<Vec<_>>().join(" → ")
            }
            Self::NoRoute { at, to } => format!("{} to {}", name(*at), name(*to)),
            Self::UnknownLocator { at, from } | Self::UnknownSource { at, from } => {
                format!("{} of {}", name(*at), name(*from))
            }
            Self::Lost { from, to } => format!("{} → {}", name(*from), name(*to)),
            Self::Silent { at } => name(*at),
        }
    }

    /// The members that it names.
    pub fn members(&self) -> Vec<usize> {
        match self {
            Self::Loop(round) => round.clone(),
            Self::NoRoute { at, to } => vec![*at, *to],
            Self::UnknownLocator { at, from } | Self::UnknownSource { at, from } => vec![*at, *from],
            Self::Lost { from, to } => vec![*from, *to],
            Self::Silent { at } => vec![*at],
        }
    }
}
