//! A member that writes down what it is told and what it does.

use super::entry::{Begin, Bytes, Entry, Event};
use crate::message::unsealed;
use crate::{Config, Direction, Inquiry, Member, Plane, Refused, Routes};
use plait_model_overlay::{Application, Locators, NodeId, Operation};
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A member that writes down what it is told and what it does, if that is asked for: to its driver it is a [`Member`], with
/// [`poll_entry`](Self::poll_entry) to be called as well until it gives nothing.
///
/// Decisions are written before they are given out, so that none was in force that is not in the recording.
#[derive(Debug)]
pub struct Recorded {
    member: Member,
    pen: Option<Box<Pen>>,
}

/// What is written, of a member of which it is.
#[derive(Debug)]
struct Pen {
    application: Application,
    now: Duration,
    /// Numbers drawn since the input before.
    draws: Arc<Mutex<Vec<u64>>>,
    refused: u64,
    /// Whether anything went in since LIB and RIB were decided.
    is_stale: bool,
    /// What was decided and not given out yet.
    operations: VecDeque<Operation>,
    entries: VecDeque<Entry>,
}

impl Recorded {
    /// A member that begins to join: [`Member::new`].
    pub fn new(
        config: Config,
        now: Duration,
        is_recorded: bool,
        mut draw: impl FnMut() -> u64 + Send + 'static,
    ) -> Self {
        if !is_recorded {
            return Self { member: Member::new(config, now, draw), pen: None };
        }
        let draws: Arc<Mutex<Vec<u64>>> = Arc::default();
        let mut pen = Pen {
            application: config.application,
            now,
            draws: draws.clone(),
            refused: 0,
            is_stale: true,
            operations: VecDeque::new(),
            entries: VecDeque::new(),
        };
        let begin = Begin::of(&config);
        let noted = move || {
            let number = draw();
            lock(&draws).push(number);
            number
        };
        let member = Member::new(config, now, noted);
        let begin = Begin { draws: pen.drawn(), ..begin };
        pen.note(Event::Begin(Box::new(begin)));
        Self { member, pen: Some(Box::new(pen)) }
    }

    /// The member.
    pub fn member(&self) -> &Member {
        &self.member
    }

    /// [`Member::adopt`].
    pub fn adopt(&mut self, now: Duration, nodes: BTreeMap<NodeId, Locators>, routes: Routes) {
        if let Some(pen) = &mut self.pen {
            pen.operations.clear();
            pen.take(now, Event::Adopt { nodes: nodes.clone(), routes: routes.clone() });
        }
        self.member.adopt(now, nodes, routes);
    }

    /// [`Member::handle_datagram`].
    ///
    /// # Errors
    /// One that no node of this overlay sent; nothing was changed by it.
    pub fn handle_datagram(&mut self, now: Duration, from: IpAddr, bytes: &[u8]) -> Result<(), Refused> {
        let done = self.member.handle_datagram(now, from, bytes);
        if let Some(pen) = &mut self.pen {
            match &done {
                Ok(()) => {
                    let (message, draws) = (Bytes(unsealed(bytes).to_vec()), pen.drawn());
                    pen.take(now, Event::Heard { from, message, draws });
                }
                Err(_) => pen.refused = pen.refused.saturating_add(1),
            }
        }
        done
    }

    /// [`Member::handle_timeout`].
    pub fn handle_timeout(&mut self, now: Duration) {
        self.member.handle_timeout(now);
        if let Some(pen) = &mut self.pen {
            let draws = pen.drawn();
            // Once a round, so that who sends much makes no more lines.
            if let datagrams @ 1.. = std::mem::take(&mut pen.refused) {
                pen.take(now, Event::Refused { datagrams });
            }
            pen.take(now, Event::Timeout { draws });
        }
    }

    /// [`Member::handle_locators`].
    pub fn handle_locators(&mut self, locators: Locators) {
        if let Some(pen) = &mut self.pen {
            pen.take(pen.now, Event::Locators { locators: locators.clone() });
        }
        self.member.handle_locators(locators);
    }

    /// [`Member::set_plane`].
    pub fn set_plane(&mut self, now: Duration, plane: Plane) {
        if let Some(pen) = &mut self.pen {
            pen.take(now, Event::Plane { plane });
        }
        self.member.set_plane(now, plane);
    }

    /// [`Member::inquire`].
    pub fn inquire(&mut self, direction: Direction, inquiry: Inquiry) -> bool {
        if let Some(pen) = &mut self.pen {
            pen.take(pen.now, Event::Inquire { direction, inquiry: inquiry.clone() });
        }
        self.member.inquire(direction, inquiry)
    }

    /// [`Member::leave`].
    pub fn leave(&mut self) {
        if let Some(pen) = &mut self.pen {
            pen.take(pen.now, Event::Leave);
        }
        self.member.leave();
    }

    /// [`Member::poll_transmit`].
    pub fn poll_transmit(&mut self) -> Option<(IpAddr, Vec<u8>)> {
        let (to, bytes) = self.member.poll_transmit()?;
        if let Some(pen) = &mut self.pen {
            pen.note(Event::Sent { to, message: Bytes(unsealed(&bytes).to_vec()) });
        }
        Some((to, bytes))
    }

    /// [`Member::poll_operation`].
    pub fn poll_operation(&mut self) -> Option<Operation> {
        let Some(pen) = &mut self.pen else { return self.member.poll_operation() };
        // When it is asked is an input, too: what it decides may depend on it, though nothing changes at once.
        if std::mem::take(&mut pen.is_stale) {
            let operations: Vec<Operation> = std::iter::from_fn(|| self.member.poll_operation()).collect();
            pen.operations.extend(operations.iter().cloned());
            pen.note(Event::Decided { operations });
        }
        pen.operations.pop_front()
    }

    /// [`Member::poll_inquiry`].
    pub fn poll_inquiry(&mut self) -> Option<(Direction, Inquiry)> {
        let (direction, inquiry) = self.member.poll_inquiry()?;
        if let Some(pen) = &mut self.pen {
            pen.note(Event::Asked { direction, inquiry: inquiry.clone() });
        }
        Some((direction, inquiry))
    }

    /// [`Member::poll_timeout`].
    pub fn poll_timeout(&self) -> Duration {
        self.member.poll_timeout()
    }

    /// What is to be written down next.
    pub fn poll_entry(&mut self) -> Option<Entry> {
        self.pen.as_mut()?.entries.pop_front()
    }
}

impl Pen {
    /// Something went in.
    fn take(&mut self, now: Duration, event: Event) {
        self.now = now;
        self.is_stale = true;
        self.note(event);
    }

    fn note(&mut self, event: Event) {
        self.entries.push_back(Entry { at: self.now, application: self.application, event });
    }

    fn drawn(&mut self) -> Vec<u64> {
        std::mem::take(&mut *lock(&self.draws))
    }
}

/// A thread that panicked while it drew left nothing half done.
fn lock(draws: &Mutex<Vec<u64>>) -> MutexGuard<'_, Vec<u64>> {
    draws.lock().unwrap_or_else(PoisonError::into_inner)
}
