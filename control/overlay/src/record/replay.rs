//! A recorded member again.

use super::entry::{Bytes, Entry, Event};
use crate::message::{sealed_again, unsealed};
use crate::{Direction, Inquiry, Key, Member, Refused};
use plait_model_overlay::{Application, NodeId, Operation};
use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use thiserror::Error;

/// One member of a recording, fed with its entries one by one: as many lives as the recording has.
#[derive(Debug)]
pub struct Replay {
    application: Application,
    key: Key,
    life: Option<Life>,
}

#[derive(Debug)]
struct Life {
    own: NodeId,
    member: Member,
    draws: Arc<Mutex<Draws>>,
    now: Duration,
}

/// The numbers that were drawn for the input that is at hand.
#[derive(Debug, Default)]
struct Draws {
    left: VecDeque<u64>,
    /// Drawn though there were no more.
    missing: usize,
}

/// How a member does not do what was recorded of it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Divergence {
    /// Something is said of a life that has not begun.
    #[error("no life has begun yet")]
    Unborn,
    /// A member has one identity, and it is not 0.0.0.0.
    #[error("{0} is not who this recording is of")]
    Identity(NodeId),
    /// Its clock went back.
    #[error("it comes before the line above it")]
    Past,
    /// A message that was heard is refused.
    #[error("the message that was heard is refused: {0}")]
    Refused(Refused),
    /// It takes other numbers than were drawn for it.
    #[error("{drawn} random numbers are recorded, and it takes {taken}")]
    Draws {
        /// So many were recorded.
        drawn: usize,
        /// So many are drawn now.
        taken: usize,
    },
    /// It decides something else.
    #[error("recorded was {}, and now it is {}", told(.recorded), told(.now))]
    Decided {
        /// The first operation that is another, of the recording.
        recorded: Option<Operation>,
        /// The same of now.
        now: Option<Operation>,
    },
    /// It sends something else.
    #[error("recorded was a message to {to}, and now it is {}", sent(.now))]
    Sent {
        /// To whom.
        to: IpAddr,
        /// To whom it is now: to the same one in other words, perhaps.
        now: Option<IpAddr>,
    },
    /// Another question or answer arrives.
    #[error("recorded was an inquiry along {:?}, and now it is {:?}", .recorded.way, .now.as_ref().map(|now| &now.way))]
    Asked {
        /// Recorded.
        recorded: Box<Inquiry>,
        /// Now.
        now: Option<Box<Inquiry>>,
    },
}

impl Replay {
    /// A member of an application.
    pub fn new(application: Application) -> Self {
        // Nobody else ever sees what it seals.
        let key = Key::new(*b"a key of replayed members").expect("it is long enough");
        Self { application, key, life: None }
    }

    /// The member as it is now; none before its first life.
    pub fn member(&self) -> Option<&Member> {
        self.life.as_ref().map(|life| &life.member)
    }

    /// Whose member it is.
    pub fn own(&self) -> Option<NodeId> {
        self.life.as_ref().map(|life| life.own)
    }

