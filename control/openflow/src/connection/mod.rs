//! A switch's connection: bytes and time go in; bytes, packet-ins and events come out.
//!
//! ```text
//!   Hello ── its hello ──► Features ── its features ──► Ready
//!     │  no shared version     │  no answer in time       │  silent, or reads nothing
//!     └────────────────────────┴───────────► closed, with a reason
//! ```
//!
//! Choice: the switch's hello comes first, for a moment. Both specifications let each side begin at once, and a switch does. Whoever says
//! nothing may only want to know whether somebody listens: Mininet asks by telnet, and takes a hello of 1.3 that it is told
//! for the beginning of something, for whose rest it then waits without end.
//!
//! Choice: any whole message shows that a switch lives, not an echo's answer alone, since a switch that is busy telling
//! of packets may answer late. Bytes that make no message show nothing.

mod config;
mod input;
mod told;

pub use config::Config;
pub use told::{Bundle, Event, Hot, NotSent, Reason, Switch};

use crate::version::Word;
use crate::{Version, nicira};
use plait_model_wire::openflow::v13::role::ControllerRole;
use plait_model_wire::openflow::v13::{self, Role};
use plait_model_wire::openflow::{Hello, TooLong, v10};
use std::collections::VecDeque;
use std::time::Duration;

/// What an event costs beside its message, so that many small ones are bounded too.
const EVENT: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Hello,
    Features(Version),
    Ready { version: Version, auxiliary: bool },
    Closed,
}

/// A connection with a switch. To be called in this order whenever something happened: `handle_*`, commands, then
/// [`poll_event`](Self::poll_event) and [`poll_transmit`](Self::poll_transmit) until they give nothing, then
/// [`poll_timeout`](Self::poll_timeout). Times are since whenever the driver began.
#[derive(Debug)]
pub struct Connection {
    config: Config,
    state: State,
    began: Duration,
    has_greeted: bool,
    heard: Duration,
    /// When it was asked whether it lives, if it has said nothing since.
    asked: Option<Duration>,
    /// The beginning of a message.
    partial: Vec<u8>,
    output: Vec<u8>,
    written: usize,
    events: VecDeque<(usize, Event)>,
    events_cost: usize,
    xid: u32,
    bundle: Bundle,
    barriers: VecDeque<Barrier>,
    /// Bytes that were written so far.
    sent: u64,
    role: ControllerRole,
}

/// A barrier that is not answered.
#[derive(Debug)]
struct Barrier {
    xid: u32,
    bundle: Bundle,
    /// How many bytes are written when it is.
    end: u64,
}

impl Connection {
    /// A connection that has just come about.
    pub fn new(config: Config, now: Duration) -> Self {
        Self {
            config,
            state: State::Hello,
            began: now,
            has_greeted: false,
            heard: now,
            asked: None,
            partial: Vec::new(),
            output: Vec::new(),
            written: 0,
            events: VecDeque::new(),
            events_cost: 0,
            xid: 0,
            bundle: Bundle { first: 1, count: 0, refused: 0 },
            barriers: VecDeque::new(),
            sent: 0,
            role: ControllerRole::EQUAL,
        }
    }

    /// Lets time pass.
    pub fn handle_timeout(&mut self, now: Duration) {
        if self.poll_timeout().is_none_or(|due| now < due) {
            return;
        }
        match self.state {
            State::Hello if now < self.began + self.config.handshake => self.say_hello(),
            State::Hello | State::Features(_) => self.end(Reason::Slow),
            State::Ready { .. } if self.asked.is_some() => self.end(Reason::Silent),
            State::Ready { version, .. } => {
                self.asked = Some(now);
                self.say(version, None, Word::EchoRequest);
            }
            State::Closed => {}
        }
    }

    /// Sends one message, which `emit` writes behind what is there, with the transaction that it is given.
    ///
    /// # Errors
    /// [`NotSent`]; the message is then as if it had never been.
    pub fn send_with(
        &mut self,
        emit: impl FnOnce(u32, &mut Vec<u8>) -> Result<(), TooLong>,
    ) -> Result<u32, NotSent> {
        self.main()?;
        let (xid, start) = (self.xid.wrapping_add(1), self.output.len());
        if let Err(why) = emit(xid, &mut self.output) {
            self.output.truncate(start);
            return Err(why.into());
        }
        if !self.fits() {
            self.output.truncate(start);
            self.end(Reason::Backlog);
            return Err(NotSent::Backlog);
        }
        self.xid = xid;
        if self.bundle.count == 0 {
            self.bundle.first = xid;
        }
        // Words of the connection's own lie between transactions of the application's: they belong to the bundle too.
        self.bundle.count = xid.wrapping_sub(self.bundle.first).wrapping_add(1);
        Ok(xid)
    }

