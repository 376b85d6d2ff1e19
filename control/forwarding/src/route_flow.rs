//! A way for each flow, set up when its first packet comes (thesis §4.2.1): `RouteFlowApp`.

use crate::Set;
use crate::access::{AccessList, Verdict, access_lists};
use crate::dead_ports::dead_ports;
use crate::discovery::{Discovery, discovery};
use crate::floods::{Floods, floods};
use crate::frame::{Parsed, is_station};
use crate::hosts::{HostBounds, Hosts, Known};
use crate::outgoing::{FORWARDING, add, release, send, send_bytes, some};
use crate::proxy::{Question, proxy};
use crate::routes::{Routes, routes};
use crate::sighting::{hosts, neighbor};
use crate::together::look_up;
use crate::topology::topology;
use crate::waiting::for_many;
use crate::welcome;
use foldhash::HashSet;
use foldhash::quality::FixedState;
use plait_control_openflow::{
    Actions, Commands, Fields, Flow, Mark, PacketIn, PacketIns, Port, Staged, Step as Held, Switches, Version,
};
use plait_control_runtime::{Dag, Failure, Manifest, Perhaps, native};
use plait_model_wire::number::ether_type;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

/// How packets find their way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routing {
    /// How links are found.
    pub discovery: Discovery,
    /// How many hosts are known.
    pub hosts: HostBounds,
    /// After how many seconds without a packet a flow goes. Choice: 60, as of a learning switch.
    pub idle_timeout: u16,
    /// How many packets for all a port may send in a round of probes. Choice: 200, far more than hosts ask for that are
    /// in order, and few enough that a loop outside of the network cannot fill it.
    pub floods: u32,
    /// For how long a flow's first packet, and its first switch's flow, wait for barriers behind the flows of all other switches of its
    /// way. Choice: they do not, as in the thesis and in the field's controllers. A packet that comes before its flow is asked about
    /// once more, and goes on from there; waiting for the slowest switch of each way makes the first packet of every flow later.
    pub barriers: Option<Duration>,
    /// The mark that cookies of its flows have.
    pub mark: Mark,
    /// How many batches are worked on at once.
    pub instances: usize,
}

impl Routing {
    /// With a key that authenticates probes.
    pub fn new(key: [u8; 32]) -> Self {
        let (discovery, hosts) = (Discovery::new(key), HostBounds::default());
        let mark = Mark::default();
        Self { discovery, hosts, idle_timeout: 60, floods: 200, barriers: None, mark, instances: 8 }
    }
}

/// All applications of a routed network.
///
/// ```text
///  probes ─► discovery ─► links ─► routes ──┐
///  packet-ins ─┬─► sight ─► sightings ─► hosts
///              ├─► proxy ──────┬──► commands   (who has an address?)
///              └─► route-flow ─┴─► floods ─► floods ─► commands
/// ```
pub fn routing(config: &Routing) -> Set {
    let many = for_many(config.instances);
    let Routing { idle_timeout, barriers, mark, .. } = *config;
    Set::default()
        .with(
            Manifest::new("route-flow")
                .reads("~packet-ins@1")
                .reads("routes@1")
                .reads("hosts@1?")
                .reads("switches@1")
                .reads("access-list@1?")
                .writes("~commands@1?")
                .writes("~floods@1?")
                .writes("~staged-commands@1?")
                .parallel(),
            native(move |(batch, routes, hosts, switches, access)| {
                route_flow((idle_timeout, barriers, mark), batch, routes, hosts, switches, access)
            }),
        )
        .dag(Dag::chain("route-flow", &["route-flow"]).on("packet-ins@1").policy(many))
        .and(discovery(&config.discovery))
        .and(routes())
        .and(dead_ports())
        .and(hosts(config.hosts, config.instances))
        .and(proxy(config.instances))
        .and(floods(config.floods))
        // Packets are sent on by other switches than that which has them, so that none keeps any.
        .and(welcome(0xffff))
        .and(access_lists(mark))
        .and(topology())
}

/// What is told at once, what is for all, and what waits for barriers.
type Decided = (Perhaps<Commands>, Perhaps<Floods>, Perhaps<Staged>);

