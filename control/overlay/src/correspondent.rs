//! A node whose tables others fill, and which asks along them and answers all the same.

use crate::inquiry::{Allowance, MOST_WAITING, Step};
use crate::session::{Draws, Session, Word};
use crate::{Direction, Inquiry, Key, Message, Refused, Sealed};
use plait_model_overlay::{Application, NodeId, Tables};
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

/// A node that decides nothing and probes nobody: it says something when it asks, when it is asked, and when it wants to know
/// who asks. Where others are, its tables say, which entries by hand or an existing control plane fill; what its own name is among
/// them, it is told each time.
///
/// A life that a node does not know has to show itself first, as to a [`Member`](crate::Member); so of a first question between two
/// nodes there is nothing but that, and it has to be repeated.
#[derive(Debug)]
pub struct Correspondent {
    application: Application,
    key: Key,
    incarnation: u64,
    sequence: u64,
    heard: BTreeMap<NodeId, Heard>,
    draws: Draws,
    transmits: VecDeque<(IpAddr, Vec<u8>)>,
    inquiries: VecDeque<(Direction, Inquiry)>,
}

/// Somebody with the key.
#[derive(Debug, Default)]
struct Heard {
    session: Session,
    allowance: Allowance,
    /// The address that it spoke from last.
    from: Option<IpAddr>,
}

impl Correspondent {
    /// One that nobody has heard of yet. `draw` gives random numbers that nobody can guess.
    pub fn new(application: Application, key: Key, mut draw: impl FnMut() -> u64 + Send + 'static) -> Self {
        Self {
            application,
            key,
            incarnation: draw(),
            sequence: 0,
            heard: BTreeMap::new(),
            draws: Draws::new(draw),
            transmits: VecDeque::new(),
            inquiries: VecDeque::new(),
        }
    }

    /// Takes a datagram that came from an address to this node, `own`.
    ///
    /// # Errors
    /// One that no node of this overlay sent; nothing was changed by it.
    pub fn handle_datagram(
        &mut self,
        now: Duration,
        from: IpAddr,
        bytes: &[u8],
        own: NodeId,
        tables: &Tables,
    ) -> Result<(), Refused> {
        let Sealed { application, sender, incarnation, sequence, message } = Sealed::open(bytes, &self.key)?;
        if application != self.application || sender == own {
            return Err(Refused::Malformed);
        }
        let heard = self.heard.entry(sender).or_default();
        match message {
            Message::Challenge(number) => {
                self.send(own, from, Message::Answer(number));
                self.question(now, own, sender, incarnation, from);
            }
            Message::Answer(number) => {
                if heard.session.answer(number, incarnation, sequence) {
                    heard.from = Some(from);
                }
            }
            Message::Inquiry(direction, inquiry) => match heard.session.hear(incarnation, sequence) {
                Word::New => {
                    heard.from = Some(from);
                    if !heard.allowance.take(now) {
                        return Ok(());
                    }
                    match inquiry.step(direction, own, sender) {
                        Some(Step::Arrived) if self.inquiries.len() < MOST_WAITING => {
                            self.inquiries.push_back((direction, inquiry));
                        }
                        Some(Step::HandOn(next)) => drop(self.hand_on(own, next, direction, inquiry, tables)),
                        Some(Step::Arrived) | None => {}
                    }
                }
                Word::Old => {}
                Word::Stranger => self.question(now, own, sender, incarnation, from),
            },
            // Of a member of a control plane, who finds nobody here.
            Message::Probe { .. }
            | Message::Echo { .. }
            | Message::Members(_)
            | Message::Report(_)
            | Message::Leave => {}
        }
        Ok(())
    }

    /// Asks the last node of a way that begins here, at `own`, or answers the first of one that ends here: as
    /// [`Member::inquire`](crate::Member::inquire).
    pub fn inquire(&mut self, direction: Direction, inquiry: Inquiry, own: NodeId, tables: &Tables) -> bool {
        match inquiry.first_step(direction, own).filter(|_| inquiry.is_possible()) {
            Some(next) => self.hand_on(own, next, direction, inquiry, tables),
            None => false,
        }
    }

    /// A datagram to send, and the locator it is for.
    pub fn poll_transmit(&mut self) -> Option<(IpAddr, Vec<u8>)> {
        self.transmits.pop_front()
    }

    /// A question to this node, or an answer to one of its own.
    pub fn poll_inquiry(&mut self) -> Option<(Direction, Inquiry)> {
        self.inquiries.pop_front()
    }

    /// Sends an inquiry to the next on its way: at its first locator of a family that this node has a locator of, or where it
    /// spoke from if it has none here.
    fn hand_on(
        &mut self,
        own: NodeId,
        next: NodeId,
        direction: Direction,
        inquiry: Inquiry,
        tables: &Tables,
    ) -> bool {
        let reaches =
            |locator: &&IpAddr| tables.locators.keys().any(|own| own.is_ipv4() == locator.is_ipv4());
        let locator = tables.nodes.get(&next).and_then(|locators| locators.keys().find(reaches)).copied();
        let to = locator.or_else(|| self.heard.get(&next)?.from);
        let Some(to) = to else { return false };
        self.send(own, to, Message::Inquiry(direction, inquiry));
        true
    }

    /// Asks a life that is not known to show itself.
    fn question(&mut self, now: Duration, own: NodeId, node: NodeId, incarnation: u64, at: IpAddr) {
        let session = &mut self.heard.entry(node).or_default().session;
        if session.incarnation() == Some(incarnation) {
            return;
        }
        if let Some(number) = session.challenge(now, self.draws.by_ref()) {
            self.send(own, at, Message::Challenge(number));
        }
    }

    fn send(&mut self, sender: NodeId, to: IpAddr, message: Message) {
        self.sequence += 1;
        let (application, incarnation, sequence) = (self.application, self.incarnation, self.sequence);
        let sealed = Sealed { application, sender, incarnation, sequence, message };
        self.transmits.push_back((to, sealed.seal(&self.key)));
    }
}