    /// Sends whole messages that were emitted elsewhere, one behind the other, each with a transaction of its own that is
    /// set here. Gives how many there were.
    ///
    /// # Errors
    /// [`NotSent`]; nothing of them is then sent.
    pub fn send_all(&mut self, messages: &[u8]) -> Result<u32, NotSent> {
        let start = self.output.len();
        self.send_bytes(messages)?;
        let (first, mut count, mut rest) = (self.xid.wrapping_add(1), 0, &mut self.output[start..]);
        while let Some(([_, _, high, low, xid @ ..], _)) = rest.split_first_chunk_mut::<8>() {
            *xid = first.wrapping_add(count).to_be_bytes();
            count += 1;
            // No message is shorter than its header, whatever it says.
            let length = usize::from(u16::from_be_bytes([*high, *low])).max(8).min(rest.len());
            rest = &mut rest[length..];
        }
        if count > 0 {
            self.xid = self.xid.wrapping_add(count);
            if self.bundle.count == 0 {
                self.bundle.first = first;
            }
            self.bundle.count = self.xid.wrapping_sub(self.bundle.first).wrapping_add(1);
        }
        Ok(count)
    }

    /// Sends whole messages that were emitted elsewhere, with transactions that the caller chose. A barrier waits for
    /// them as for all others, though its bundle does not name them.
    ///
    /// # Errors
    /// [`NotSent`]; nothing of them is then sent.
    pub fn send_bytes(&mut self, messages: &[u8]) -> Result<(), NotSent> {
        self.main()?;
        if self.output.len() - self.written + messages.len() > self.config.most_output {
            self.end(Reason::Backlog);
            return Err(NotSent::Backlog);
        }
        self.output.extend_from_slice(messages);
        Ok(())
    }

    /// Asks the switch to say when all before is done; it is an [`Event::Barrier`] then.
    ///
    /// # Errors
    /// [`NotSent`].
    pub fn barrier(&mut self) -> Result<u32, NotSent> {
        let version = self.main()?;
        if self.barriers.len() >= self.config.most_barriers {
            return Err(NotSent::Barriers);
        }
        let bundle = self.bundle;
        let xid = self.send_with(|xid, bytes| version.emit_into(xid, Word::BarrierRequest, bytes))?;
        self.barriers.push_back(Barrier { xid, bundle, end: self.sent + self.waiting() as u64 });
        self.bundle = Bundle { first: xid.wrapping_add(1), count: 0, refused: 0 };
        Ok(xid)
    }

    /// Asks for a role, in the election of this number; the answer is an [`Event::Role`], or a refusal if the number is
    /// older than one that the switch knows (1.3.5 section 6.3.6). 1.0 is asked by Nicira's extension, without a number.
    ///
    /// # Errors
    /// [`NotSent`].
    pub fn request_role(&mut self, role: ControllerRole, generation: u64) -> Result<u32, NotSent> {
        let version = self.main()?;
        self.send_with(|xid, bytes| match version {
            Version::V10 => v10::Message { xid, body: nicira::role_request(role) }.emit_into(bytes),
            Version::V13 => {
                let body = v13::Body::RoleRequest(Role { role, generation });
                v13::Message { xid, body }.emit_into(bytes)
            }
        })
    }

    /// Ends the connection.
    pub fn close(&mut self) {
        self.end(Reason::Asked);
    }

    /// Asks a switch that is known whether it lives, however lately it said something: somebody else claims to be it.
    pub fn challenge(&mut self, now: Duration) {
        if let (State::Ready { version, .. }, None) = (self.state, self.asked) {
            self.asked = Some(now);
            self.say(version, None, Word::EchoRequest);
        }
    }

    /// Whether a barrier's answer is waited for.
    pub(crate) fn awaits(&self, xid: u32) -> bool {
        self.barriers.iter().any(|barrier| barrier.xid == xid)
    }

