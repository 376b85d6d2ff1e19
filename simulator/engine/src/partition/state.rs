//! One direction of a link, at the node it leads to.

use super::NEVER;
use crate::fabric::DirectionNumber;
use crate::packet::Packet;
use plait_model_link::{Conditions, Direction};
use std::sync::Arc;

/// One direction of a link. Nothing is kept of what is on one that no packet ever came to.
///
/// Two words, so that those of a large network stay in a processor's near memory, and the rest in one place behind them.
#[derive(Debug)]
pub(crate) enum DirectionState {
    Idle(Box<Idle>),
    Busy(Box<Busy>),
}

/// One that no packet came to yet.
#[derive(Debug)]
pub(crate) struct Idle {
    /// What is asked of it, and what its chances will be drawn from.
    conditions: Arc<Conditions>,
    seed: u64,
    number: DirectionNumber,
    to: u32,
    failed: bool,
}

/// One with packets on it, or that had some. What each packet needs comes first.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Busy {
    /// When it is looked at next; [`NEVER`] if nothing is on it. Events at other instants are of former plans.
    pub scheduled: u64,
    pub number: DirectionNumber,
    pub to: u32,
    pub direction: Direction<Packet>,
    /// Whether a packet may pass those before it, so that each arrival can bring the next departure forward.
    pub may_overtake: bool,
    failed: bool,
}

impl DirectionState {
    pub fn new(conditions: Arc<Conditions>, seed: u64, number: DirectionNumber, to: u32) -> Self {
        Self::Idle(Box::new(Idle { conditions, seed, number, to, failed: false }))
    }

    /// What is on it, from now on.
    #[inline]
    pub fn at_work(&mut self) -> &mut Busy {
        if let Self::Idle(idle) = self {
            *self = Self::Busy(idle.begin());
        }
        match self {
            Self::Busy(busy) => busy,
            Self::Idle(_) => unreachable!("it was replaced"),
        }
    }

    /// What is on it, if ever anything was.
    #[inline]
    pub fn busy(&self) -> Option<&Busy> {
        match self {
            Self::Busy(busy) => Some(busy),
            Self::Idle(_) => None,
        }
    }

    /// The same to be changed.
    #[inline]
    pub fn busy_mut(&mut self) -> Option<&mut Busy> {
        match self {
            Self::Busy(busy) => Some(busy),
            Self::Idle(_) => None,
        }
    }

    pub fn number(&self) -> DirectionNumber {
        match self {
            Self::Idle(idle) => idle.number,
            Self::Busy(busy) => busy.number,
        }
    }

    /// The conditions in force.
    pub fn conditions(&self) -> &Conditions {
        match self {
            Self::Idle(idle) => &idle.conditions,
            Self::Busy(busy) => busy.direction.conditions(),
        }
    }

    /// Whether it failed itself, whatever its ends do.
    pub fn has_failed(&self) -> bool {
        match self {
            Self::Idle(idle) => idle.failed,
            Self::Busy(busy) => busy.failed,
        }
    }

    pub fn set_failed(&mut self, failed: bool) {
        match self {
            Self::Idle(idle) => idle.failed = failed,
            Self::Busy(busy) => busy.failed = failed,
        }
    }
}

impl Idle {
    #[cold]
    fn begin(&self) -> Box<Busy> {
        Box::new(Busy {
            scheduled: NEVER,
            number: self.number,
            to: self.to,
            direction: Direction::new(Arc::clone(&self.conditions), self.seed, 0),
            may_overtake: self.conditions.may_overtake(),
            failed: self.failed,
        })
    }
}