fn route_flow(
    (idle_timeout, barriers, mark): (u16, Option<Duration>, Mark),
    batch: Arc<PacketIns>,
    routes: Arc<Routes>,
    hosts: Option<Arc<Hosts>>,
    switches: Arc<Switches>,
    access: Option<Arc<AccessList>>,
) -> Result<Decided, Failure> {
    let (mut commands, mut floods) = (Commands::default(), Floods::default());
    let patience = barriers.map_or(0, |patience| patience.as_micros() as u64);
    let mut staged = Staged { patience, ..Staged::default() };
    // Of a flow whose packets come in one batch the way is set up once.
    let mut done: HashSet<(u64, Fields)> = HashSet::default();
    look_up(
        &batch,
        hosts.as_deref(),
        |parsed| parsed.destination,
        |place, packet, parsed, host| {
            let parsed = match parsed {
                Some(parsed) if Question::of(&parsed).is_some() => return,
                Some(parsed) if is_station(parsed.source) && !parsed.is_for_bridges() => parsed,
                _ => return release(&packet, &mut commands),
            };
            let edge = routes.is_edge(packet.switch, packet.in_port);
            let verdict = Verdict::of(access.as_deref(), &packet, &parsed);
            if verdict == Verdict::Denied || !(edge || routes.is_link(packet.switch, packet.in_port)) {
                return release(&packet, &mut commands);
            }
            let single = !parsed.destination.is_group();
            let Some(to) = host.filter(|_| single).map(Known::at) else {
                // What comes over a link was sent to one who is no more; what is for all never comes by one.
                if edge {
                    floods.push(&packet);
                }
                return release(&packet, &mut commands);
            };
            // Choice: what resolves addresses is delivered where it belongs, without flows for one packet.
            let resolves = parsed.ether_type == ether_type::ARP || neighbor(&parsed).is_some();
            if resolves || verdict == Verdict::Once {
                let whole = packet.frame.len() >= usize::from(packet.total_length);
                let elsewhere = to != (packet.switch, packet.in_port);
                if whole && elsewhere && routes.joined(packet.switch, to.0) {
                    commands.push(to.0, send_bytes(packet.frame.to_vec(), Actions::output(to.1)));
                }
                return release(&packet, &mut commands);
            }
            let Some(way) = way(&routes, &switches, &parsed, &packet, to) else {
                return release(&packet, &mut commands);
            };
            let priority = if let Verdict::Permitted(priority) = verdict { priority } else { FORWARDING };
            // What the first switch is told, which is where the packet is: at once, or once the others have their flows.
            let others = way.iter().skip(1).filter(|step| barriers.is_some() && step.version.is_some());
            let behind: Vec<u64> = others.map(|step| step.switch).collect();
            let mut then = Commands::default();
            if done.insert((packet.switch, parsed.exactly(packet.in_port, Version::V13))) {
                // From the last switch to the first, so that the packet meets flows wherever it comes (thesis §4.2.1).
                for (place, &Step { switch, version, in_port, out }) in way.iter().enumerate().rev() {
                    let Some(version) = version else { continue };
                    let flow = Flow::add(priority, parsed.exactly(in_port, version), Actions::output(out));
                    let cookie = mark.cookie(routes.epoch as u8);
                    let to = match (behind.is_empty(), place) {
                        (true, _) => &mut commands,
                        (false, 0) => &mut then,
                        (false, _) => &mut staged.first,
                    };
                    add(switch, version, Flow { cookie, idle_timeout, ..flow }, to);
                }
            }
            if let Some(first) = way.first() {
                let to = if behind.is_empty() { &mut commands } else { &mut then };
                send(&batch, place, &packet, first.out, to);
            }
            if !behind.is_empty() {
                staged.steps.push(Held { behind, then });
            }
        },
    );
    let staged = (!staged.steps.is_empty()).then_some(staged);
    Ok((some(commands), floods.some(), Perhaps(staged)))
}

/// A switch of a way.
struct Step {
    switch: u64,
    /// What it speaks, if it is connected.
    version: Option<Version>,
    /// The port that packets come by,
    in_port: Port,
    /// and the one that they leave by.
    out: Port,
}

/// The switches from where a packet is to its host.
///
/// Of equally short ways the flow's hash chooses, anew at each switch, so that what one switch parts the next does not
/// leave together. One by a switch that is away is chosen only if there is no other, since nobody can tell that one of the flow.
///
/// Cost: of each switch two look-ups of its next hops, and one of what it is unless one is away.
fn way(
    routes: &Routes,
    switches: &Switches,
    parsed: &Parsed<'_>,
    packet: &PacketIn<'_>,
    to: (u64, Port),
) -> Option<Vec<Step>> {
    let hash = |at| FixedState::with_seed(at).hash_one(parsed.exactly(Port::ANY, Version::V13));
    let version = |switch: u64| {
        let info = switches.known.get(&switch).filter(|info| info.connected);
        info.and_then(|info| Version::of(info.version))
    };
    let (mut switch, mut in_port, mut spoken) = (packet.switch, packet.in_port, version(packet.switch));
    let mut way = Vec::with_capacity(6);
    // A packet leaves by the port that it came by only if it is said so.
    let back = |in_port, out| if in_port == out { Port::IN_PORT } else { out };
    while switch != to.0 {
        let all = || routes.hops(switch, to.0);
        let one_of = |count: usize| hash(switch).checked_rem(count as u64).map(|choice| choice as usize);
        let mut hop = all().nth(one_of(all().count())?)?;
        let mut next = version(hop.to);
        if next.is_none() {
            let there = || all().filter(|hop| version(hop.to).is_some());
            if let Some(other) = one_of(there().count()).and_then(|choice| there().nth(choice)) {
                (hop, next) = (other, version(other.to));
            }
        }
        way.push(Step { switch, version: spoken, in_port, out: back(in_port, hop.out) });
        (switch, in_port, spoken) = (hop.to, hop.in_port, next);
    }
    if way.is_empty() && to.1 == in_port {
        return None;
    }
    way.push(Step { switch, version: spoken, in_port, out: back(in_port, to.1) });
    Some(way)
}
