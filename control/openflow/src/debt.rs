//! What a switch is owed: deletions that it was not there to be told, or of which nobody knows whether it has done them.
//!
//! A flow that is in use never goes of itself. One that should be deleted while its switch is away would lead its packets by a
//! link that is dead, or to where a host was, for as long as they come.

use crate::{Change, Command, Fields, Flow, Mark, Version};
use plait_model_wire::openflow::v13::{self, TableId};
use std::collections::HashMap;

/// Bytes of deletions that one switch is owed by themselves. Choice: 16 KiB, some hundred; one with more to delete loses little
/// that it would keep.
const MOST: usize = 16 << 10;
/// The same of all switches together. Choice: as much as a thousand of them may be owed.
const MOST_OF_ALL: usize = 16 << 20;

impl Command {
    /// Deletes all flows that have a controller's [mark](Mark::cookie).
    ///
    /// Choice: 1.0 deletes by no cookie, and so all flows that it has. What every switch is to have is told to it when it
    /// connects, which is after this.
    pub fn delete_own(version: Version, mark: Mark) -> Self {
        let all = Flow::delete(Fields::ANY);
        if version == Version::V10 {
            return Self::Flow(all);
        }
        let mut own = v13::FlowMod::add(Fields::ANY.v13(), 0, Vec::new());
        own.command = v13::flow_mod::FlowModCommand::DELETE;
        (own.cookie, own.cookie_mask, own.table) = (mark.cookie(0), Mark::MASK, TableId::ALL);
        (own.out_port, own.out_group) = (v13::PortNumber::ANY, v13::GroupId::ANY);
        let bytes = v13::Message { xid: 0, body: v13::Body::FlowMod(own) }.emit();
        bytes.map_or(Self::Flow(all), Self::Raw)
    }

    /// Whether it deletes flows.
    pub fn is_deletion(&self) -> bool {
        const DELETES: [u8; 2] = [Change::Delete as u8, Change::DeleteStrict as u8];
        match self {
            Self::Flow(flow) => DELETES.contains(&(flow.change as u8)),
            // Where each version's flow-mod has its command, which 1.0 says in two bytes.
            Self::Raw(bytes) if bytes.get(1) == Some(&v13::flow_mod::KIND) => match Version::of(bytes[0]) {
                Some(Version::V10) => {
                    matches!(bytes.get(56..58), Some([0, command]) if DELETES.contains(command))
                }
                Some(Version::V13) => bytes.get(25).is_some_and(|command| DELETES.contains(command)),
                None => false,
            },
            Self::PacketOut(_) | Self::Barrier | Self::Raw(_) => false,
        }
    }

    /// Whether a switch of this version understands it, as far as it has bytes of a version.
    fn is_of(&self, version: Version) -> bool {
        !matches!(self, Self::Raw(bytes) if bytes.first() != Some(&version.number()))
    }
}

/// The deletions that one switch is owed: each of them, or of all flows that are the controller's own, where they are too many.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Debt {
    each: Vec<Command>,
    bytes: usize,
    is_all: bool,
}

impl Debt {
    /// All flows that are the controller's own.
    pub const ALL: Self = Self { each: Vec::new(), bytes: 0, is_all: true };

    /// Whether nothing is owed.
    pub fn is_empty(&self) -> bool {
        self.each.is_empty() && !self.is_all
    }

    /// One deletion more. What is no deletion is owed to nobody.
    pub fn add(&mut self, command: Command) {
        if self.is_all || !command.is_deletion() || self.each.contains(&command) {
            return;
        }
        self.bytes += command.size();
        match self.bytes > MOST {
            true => *self = Self::ALL,
            false => self.each.push(command),
        }
    }

    /// What is owed besides.
    pub fn join(&mut self, other: Self) {
        match other.is_all {
            true => *self = other,
            false => other.each.into_iter().for_each(|command| self.add(command)),
        }
    }

    /// What a switch that speaks this version is told by a controller of this mark. Of another version than it spoke before, it is told
    /// all.
    pub fn commands(self, version: Version, mark: Mark) -> Vec<Command> {
        match self.is_all || self.each.iter().any(|command| !command.is_of(version)) {
            true => vec![Command::delete_own(version, mark)],
            false => self.each,
        }
    }
}

/// What switches are owed that are away.
#[derive(Debug, Default)]
pub(crate) struct Debts {
    of: HashMap<u64, Debt>,
    bytes: usize,
}

impl Debts {
    /// One is owed more. Beyond what all together may be owed by themselves, it is all of its flows.
    pub fn add(&mut self, switch: u64, more: Debt) {
        let debt = self.of.entry(switch).or_default();
        self.bytes -= debt.bytes;
        debt.join(more);
        if self.bytes + debt.bytes > MOST_OF_ALL {
            *debt = Debt::ALL;
        }
        self.bytes += debt.bytes;
    }

    /// What one is owed that is there again, and then no more.
    pub fn take(&mut self, switch: u64) -> Debt {
        let debt = self.of.remove(&switch).unwrap_or_default();
        self.bytes -= debt.bytes;
        debt
    }

    /// Bytes of all that are owed by themselves.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}
