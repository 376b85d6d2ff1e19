//! Which ports are joined: the states `links`, `heard`, `probing` and `settled`.

use plait_control_openflow::Port;
use plait_control_runtime::{View, wit};
use rpds::RedBlackTreeMapSync;
use serde::Serialize;

/// A way from a port to a port. A cable is two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link {
    /// The switch that sends.
    pub from: u64,
    /// By this port.
    pub from_port: Port,
    /// The switch that hears it.
    pub to: u64,
    /// By this port.
    pub to_port: Port,
}
wit!(struct Link { from, from_port, to, to_port });

impl Link {
    /// The way back.
    pub fn back(self) -> Self {
        Self { from: self.to, from_port: self.to_port, to: self.from, to_port: self.from_port }
    }
}

/// A datapath and a port number, for people and other programs.
impl Serialize for Link {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut link = serializer.serialize_struct("Link", 4)?;
        link.serialize_field("from", &crate::topology::datapath(self.from))?;
        link.serialize_field("from_port", &self.from_port.0)?;
        link.serialize_field("to", &crate::topology::datapath(self.to))?;
        link.serialize_field("to_port", &self.to_port.0)?;
        link.end()
    }
}

/// All links, in their order: the state `links`. It is written only when there is another set of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Links {
    /// Each once.
    pub list: Vec<Link>,
}
wit!(struct Links { list });

impl View for Links {
    const NAME: &'static str = "links";
}

/// In which round of probes each link was heard last: the state `heard`.
#[derive(Debug, Clone)]
pub struct Heard {
    /// The round, by link.
    pub last: RedBlackTreeMapSync<Link, u64>,
}
wit!(struct Heard { last });

impl Default for Heard {
    fn default() -> Self {
        Self { last: RedBlackTreeMapSync::new_sync() }
    }
}

impl Heard {
    /// The links, unless they are those of `before`.
    pub(crate) fn links(&self, before: Option<&Links>) -> Option<Links> {
        let links = Links { list: self.last.keys().copied().collect() };
        (before.map_or(&[][..], |links| &links.list) != links.list).then_some(links)
    }

    /// With the round that `aged` gives each link, and without those that it gives none, unless nothing is another then.
    pub(crate) fn aged(&self, aged: impl Fn(&Link, u64) -> Option<u64>) -> Option<Self> {
        let other = |(link, round): (&Link, &u64)| (*link, *round, aged(link, *round));
        let others: Vec<_> =
            self.last.iter().map(other).filter(|(_, round, aged)| *aged != Some(*round)).collect();
        let mut last = self.last.clone();
        for (link, _, aged) in &others {
            match aged {
                Some(round) => last.insert_mut(*link, *round),
                None => drop(last.remove_mut(link)),
            }
        }
        (!others.is_empty()).then_some(Self { last })
    }

    /// Without the links that `gone` says of.
    pub(crate) fn without(&self, gone: impl Fn(&Link, u64) -> bool) -> Self {
        let mut last = self.last.clone();
        for (link, _) in self.last.iter().filter(|(link, round)| gone(link, **round)) {
            last.remove_mut(link);
        }
        Self { last }
    }
}

impl View for Heard {
    const NAME: &'static str = "heard";
}

/// What was probed: the state `probing`.
#[derive(Debug, Clone)]
pub struct Probing {
    /// How many rounds of probes there were.
    pub round: u64,
    /// Of each port that is up the round in which it was probed first.
    pub since: RedBlackTreeMapSync<(u64, Port), u64>,
    /// Of each switch with such ports that is not connected the first round without it.
    pub away: RedBlackTreeMapSync<u64, u64>,
}
wit!(struct Probing { round, since, away });

impl Default for Probing {
    fn default() -> Self {
        Self { round: 0, since: RedBlackTreeMapSync::new_sync(), away: RedBlackTreeMapSync::new_sync() }
    }
}

impl View for Probing {
    const NAME: &'static str = "probing";
}

/// Ports that were probed for long enough to know whether there is a link behind them, in their order: the state
/// `settled`. It is written only when there is another set of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settled {
    /// Each once.
    pub ports: Vec<(u64, Port)>,
}
wit!(struct Settled { ports });

impl View for Settled {
    const NAME: &'static str = "settled";
}
