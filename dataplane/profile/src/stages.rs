//! A packet's stamps, cut into stages.

use plait_dataplane_reference::tables::passage;
use serde::Serialize;

/// A part of a packet's way. Those of the thesis's Figure 4.4 are `Inner`, `Tunnel` with `Encapsulation`, and the rest,
/// its Outer-TX; `Socket` comes before where it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// From the call to the IP header: socket, UDP, route.
    Socket,
    /// To the tunnel's device, or the only one: firewalls, neighbour, frame. With `Socket` where the kernel says nothing
    /// between them.
    Inner,
    /// Of ours, all until the device below has the packet. Of the kernel's, until it has its outer header; or the route
    /// for that, if it is looked up.
    Tunnel,
    /// From a route that was looked up to the outer header.
    Encapsulation,
    /// From the outer header to the device below: firewalls, neighbour, frame. With `Tunnel` where the kernel says nothing
    /// between them.
    Outer,
    /// The queue of the device below.
    Queue,
    /// Its driver.
    Device,
}

impl Stage {
    /// All, in a packet's order.
    pub const ALL: [Self; 7] = [
        Self::Socket,
        Self::Inner,
        Self::Tunnel,
        Self::Encapsulation,
        Self::Outer,
        Self::Queue,
        Self::Device,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Socket => "socket",
            Self::Inner => "inner",
            Self::Tunnel => "tunnel",
            Self::Encapsulation => "encapsulation",
            Self::Outer => "outer",
            Self::Queue => "queue",
            Self::Device => "device",
        }
    }
}

/// A stage, from the stamp of an index to that of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Which.
    pub stage: Stage,
    /// Where it begins.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
}

/// The stages of a packet that passed somewhere: what a driver hands on to another comes first to its end. None of what
/// never got to a driver.
pub fn cut(passages: &[u32]) -> Option<Vec<Cut>> {
    let sent = passages.iter().position(|passed| *passed == passage::SENT)?;
    let queue = passages[..sent].iter().rposition(|passed| *passed == passage::QUEUE)?;
    let start = queue + passages[queue..sent].iter().position(|passed| *passed == passage::START)?;
    let first = passages.iter().position(|passed| [passage::ENTER, passage::QUEUE].contains(passed))?;
    if passages.first() != Some(&passage::SEND) || first > queue {
        return None;
    }
    let between = |from: usize, to: usize, wanted: u32| {
        passages[from..to].iter().position(|passed| *passed == wanted).map(|at| from + at)
    };
    let mut cuts = Vec::new();
    let mut at = 0;
    let mut until = |stage: Stage, to: usize| {
        cuts.push(Cut { stage, from: at, to });
        at = to;
    };
    if let Some(out) = between(0, first, passage::OUT) {
        until(Stage::Socket, out);
    }
    until(Stage::Inner, first);
    if first < queue {
        let mut stage = Stage::Tunnel;
        if let Some(lookup) = between(first, queue, passage::LOOKUP) {
            until(stage, lookup);
            stage = Stage::Encapsulation;
        }
        match between(first, queue, passage::OUT) {
            Some(out) => {
                until(stage, out);
                until(Stage::Outer, queue);
            }
            None => until(stage, queue),
        }
    }
    until(Stage::Queue, start);
    until(Stage::Device, sent);
    Some(cuts)
}
