//! A switch's connection: bytes and time go in; bytes, packet-ins and events come out.
//!
//! ```text
//!   Hello ── its hello ──► Features ── its features ──► Ready
//!     │  no shared version     │  no answer in time       │  silent, or reads nothing
//!     └────────────────────────┴───────────► closed, with a reason
//! ```
//!
//! Choice: any whole message shows that a switch lives, not an echo's answer alone, since a switch that is busy telling
//! of packets may answer late. Bytes that make no message show nothing.

use crate::version::{Fault, Heard, Word};
use crate::{Refusal, Version};
use plait_model_wire::Malformed;
use plait_model_wire::openflow::hello::Element;
use plait_model_wire::openflow::v13::role::ControllerRole;
use plait_model_wire::openflow::v13::{self, Role, packet_in};
use plait_model_wire::openflow::{Frame, Hello, Message, TooLong, chop, length_of_next};
use std::collections::VecDeque;
use std::time::Duration;

/// Bytes of a refused message that an error quotes (both specifications ask for 64 at least).
const QUOTED: usize = 64;
/// Room for the beginning of a message that is kept while none has begun. Choice: a page; whoever once sent the
/// longest message does not hold its 64 KiB for ever.
const KEPT: usize = 4096;
/// What an event costs beside its message, so that many small ones are bounded too.
const EVENT: usize = 64;

/// What a connection is told at its start.
#[derive(Debug, Clone)]
pub struct Config {
    /// Versions to be spoken. With none, no switch is compatible.
    pub versions: Vec<Version>,
    /// How long a switch may take until it has said hello and what it is.
    pub handshake: Duration,
    /// How long a switch may say nothing until it is asked whether it lives.
    pub quiet: Duration,
    /// How long it may take to answer that.
    pub patience: Duration,
    /// Bytes that may wait for a switch to read them. With more it is closed.
    pub most_output: usize,
    /// Bytes of messages, 64 more for each, that may wait as events. With more it is closed: poll events after each read.
    pub most_events: usize,
    /// Barriers that may be unanswered.
    pub most_barriers: usize,
}

/// Choice: both versions; Open vSwitch's five seconds of quiet, and as many of patience; output for a burst of a hundred
/// full packets a worker, events of several of the longest messages.
impl Default for Config {
    fn default() -> Self {
        Self {
            versions: Version::ALL.to_vec(),
            handshake: Duration::from_secs(10),
            quiet: Duration::from_secs(5),
            patience: Duration::from_secs(5),
            most_output: 1 << 20,
            most_events: 1 << 19,
            most_barriers: 256,
        }
    }
}

/// What a switch has said of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    /// The version that is shared.
    pub version: Version,
    /// Which switch: 16 bits of its maker's, then the hardware address.
    pub datapath: u64,
    /// 0, or which auxiliary connection this is: taken, kept alive, and otherwise left alone.
    pub auxiliary: u8,
    /// Its whole features.
    pub features: Message,
}

/// Messages in a row, which a barrier waits for: those of transactions `first`, `first + 1`… (modulo 2³²).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bundle {
    /// The first one's transaction.
    pub first: u32,
    /// How many.
    pub count: u32,
    /// Of how many of them the switch said that it refused them, as events did already.
    pub refused: u32,
}

