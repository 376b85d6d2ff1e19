//! What a switch says: its stream is cut into messages, packet-ins are handed on where they lie, all else is heard.

use super::{Barrier, Connection, Event, Hot, Reason, State, Switch};
use crate::Version;
use crate::version::{Fault, Heard, Word};
use plait_model_wire::openflow::hello::Element;
use plait_model_wire::openflow::v13::packet_in;
use plait_model_wire::openflow::{Frame, Hello, Message, chop, length_of_next};
use std::time::Duration;

/// Bytes of a refused message that an error quotes (both specifications ask for 64 at least).
const QUOTED: usize = 64;
/// Room for the beginning of a message that is kept while none has begun. Choice: a page; whoever once sent the
/// longest message does not hold its 64 KiB for ever.
const KEPT: usize = 4096;

impl Connection {
    /// Takes what came from the switch, and gives each packet-in to `hot`, without a copy if it came whole. One that comes before the
    /// features is given as well: whoever takes it learns whose it is, and whether the connection is an auxiliary one, by
    /// [`Event::Ready`](super::Event::Ready).
    pub fn handle_bytes(&mut self, now: Duration, bytes: &[u8], mut hot: impl FnMut(Hot<'_>)) {
        let mut rest = bytes;
        if self.state == State::Hello && !bytes.is_empty() {
            self.say_hello();
        }
        while self.state != State::Closed && !rest.is_empty() {
            if self.partial.is_empty() {
                rest = self.hand_on(now, Some(bytes), rest, &mut hot);
                match chop(rest) {
                    Ok(Some((frame, after))) => {
                        let place = bytes.len() - rest.len();
                        let message = &rest[..rest.len() - after.len()];
                        self.take(now, Hot { frame, bytes: message, place: Some(place) });
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
                    if !self.hand_on(now, None, &partial, &mut hot).is_empty() {
                        self.take(now, Hot { frame, bytes: &partial, place: None });
                    }
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

    /// Hands on the packet-ins with which `left` begins, the end of what was handed `in_place` if it lies there. What is no
    /// packet-in is left. Choice: apart from all other messages and called by nobody else, so that `hot` is compiled into the
    /// loop: a call for each took a seventh of what a request costs a learning switch outside of the kernel.
    fn hand_on<'a>(
        &mut self,
        now: Duration,
        in_place: Option<&[u8]>,
        left: &'a [u8],
        hot: &mut impl FnMut(Hot<'_>),
    ) -> &'a [u8] {
        let (State::Features(version) | State::Ready { version, auxiliary: false }) = self.state else {
            return left;
        };
        let mut rest = left;
        while let Ok(Some((frame, after))) = chop(rest)
            && frame.version() == version.number()
            && frame.kind() == packet_in::KIND
        {
            let place = in_place.map(|bytes| bytes.len() - rest.len());
            hot(Hot { frame, bytes: &rest[..rest.len() - after.len()], place });
            rest = after;
        }
        if rest.len() < left.len() {
            (self.heard, self.asked) = (now, None);
        }
        rest
    }

    /// Takes a message that is not to be handed on.
    fn take(&mut self, now: Duration, message: Hot<'_>) {
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
            // It came by an auxiliary connection.
            State::Ready { .. } if frame.kind() == packet_in::KIND => {}
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
                let waiting = self.barriers.iter_mut().map(|barrier| &mut barrier.bundle);
                let mut bundles = waiting.chain(std::iter::once(&mut self.bundle));
                if let Some(bundle) = bundles.find(|bundle| bundle.contains(xid)) {
                    bundle.refused = bundle.refused.saturating_add(1);
                }
                // A barrier that is refused is never answered.
                if let Some(place) = self.asked_barrier(xid) {
                    self.barriers.remove(place);
                }
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
                let done = self.asked_barrier(xid).map_or(0, |place| place + 1);
                for _ in 0..done {
                    let Some(Barrier { xid, bundle, .. }) = self.barriers.pop_front() else { break };
                    self.tell(Event::Barrier { xid, bundle }, 0);
                }
            }
            (Heard::Role(role), _) => {
                self.role = role.role;
                self.tell(Event::Role { xid, role }, length);
            }
        }
    }

    /// The place of a barrier that the switch was asked. Of one that waits to be written it cannot know, and whoever answers it has
    /// guessed its transaction.
    fn asked_barrier(&self, xid: u32) -> Option<usize> {
        self.barriers.iter().position(|barrier| barrier.xid == xid && barrier.end <= self.sent)
    }

    /// Tells the switch that a message was refused; of errors never, lest both sides do so for ever.
    fn refuse(&mut self, version: Version, message: Hot<'_>, fault: Fault) {
        if message.frame.kind() != 1 {
            let data = &message.bytes[..message.bytes.len().min(QUOTED)];
            self.say(version, Some(message.frame.xid()), Word::Error { fault, data });
        }
    }
}