    /// What happened next.
    pub fn poll_event(&mut self) -> Option<Event> {
        let (cost, event) = self.events.pop_front()?;
        self.events_cost -= cost;
        Some(event)
    }

    /// What is to be written to the switch; say with [`transmitted`](Self::transmitted) how much of it was.
    pub fn poll_transmit(&self) -> Option<&[u8]> {
        Some(&self.output[self.written..]).filter(|output| !output.is_empty())
    }

    /// So many bytes are written, at most as many as there were.
    pub fn transmitted(&mut self, count: usize) {
        let count = count.min(self.waiting());
        self.sent += count as u64;
        self.written += count;
        if self.written == self.output.len() {
            self.output.clear();
            self.written = 0;
        } else if self.written > self.output.len() / 2 {
            self.output.drain(..self.written);
            self.written = 0;
        }
    }

    /// Whether it has ended.
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Ends it as one that does not read, if it has not ended yet, and lets go what waits for it: others need the room.
    pub fn give_up(&mut self) {
        self.end(Reason::Backlog);
        self.output = Vec::new();
        self.written = 0;
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do, if nothing else happens.
    pub fn poll_timeout(&self) -> Option<Duration> {
        match (self.state, self.asked) {
            (State::Closed, _) => None,
            (State::Hello, _) if !self.has_greeted => {
                Some(self.began + self.config.courtesy.min(self.config.handshake))
            }
            (State::Hello | State::Features(_), _) => Some(self.began + self.config.handshake),
            (State::Ready { .. }, None) => Some(self.heard + self.config.quiet),
            (State::Ready { .. }, Some(asked)) => Some(asked + self.config.patience),
        }
    }

    /// The role that this controller has, as far as the switch has said; at first all are equal.
    pub fn role(&self) -> ControllerRole {
        self.role
    }

    /// Bytes of output that wait.
    pub fn waiting(&self) -> usize {
        self.output.len() - self.written
    }

    /// Bytes that are held: of a message that has not come wholly, of output and of events.
    pub fn held(&self) -> usize {
        self.partial.len() + self.output.len() + self.events_cost
    }

    fn main(&self) -> Result<Version, NotSent> {
        match self.state {
            State::Ready { version, auxiliary: false } => Ok(version),
            State::Ready { .. } => Err(NotSent::Auxiliary),
            _ => Err(NotSent::NotReady),
        }
    }

    fn highest(&self) -> Version {
        self.config.versions.iter().copied().max().unwrap_or(Version::V13)
    }

    fn fits(&self) -> bool {
        self.output.len() - self.written <= self.config.most_output
    }

    /// Says hello, once.
    fn say_hello(&mut self) {
        if std::mem::replace(&mut self.has_greeted, true) {
            return;
        }
        // A hello of 1.0 says nothing: some switches that know no other version mind if it does.
        let numbers: Vec<u8> = self.config.versions.iter().map(|version| version.number()).collect();
        let highest = self.highest();
        let hello = if highest == Version::V10 { Hello::default() } else { Hello::speaking(&numbers) };
        self.say(highest, None, Word::Hello(hello));
    }

    fn say(&mut self, version: Version, answers: Option<u32>, word: Word<'_>) {
        if self.state == State::Closed {
            return;
        }
        let xid = answers.unwrap_or_else(|| {
            self.xid = self.xid.wrapping_add(1);
            self.xid
        });
        // An answer to an echo is as long as the echo, and all else is short.
        let emitted = version.emit_into(xid, word, &mut self.output);
        if emitted.is_err() || !self.fits() {
            self.end(Reason::Backlog);
        }
    }

    fn tell(&mut self, event: Event, length: usize) {
        let cost = EVENT + length;
        if self.events_cost + cost > self.config.most_events {
            return self.end(Reason::Flooded);
        }
        self.events_cost += cost;
        self.events.push_back((cost, event));
    }

    /// The last event. What waits is let go where it is what ends the connection.
    pub(crate) fn end(&mut self, reason: Reason) {
        if self.state == State::Closed {
            return;
        }
        self.state = State::Closed;
        self.partial = Vec::new();
        self.barriers.clear();
        if reason == Reason::Backlog {
            self.output = Vec::new();
            self.written = 0;
        }
        self.events_cost += EVENT;
        self.events.push_back((EVENT, Event::Closed(reason)));
    }
}