impl Bundle {
    /// Whether a message is one of them.
    pub fn contains(&self, xid: u32) -> bool {
        xid.wrapping_sub(self.first) < self.count
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The switch is known: from now on there are packet-ins, and it can be told something.
    Ready(Switch),
    /// It has done everything that was sent before a barrier.
    Barrier {
        /// The barrier's transaction.
        xid: u32,
        /// What was sent since the barrier before.
        bundle: Bundle,
    },
    /// It has said which role this controller has.
    Role(Role),
    /// It refused something.
    Refused {
        /// The transaction that was refused.
        xid: u32,
        /// Why.
        error: Refusal,
    },
    /// It told something else.
    Message(Message),
    /// It said something that cannot be read, and was told so.
    Unreadable(Malformed),
    /// The connection is to be closed when its output is written, or cannot be.
    Closed(Reason),
}

/// Why a connection is closed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// No version is shared.
    #[error("no version is shared with a switch whose hello says {0}")]
    Incompatible(u8),
    /// The switch finds no version to be shared.
    #[error("the switch refused the hello: {0}")]
    HelloRefused(Refusal),
    /// It began with something else.
    #[error("the first message is of type {0}, not a hello")]
    NoHello(u8),
    /// Hello or features did not come in time.
    #[error("no hello or features came in time")]
    Slow,
    /// It was asked whether it lives.
    #[error("nothing was heard since the echo request")]
    Silent,
    /// Where its messages end is not known any more; or its features cannot be read.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// It does not read.
    #[error("more output waits than may")]
    Backlog,
    /// It said more than is polled.
    #[error("more events wait than may")]
    Flooded,
    /// [`Connection::close`].
    #[error("closed by the controller")]
    Asked,
}

/// Why nothing was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotSent {
    /// The switch is not known yet, or closed.
    #[error("the switch is not ready")]
    NotReady,
    /// An auxiliary connection is left alone.
    #[error("the connection is an auxiliary one")]
    Auxiliary,
    /// OpenFlow 1.0 has none.
    #[error("OpenFlow 1.0 has no roles")]
    NoRoles,
    /// As many as may be are unanswered.
    #[error("too many barriers are unanswered")]
    Barriers,
    /// The switch does not read; it is closed now.
    #[error("more output would wait than may")]
    Backlog,
    /// No length field can say it.
    #[error(transparent)]
    TooLong(#[from] TooLong),
}

/// A packet-in, where it lies.
#[derive(Debug, Clone, Copy)]
pub struct Hot<'a> {
    /// The message.
    pub frame: Frame<'a>,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Where it begins in the bytes that were handed in, and so remains; nothing if it came in pieces: then it lies in
    /// the connection until the call returns.
    pub place: Option<usize>,
}

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
    barriers: VecDeque<(u32, Bundle)>,
    role: ControllerRole,
}

impl Connection {
    /// A connection that has just come about; its hello waits to be transmitted.
    pub fn new(config: Config, now: Duration) -> Self {
        let mut connection = Self {
            config,
            state: State::Hello,
            began: now,
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
            role: ControllerRole::EQUAL,
        };
        // A hello of 1.0 says nothing: some switches that know no other version mind if it does.
        let numbers: Vec<u8> = connection.config.versions.iter().map(|version| version.number()).collect();
        let highest = connection.highest();
        let hello = if highest == Version::V10 { Hello::default() } else { Hello::speaking(&numbers) };
        connection.say(highest, None, Word::Hello(hello));
        connection
    }

