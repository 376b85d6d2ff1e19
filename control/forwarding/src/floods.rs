//! What is for all hosts: the stream `floods`, and how often a port may ask for it.

use crate::Set;
use crate::links::Probing;
use crate::outgoing::{send_bytes, some};
use crate::routes::Routes;
use crate::waiting::for_all;
use plait_control_openflow::{Action, Actions, Commands, PacketIn, Port};
use plait_control_runtime::{Dag, Failure, Kind, Manifest, Perhaps, View, native, wit};
use rpds::HashTrieMapSync;
use std::sync::Arc;

/// Packets for every host but those behind the port that they came by: the stream `floods`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Floods {
    /// In order.
    pub list: Vec<Flood>,
}
wit!(struct Floods { list });

impl View for Floods {
    const NAME: &'static str = "floods";
    const KIND: Kind = Kind::Stream;
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flood {
    /// The switch that it came to,
    pub switch: u64,
    /// by this port.
    pub port: Port,
    /// The packet, from its Ethernet header on.
    pub frame: Vec<u8>,
}
wit!(struct Flood { switch, port, frame });

impl Floods {
    /// Choice: as many of a batch; the rest is lost, as on a link that is full.
    const MOST: usize = 256;

    /// Asks for a packet to be flooded, if it is here as a whole.
    pub(crate) fn push(&mut self, packet: &PacketIn<'_>) {
        if self.list.len() < Self::MOST && packet.frame.len() >= usize::from(packet.total_length) {
            let (switch, port) = (packet.switch, packet.in_port);
            self.list.push(Flood { switch, port, frame: packet.frame.to_vec() });
        }
    }

    pub(crate) fn some(self) -> Perhaps<Self> {
        Perhaps((!self.list.is_empty()).then_some(self))
    }
}

/// How many floods each port asked for in a round of probes: the state `flooded`.
#[derive(Debug, Clone)]
pub struct Flooded {
    round: u64,
    count: HashTrieMapSync<(u64, Port), u32>,
}
wit!(struct Flooded { round, count });

impl View for Flooded {
    const NAME: &'static str = "flooded";
}

/// The application that floods, as often as `most` times for a port in a round of probes.
pub fn floods(most: u32) -> Set {
    Set::default()
        .with(
            Manifest::new("floods")
                .reads("~floods@1")
                .reads("routes@1")
                .reads("probing@1")
                .reads("flooded@1?")
                .writes("flooded@1")
                .writes("~commands@1?"),
            native(move |(floods, routes, probing, flooded)| flood(most, floods, routes, probing, flooded)),
        )
        .dag(Dag::chain("floods", &["floods"]).on("floods@1").policy(for_all()))
}

/// Each switch that has edge ports and a way from where the packet came sends it out of all of them at once.
fn flood(
    most: u32,
    floods: Arc<Floods>,
    routes: Arc<Routes>,
    probing: Arc<Probing>,
    flooded: Option<Arc<Flooded>>,
) -> Result<(Flooded, Perhaps<Commands>), Failure> {
    let mut flooded = match flooded.filter(|flooded| flooded.round == probing.round) {
        Some(flooded) => (*flooded).clone(),
        None => Flooded { round: probing.round, count: HashTrieMapSync::new_sync() },
    };
    let mut commands = Commands::default();
    for Flood { switch, port, frame } in &floods.list {
        let from = (*switch, *port);
        let count = flooded.count.get(&from).copied().unwrap_or(0);
        if count >= most || !routes.is_edge(*switch, *port) {
            continue;
        }
        flooded.count.insert_mut(from, count + 1);
        for (to, ports) in routes.edges().filter(|(to, _)| routes.joined(*switch, *to)) {
            let others = ports.iter().filter(|port| (to, **port) != from);
            let actions: Actions = others.map(|port| Action::Output(*port)).collect();
            if !actions.as_slice().is_empty() {
                commands.push(to, send_bytes(frame.clone(), actions));
            }
        }
    }
    Ok((flooded, some(commands)))
}
