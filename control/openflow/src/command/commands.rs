//! The stream `commands`: commands in words, and messages that are written already.

use super::Command;
use crate::{NotSaid, Version};
use plait_control_runtime::{Kind, Mismatch, Type, Value, View, Wit, wit};
use plait_model_wire::openflow::{chop, v13};

/// Commands, each for one switch. Those for one switch are done in their order; see [`Command::Barrier`].
///
/// Who knows the version that a switch speaks may [write](Self::write) messages for it at once. They lie one behind the
/// other, as they will in the socket, so that what a batch tells a switch is copied once, however many messages it is. To
/// everybody else they are the [words](Self::words) that they say.
#[derive(Debug, Clone, Default)]
pub struct Commands {
    orders: Vec<(u64, Kept)>,
    bytes: Vec<u8>,
}

#[derive(Debug, Clone)]
enum Kept {
    Said(Command),
    /// Messages of this version, from here to there.
    Written(Version, usize, usize),
}

/// What a switch is to do, as it is kept.
#[derive(Debug, Clone, Copy)]
pub enum Order<'a> {
    /// In words.
    Said(&'a Command),
    /// Whole messages of this version. Their transactions are yet to be set.
    Written(Version, &'a [u8]),
}

impl Commands {
    /// None yet, with room for so many bytes of messages.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { orders: Vec::new(), bytes: Vec::with_capacity(bytes) }
    }

    /// One more.
    pub fn push(&mut self, switch: u64, command: Command) {
        self.orders.push((switch, Kept::Said(command)));
    }

    /// One message more, which `emit` writes behind what there is, for a switch that speaks this version. Deletions are to be
    /// [pushed](Self::push): of what is written nothing is kept for a switch that is away.
    ///
    /// # Errors
    /// Those of `emit`, or [`NotSaid::Message`] where it has written something else than one message of this version; then
    /// all is as it was.
    #[inline]
    pub fn write(
        &mut self,
        switch: u64,
        version: Version,
        emit: impl FnOnce(&mut Vec<u8>) -> Result<(), NotSaid>,
    ) -> Result<(), NotSaid> {
        let start = self.bytes.len();
        let written = emit(&mut self.bytes).and_then(|()| match self.bytes.get(start..) {
            Some([number, _, high, low, _, _, _, _, ..])
                if *number == version.number()
                    && usize::from(u16::from_be_bytes([*high, *low])) == self.bytes.len() - start =>
            {
                Ok(())
            }
            _ => Err(NotSaid::Message),
        });
        if written.is_err() {
            self.bytes.truncate(start);
            return written;
        }
        match self.orders.last_mut() {
            Some((known, Kept::Written(spoken, _, end))) if *known == switch && *spoken == version => {
                *end = self.bytes.len();
            }
            _ => self.orders.push((switch, Kept::Written(version, start, self.bytes.len()))),
        }
        Ok(())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.orders.is_empty()
    }

    /// How many orders [`get`](Self::get) gives.
    pub fn len(&self) -> usize {
        self.orders.len()
    }

    /// About how many bytes it takes.
    pub(crate) fn size(&self) -> usize {
        let said = self.orders.iter().map(|(_, kept)| match kept {
            Kept::Said(command) => size_of::<(u64, Kept)>() - size_of::<Command>() + command.size(),
            Kept::Written(..) => size_of::<(u64, Kept)>(),
        });
        self.bytes.len() + said.sum::<usize>()
    }

    /// The same to be kept for long: nothing of it lies in a batch.
    pub(crate) fn apart(&self) -> Self {
        let mut own = self.clone();
        for (_, kept) in &mut own.orders {
            if let Kept::Said(Command::PacketOut(sent)) = kept {
                sent.packet.take_apart();
            }
        }
        own
    }

    /// Those of them that send packets.
    pub(crate) fn packets(&self) -> Self {
        let is_packet = |command: &Command| match command {
            Command::PacketOut(_) => true,
            // Of either version.
            Command::Raw(bytes) => bytes.get(1) == Some(&v13::packet_out::KIND),
            Command::Flow(_) | Command::Barrier => false,
        };
        self.words().into_iter().filter(|(_, command)| is_packet(command)).collect()
    }

    /// The switch and what it is to do, by its place: a command, or all messages that were written for it in a row.
    pub fn get(&self, place: usize) -> Option<(u64, Order<'_>)> {
        self.orders.get(place).map(|(switch, kept)| (*switch, self.order(kept)))
    }

    /// All of them, in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u64, Order<'_>)> {
        self.orders.iter().map(|(switch, kept)| (*switch, self.order(kept)))
    }

    fn order<'a>(&'a self, kept: &'a Kept) -> Order<'a> {
        match kept {
            Kept::Said(command) => Order::Said(command),
            Kept::Written(version, start, end) => Order::Written(*version, &self.bytes[*start..*end]),
        }
    }

    /// The switch and what it is to do, in words.
    pub fn words(&self) -> Vec<(u64, Command)> {
        let mut all = Vec::with_capacity(self.len());
        for (switch, order) in self.iter() {
            match order {
                Order::Said(command) => all.push((switch, command.clone())),
                Order::Written(version, mut rest) => {
                    while let Ok(Some((frame, after))) = chop(rest) {
                        all.push((switch, Command::read(version, &rest[..rest.len() - after.len()], &frame)));
                        rest = after;
                    }
                }
            }
        }
        all
    }
}

impl Extend<(u64, Command)> for Commands {
    fn extend<T: IntoIterator<Item = (u64, Command)>>(&mut self, all: T) {
        self.orders.extend(all.into_iter().map(|(switch, command)| (switch, Kept::Said(command))));
    }
}

impl FromIterator<(u64, Command)> for Commands {
    fn from_iter<T: IntoIterator<Item = (u64, Command)>>(all: T) -> Self {
        let mut commands = Self::default();
        commands.extend(all);
        commands
    }
}

/// By what they say.
impl PartialEq for Commands {
    fn eq(&self, other: &Self) -> bool {
        self.words() == other.words()
    }
}

impl Eq for Commands {}

/// `record { list: list<tuple<switch, command>> }`.
impl Wit for Commands {
    fn schema() -> Type {
        Plain::schema()
    }
    fn to_value(&self) -> Value {
        Plain { list: self.words() }.to_value()
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        Plain::from_value(value).map(|plain| plain.list.into_iter().collect())
    }
}

struct Plain {
    list: Vec<(u64, Command)>,
}
wit!(struct Plain { list });

impl View for Commands {
    const NAME: &'static str = "commands";
    const KIND: Kind = Kind::Stream;
}