    /// Takes what came from the switch, and gives each packet-in to `hot`, without a copy if it came whole.
    pub fn handle_bytes(&mut self, now: Duration, bytes: &[u8], mut hot: impl FnMut(Hot<'_>)) {
        let mut rest = bytes;
        while self.state != State::Closed && !rest.is_empty() {
            if self.partial.is_empty() {
                match chop(rest) {
                    Ok(Some((frame, after))) => {
                        let place = bytes.len() - rest.len();
                        let message = &rest[..rest.len() - after.len()];
                        self.take(now, Hot { frame, bytes: message, place: Some(place) }, &mut hot);
                        rest = after;
                    }
                    Ok(None) => self.partial.extend_from_slice(std::mem::take(&mut rest)),
                    Err(why) => self.end(why.into()),
                }
                continue;
            }
            let need = match length_of_next(&self.partial) {
                Ok(length) => length.unwrap_or(plait_model_wire::openflow::Header::LENGTH),
                Err(why) => return self.end(why.into()),
            };
            let more = (need - self.partial.len()).min(rest.len());
            self.partial.extend_from_slice(&rest[..more]);
            rest = &rest[more..];
            let mut partial = std::mem::take(&mut self.partial);
            match chop(&partial) {
                Ok(Some((frame, _))) => {
                    self.take(now, Hot { frame, bytes: &partial, place: None }, &mut hot);
                    if partial.capacity() <= KEPT {
                        partial.clear();
                        self.partial = partial;
                    }
                }
                Ok(None) => self.partial = partial,
                Err(why) => self.end(why.into()),
            }
        }
    }

    /// Lets time pass.
    pub fn handle_timeout(&mut self, now: Duration) {
        if self.poll_timeout().is_none_or(|due| now < due) {
            return;
        }
        match self.state {
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
        self.barriers.push_back((xid, bundle));
        self.bundle = Bundle { first: xid.wrapping_add(1), count: 0, refused: 0 };
        Ok(xid)
    }

    /// Asks for a role, in the election of this number; the answer is an [`Event::Role`], or a refusal if the number is
    /// older than one that the switch knows (1.3.5 section 6.3.6).
    ///
    /// # Errors
    /// [`NotSent`].
    pub fn request_role(&mut self, role: ControllerRole, generation: u64) -> Result<u32, NotSent> {
        if self.main()? == Version::V10 {
            return Err(NotSent::NoRoles);
        }
        let body = v13::Body::RoleRequest(Role { role, generation });
        self.send_with(|xid, bytes| v13::Message { xid, body }.emit_into(bytes))
    }

    /// Ends the connection.
    pub fn close(&mut self) {
        self.end(Reason::Asked);
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
        self.written = (self.written + count).min(self.output.len());
        if self.written == self.output.len() {
            self.output.clear();
            self.written = 0;
        } else if self.written > self.output.len() / 2 {
            self.output.drain(..self.written);
            self.written = 0;
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do, if nothing else happens.
    pub fn poll_timeout(&self) -> Option<Duration> {
        match (self.state, self.asked) {
            (State::Closed, _) => None,
            (State::Hello | State::Features(_), _) => Some(self.began + self.config.handshake),
            (State::Ready { .. }, None) => Some(self.heard + self.config.quiet),
            (State::Ready { .. }, Some(asked)) => Some(asked + self.config.patience),
        }
    }

    /// The role that this controller has, as far as the switch has said; at first all are equal.
    pub fn role(&self) -> ControllerRole {
        self.role
    }

    /// Bytes that are held: of a message that has not come wholly, of output and of events.
    pub fn held(&self) -> usize {
        self.partial.len() + self.output.len() + self.events_cost
    }

    fn take(&mut self, now: Duration, message: Hot<'_>, hot: &mut impl FnMut(Hot<'_>)) {
        self.heard = now;
        self.asked = None;
        let frame = message.frame;
        match self.state {
            State::Hello => self.greet(&frame),
            State::Features(version) | State::Ready { version, .. }
                if frame.version() != version.number() =>
            {
                self.refuse(version, message, Fault::BAD_VERSION)
            }
            State::Ready { auxiliary, .. } if frame.kind() == packet_in::KIND => {
                if !auxiliary {
                    hot(message);
                }
            }
            // Whose packet it is is not known yet.
            State::Features(_) if frame.kind() == packet_in::KIND => {}
            State::Features(version) => self.hear(version, message, false),
            State::Ready { version, auxiliary } => self.hear(version, message, auxiliary),
            State::Closed => {}
        }
    }

    fn greet(&mut self, frame: &Frame<'_>) {
        // Types 0 and 1 are hello and error in every version.
        match (frame.kind(), Message::of(frame).map(Heard::of)) {
            (0, _) => {}
            (_, Ok(Heard::Error(error))) if error.of_hello() => return self.end(Reason::HelloRefused(error)),
            (kind, _) => return self.end(Reason::NoHello(kind)),
        }
        let (hello, header) = (Hello::of(frame.body()), frame.version());
        let listed = hello.elements.iter().any(|element| matches!(element, Element::Versions(_)));
        let own = self.config.versions.iter().copied();
        // Without a list, the lower one of both headers, and no other (1.3.5 section 6.3.1). A hello of 1.0 sends none.
        let shared = if listed && self.highest() > Version::V10 {
            own.filter(|version| hello.speaks(header, version.number())).max()
        } else {
            let lower = header.min(self.highest().number());
            own.filter(|version| version.number() == lower).max()
        };
        match shared {
            Some(version) => {
                self.state = State::Features(version);
                self.say(version, None, Word::FeaturesRequest);
            }
            None => {
                // Choice: in a version that the switch may know, the highest not above its own.
                let known = self.config.versions.iter().copied().filter(|version| version.number() <= header);
                let version = known.max().unwrap_or(self.highest());
                let (fault, data) = (Fault::INCOMPATIBLE, &b"No version is shared."[..]);
                self.say(version, Some(frame.xid()), Word::Error { fault, data });
                self.end(Reason::Incompatible(header));
            }
        }
    }

    fn hear(&mut self, version: Version, message: Hot<'_>, auxiliary: bool) {
        let (xid, length) = (message.frame.xid(), message.bytes.len());
        let heard = match Message::of(&message.frame) {
            Ok(read) => Heard::of(read),
            Err(why) if matches!(self.state, State::Features(_)) => return self.end(why.into()),
            Err(why) => {
                self.tell(Event::Unreadable(why), 0);
                return self.refuse(version, message, Fault::BAD_LENGTH);
            }
        };
        match (heard, self.state) {
            (Heard::EchoRequest(data), _) => self.say(version, Some(xid), Word::EchoReply(data)),
            (Heard::Hello | Heard::EchoReply, _) => {}
            (Heard::Error(error), State::Features(_)) if error.of_hello() => {
                self.end(Reason::HelloRefused(error));
            }
            (Heard::Error(error), _) => {
                let waiting = self.barriers.iter_mut().map(|(_, bundle)| bundle);
                let mut bundles = waiting.chain(std::iter::once(&mut self.bundle));
                if let Some(bundle) = bundles.find(|bundle| bundle.contains(xid)) {
                    bundle.refused = bundle.refused.saturating_add(1);
                }
                // A barrier that is refused is never answered.
                self.barriers.retain(|(barrier, _)| *barrier != xid);
                self.tell(Event::Refused { xid, error }, length);
            }
            (Heard::Features { datapath, auxiliary, message }, State::Features(_)) => {
                self.state = State::Ready { version, auxiliary: auxiliary != 0 };
                self.tell(Event::Ready(Switch { version, datapath, auxiliary, features: message }), length);
            }
            (_, State::Features(_)) => {}
            (Heard::Odd, _) => self.refuse(version, message, Fault::BAD_TYPE),
            _ if auxiliary => {}
            (Heard::Features { message, .. } | Heard::Told(message), _) => {
                self.tell(Event::Message(message), length);
            }
            (Heard::BarrierReply, _) => {
                // What answers no barrier means nothing. Barriers are done in order: those before are, too.
                if self.barriers.iter().any(|(barrier, _)| *barrier == xid) {
                    while let Some((barrier, bundle)) = self.barriers.pop_front() {
                        self.tell(Event::Barrier { xid: barrier, bundle }, 0);
                        if barrier == xid {
                            break;
                        }
                    }
                }
            }
            (Heard::Role(role), _) => {
                self.role = role.role;
                self.tell(Event::Role(role), length);
            }
        }
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

    /// Tells the switch that a message was refused; of errors never, lest both sides do so for ever.
    fn refuse(&mut self, version: Version, message: Hot<'_>, fault: Fault) {
        if message.frame.kind() != 1 {
            let data = &message.bytes[..message.bytes.len().min(QUOTED)];
            self.say(version, Some(message.frame.xid()), Word::Error { fault, data });
        }
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
    fn end(&mut self, reason: Reason) {
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