    /// Does what an entry says went in, or sees whether the same comes out.
    ///
    /// # Errors
    /// It does not. The member is of no use then.
    pub fn step(&mut self, entry: &Entry) -> Result<(), Divergence> {
        let Entry { at, event, .. } = entry;
        if self.life.as_ref().is_some_and(|life| *at < life.now) {
            return Err(Divergence::Past);
        }
        if let Event::Begin(begin) = event {
            let is_other = self.own().is_some_and(|own| own != begin.own);
            if is_other || begin.own == NodeId(0) {
                return Err(Divergence::Identity(begin.own));
            }
            let draws: Arc<Mutex<Draws>> = Arc::default();
            lock(&draws).left = begin.draws.iter().copied().collect();
            let config = begin.config(self.application, self.key.clone());
            let member = Member::new(config, *at, drawing(draws.clone()));
            let life = Life { own: begin.own, member, draws, now: *at };
            let done = life.drawn(begin.draws.len());
            self.life = Some(life);
            return done;
        }
        let life = self.life.as_mut().ok_or(Divergence::Unborn)?;
        life.now = *at;
        match event {
            Event::Begin(_) | Event::Refused { .. } => Ok(()),
            Event::Adopt { nodes, routes } => {
                life.member.adopt(*at, nodes.clone(), routes.clone());
                Ok(())
            }
            Event::Heard { from, message: Bytes(message), draws } => {
                lock(&life.draws).left = draws.iter().copied().collect();
                let bytes = sealed_again(message, &self.key);
                life.member.handle_datagram(*at, *from, &bytes).map_err(Divergence::Refused)?;
                life.drawn(draws.len())
            }
            Event::Timeout { draws } => {
                lock(&life.draws).left = draws.iter().copied().collect();
                life.member.handle_timeout(*at);
                life.drawn(draws.len())
            }
            Event::Locators { locators } => {
                life.member.handle_locators(locators.clone());
                Ok(())
            }
            Event::Plane { plane } => {
                life.member.set_plane(*at, *plane);
                Ok(())
            }
            Event::Inquire { direction, inquiry } => {
                life.member.inquire(*direction, inquiry.clone());
                Ok(())
            }
            Event::Leave => {
                life.member.leave();
                Ok(())
            }
            Event::Decided { operations } => life.decides(operations),
            Event::Sent { to, message } => life.sends(*to, message),
            Event::Asked { direction, inquiry } => life.is_asked(*direction, inquiry),
        }
    }
}

impl Life {
    /// Whether all numbers that were drawn for an input were taken, and no more.
    fn drawn(&self, drawn: usize) -> Result<(), Divergence> {
        let mut draws = lock(&self.draws);
        let taken = drawn - draws.left.len() + std::mem::take(&mut draws.missing);
        match taken == drawn {
            true => Ok(()),
            false => Err(Divergence::Draws { drawn, taken }),
        }
    }

    fn decides(&mut self, recorded: &[Operation]) -> Result<(), Divergence> {
        let now: Vec<Operation> = std::iter::from_fn(|| self.member.poll_operation()).collect();
        let most = recorded.len().max(now.len());
        match (0..most).find(|at| recorded.get(*at) != now.get(*at)) {
            None => Ok(()),
            Some(at) => {
                Err(Divergence::Decided { recorded: recorded.get(at).cloned(), now: now.get(at).cloned() })
            }
        }
    }

    fn sends(&mut self, to: IpAddr, message: &Bytes) -> Result<(), Divergence> {
        match self.member.poll_transmit() {
            Some((now, bytes)) if now == to && unsealed(&bytes) == message.0 => Ok(()),
            other => Err(Divergence::Sent { to, now: other.map(|(now, _)| now) }),
        }
    }

    fn is_asked(&mut self, direction: Direction, inquiry: &Inquiry) -> Result<(), Divergence> {
        match self.member.poll_inquiry() {
            Some((now, asked)) if now == direction && asked == *inquiry => Ok(()),
            other => Err(Divergence::Asked {
                recorded: Box::new(inquiry.clone()),
                now: other.map(|(_, asked)| Box::new(asked)),
            }),
        }
    }
}

/// The recorded numbers; where there are no more, nought, and that is told.
fn drawing(draws: Arc<Mutex<Draws>>) -> impl FnMut() -> u64 + Send {
    move || {
        let mut draws = lock(&draws);
        draws.left.pop_front().unwrap_or_else(|| {
            draws.missing += 1;
            0
        })
    }
}

fn lock(draws: &Mutex<Draws>) -> MutexGuard<'_, Draws> {
    draws.lock().unwrap_or_else(PoisonError::into_inner)
}

fn told(operation: &Option<Operation>) -> String {
    operation.as_ref().map_or("nothing more".to_owned(), |operation| format!("{operation:?}"))
}

fn sent(to: &Option<IpAddr>) -> String {
    match to {
        Some(to) => format!("another to {to}"),
        None => "none".to_owned(),
    }
}
