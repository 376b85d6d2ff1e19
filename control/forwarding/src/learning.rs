//! A learning switch: every switch a bridge of its own (thesis §4.2.1).

use crate::access::{AccessList, Verdict, access_lists};
use crate::frame::{Parsed, is_attachment, is_station};
use crate::outgoing::{FORWARDING, delete_leaving, is_up, release, send, some, was_up};
use crate::shards::{First, Seek};
use crate::stations::{Learned, Seen, Station, Stations, Table};
use crate::together::AT_ONCE;
use crate::waiting::{for_many, of_switches};
use crate::{Set, welcome};
use plait_control_openflow::{
    Actions, Between, Command, Commands, Fields, Flow, Mark, PacketIn, PacketIns, Port, StationFlows,
    SwitchEvent, SwitchEvents, Switches, Version,
};
use plait_control_runtime::{Dag, Failure, Manifest, Perhaps, native};
use plait_model_wire::ethernet::{self, Mac};
use std::collections::HashMap;
use std::sync::Arc;

/// How a learning switch behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LearningSwitch {
    /// After how many seconds without a packet a flow goes. Choice: 60, as ovs-testcontroller has it; a flow that never
    /// goes outlives its stations.
    pub idle_timeout: u16,
    /// After how many seconds a flow goes that drops what came by the port to which it belongs. Choice: 10, since no
    /// output says where the station was, by which such a flow would be found when that moves.
    pub drop_timeout: u16,
    /// How many stations of a switch are known at most. Choice: 16384, as many as a common hardware switch.
    pub stations: usize,
    /// Bytes of a packet without a flow that the controller gets. Choice: 128, OpenFlow's own; it is enough for every
    /// field of a match.
    pub miss_length: u16,
    /// The mark that cookies of its flows have.
    pub mark: Mark,
    /// How many batches are worked on at once.
    pub instances: usize,
}

impl Default for LearningSwitch {
    fn default() -> Self {
        let mark = Mark::default();
        Self { idle_timeout: 60, drop_timeout: 10, stations: 16384, miss_length: 128, mark, instances: 8 }
    }
}

/// The applications of a learning switch that obeys access lists.
///
/// ```text
///  packet-ins ─► switch-packets ─┬─► commands          switch-events ─► forget ─► stations
///   stations ──►  (instances)    └─► learned ─► learn ─► stations
///                                                 └────► commands: flows to where a station was go
/// ```
pub fn learning_switch(config: &LearningSwitch) -> Set {
    let (switching, learning) = (Switching::new(config), config.clone());
    let many = for_many(config.instances);
    Set::default()
        .with(
            Manifest::new("switch-packets")
                .reads("~packet-ins@1")
                .reads("stations@1?")
                .reads("access-list@1?")
                .writes("~commands@1?")
                .writes("~learned@1?")
                .parallel(),
            native(move |(batch, stations, access): (_, Option<Arc<_>>, Option<Arc<_>>)| {
                let (commands, learned) = switching.packets(&batch, stations.as_deref(), access.as_deref());
                Ok((some(commands), Perhaps((!learned.list.is_empty()).then_some(learned))))
            }),
        )
        .with(
            Manifest::new("learn")
                .reads("~learned@1")
                .reads("stations@1?")
                .reads("switches@1?")
                .writes("stations@1?")
                .writes("~commands@1?"),
            native(move |(learned, stations, switches)| learn(&learning, learned, stations, switches)),
        )
        .with(
            Manifest::new("forget")
                .reads("~switch-events@1")
                .reads("switches@1")
                .reads("stations@1?")
                .writes("stations@1?"),
            native(|(events, switches, stations)| forget(events, switches, stations)),
        )
        .dag(Dag::chain("switch-packets", &["switch-packets"]).on("packet-ins@1").policy(many))
        .dag(Dag::chain("learn", &["learn"]).on("learned@1"))
        .dag(Dag::chain("forget", &["forget"]).on("switch-events@1").policy(of_switches()))
        .and(welcome(config.miss_length))
        .and(access_lists(config.mark))
}

/// What becomes of packets.
#[derive(Debug, Clone)]
pub struct Switching {
    config: LearningSwitch,
    /// The flow that forwards, of each version.
    flows: Vec<(Version, StationFlows)>,
}

impl Switching {
    /// Of a switch that behaves so.
    pub fn new(config: &LearningSwitch) -> Self {
        let flow = Flow { idle_timeout: config.idle_timeout, ..own_flow(config.mark) };
        let written = |version| Some((version, StationFlows::like(&flow, version).ok()?));
        Self { config: config.clone(), flows: Version::ALL.into_iter().filter_map(written).collect() }
    }

    /// What becomes of a batch of packets, and what is learned of it.
    ///
    /// A flow is for a port, a source and a destination, not for the destination alone: a source that shows up behind
    /// another port has no flow there, so that its first packet comes here and it is learned. It is installed at the
    /// switch that asks (thesis §4.2.1); every other switch asks for itself.
    ///
    /// Choice: a station is known by its address alone, in whatever VLAN it is ("shared learning", IEEE 802.1Q annex F),
    /// as flows are.
    ///
    /// Cost: of a packet, a look-up of its switch, unless that of the packet before is the same, and two of stations.
    pub fn packets(
        &self,
        batch: &Arc<PacketIns>,
        stations: Option<&Stations>,
        access: Option<&AccessList>,
    ) -> (Commands, Learned) {
        let mut commands = Commands::with_capacity(batch.len() * MESSAGE);
        let mut learned = Learned::default();
        // What this batch has taught, which is not in `stations` yet.
        let mut fresh: HashMap<(u64, Mac), Port> = HashMap::new();
        let access = access.filter(|list| !list.rules.is_empty());
        let mut sought = [Sought::default(); AT_ONCE];
        let mut begun = [(First::default(), First::default()); AT_ONCE];
        let mut table: Option<(u64, Option<&Table>)> = None;
        for (place, packet) in batch.iter().enumerate() {
            if place % AT_ONCE == 0 {
                for (sought, place) in sought.iter_mut().zip(place..) {
                    let Some(packet) = batch.get(place) else { break };
                    // Packets of a switch come one after the other, as they were read.
                    let own = match table {
                        Some((switch, own)) if switch == packet.switch => own,
                        _ => stations.and_then(|stations| stations.of(packet.switch)),
                    };
                    table = Some((packet.switch, own));
                    *sought = Sought::of(&packet, own);
                }
                for (begun, sought) in begun.iter_mut().zip(&sought) {
                    *begun = sought.begin();
                }
            }
            let Sought { source, destination, .. } = sought[place % AT_ONCE];
            let (mut behind_source, mut to) = sought[place % AT_ONCE].ports(begun[place % AT_ONCE]);
            let port = packet.in_port;
            let for_bridges = matches!(destination.0, [0x01, 0x80, 0xc2, 0, 0, 0..=0x0f]);
            let verdict = match access.map(|list| (list, Parsed::of(packet.frame))) {
                Some((list, Ok(parsed))) => Verdict::of(Some(list), &packet, &parsed),
                _ => Verdict::Free,
            };
            if !is_station(source) || !is_attachment(port) || for_bridges || verdict == Verdict::Denied {
                release(&packet, &mut commands);
                continue;
            }
            if !fresh.is_empty() {
                behind_source = fresh.get(&(packet.switch, source)).copied().or(behind_source);
                to = fresh.get(&(packet.switch, destination)).copied().or(to);
            }
            if behind_source != Some(port) {
                fresh.insert((packet.switch, source), port);
                learned.list.push(Seen {
                    switch: packet.switch,
                    version: packet.version.number(),
                    station: source.0,
                    port,
                });
            }
            let Some(to) = to else {
                send(batch, place, &packet, Port::FLOOD, &mut commands);
                continue;
            };
            if to == port || verdict != Verdict::Once {
                let between = Between {
                    in_port: port,
                    source: source.0,
                    destination: destination.0,
                    buffer: packet.buffer,
                    to,
                };
                if to == port || verdict != Verdict::Free || !self.forward(&packet, &between, &mut commands) {
                    let Some(flow) = self.flow(&packet, &between, verdict) else { continue };
                    commands.push(packet.switch, Command::Flow(flow));
                }
            }
            // With the flow, the switch sends what it keeps.
            if to != port && (packet.buffer.is_none() || verdict == Verdict::Once) {
                send(batch, place, &packet, to, &mut commands);
            }
        }
        (commands, learned)
    }

    /// Writes the flow that forwards, if its version has words for it.
    #[inline]
    fn forward(&self, packet: &PacketIn<'_>, between: &Between, commands: &mut Commands) -> bool {
        let flows = self.flows.iter().find(|(version, _)| *version == packet.version);
        flows.is_some_and(|(version, flows)| {
            commands.write(packet.switch, *version, |bytes| flows.emit_into(between, bytes)).is_ok()
        })
    }

    /// Any other flow.
    fn flow(&self, packet: &PacketIn<'_>, between: &Between, verdict: Verdict) -> Option<Flow> {
        let mut flow = between.flow(&own_flow(self.config.mark));
        if let Verdict::Permitted(priority) = verdict {
            let parsed = Parsed::of(packet.frame).ok()?;
            (flow.priority, flow.fields) = (priority, parsed.exactly(between.in_port, packet.version));
        }
        if between.to == between.in_port {
            (flow.actions, flow.hard_timeout) = (Actions::drop(), self.config.drop_timeout);
        } else {
            flow.idle_timeout = self.config.idle_timeout;
        }
        Some(flow)
    }
}

fn own_flow(mark: Mark) -> Flow {
    Flow { cookie: mark.cookie(0), ..Flow::add(FORWARDING, Fields::ANY, Actions::drop()) }
}

/// Bytes of a flow as it is written here, about.
const MESSAGE: usize = 104;

/// What is to be looked up of a packet. Of a frame that is none, the source is no station.
#[derive(Clone, Copy, Default)]
struct Sought<'a> {
    source: Mac,
    destination: Mac,
    places: Option<(Seek<'a, Station>, Seek<'a, Station>)>,
}

impl<'a> Sought<'a> {
    #[inline]
    fn of(packet: &PacketIn<'_>, table: Option<&'a Table>) -> Self {
        let Ok(frame) = ethernet::Frame::parse(packet.frame) else { return Self::default() };
        let (source, destination) = (frame.source(), frame.destination());
        let places = table.map(|table| (table.seek(source), table.seek(destination)));
        Self { source, destination, places }
    }

    #[inline]
    fn begin(&self) -> (First, First) {
        let begin = |(source, destination): (Seek<'a, Station>, Seek<'a, Station>)| {
            (source.begin(), destination.begin())
        };
        self.places.map(begin).unwrap_or_default()
    }

    /// Where its source and its destination are.
    #[inline]
    fn ports(&self, begun: (First, First)) -> (Option<Port>, Option<Port>) {
        let Some((source, destination)) = self.places else { return (None, None) };
        let port = |station: &Station| station.port;
        (source.end(begun.0).map(port), destination.end(begun.1).map(port))
    }
}

/// Folds what instances learned into the state. Flows to where a station was are deleted.
fn learn(
    config: &LearningSwitch,
    learned: Arc<Learned>,
    stations: Option<Arc<Stations>>,
    switches: Option<Arc<Switches>>,
) -> Result<(Perhaps<Stations>, Perhaps<Commands>), Failure> {
    let mut all = stations.map_or_else(Stations::default, |stations| (*stations).clone());
    let (mut commands, mut changed) = (Commands::default(), false);
    for Seen { switch, version, station, port } in &learned.list {
        // It may have gone since the packet was sent, and what was forgotten must stay so.
        if switches.as_ref().is_some_and(|switches| !is_up(switches, *switch, *port) && *port != Port::LOCAL)
        {
            continue;
        }
        changed = true;
        let before = all.learn(*switch, Mac(*station), *port, config.stations);
        if let (Some(before), Some(version)) = (before, Version::of(*version)) {
            let to = Fields { eth_dst: Some(*station), ..Fields::ANY };
            commands.extend(delete_leaving(version, to, before).map(|command| (*switch, command)));
        }
    }
    Ok((Perhaps(changed.then_some(all)), some(commands)))
}

/// Tables of switches that are not connected, at most. Choice: more than a network loses at once, far less than would fill memory if
/// somebody made switches up.
const AWAY: usize = 256;

/// Forgets the stations of ports that are down. A switch that is away keeps its own, since it most likely comes again as it was;
/// where too many are away, all of them but the one that goes lose theirs.
fn forget(
    events: Arc<SwitchEvents>,
    switches: Arc<Switches>,
    stations: Option<Arc<Stations>>,
) -> Result<(Perhaps<Stations>,), Failure> {
    let Some(stations) = stations else { return Ok((Perhaps(None),)) };
    let (mut all, mut changed) = ((*stations).clone(), false);
    for (switch, event) in &events.list {
        changed |= match event {
            SwitchEvent::Connected => {
                // It may have gone once more since.
                let down = |port: &Port| !was_up(&switches, *switch, *port) && *port != Port::LOCAL;
                let ports: Vec<Port> = all.ports(*switch).filter(down).collect();
                ports.into_iter().filter(|port| all.forget_port(*switch, *port)).count() > 0
            }
            SwitchEvent::Gone(_) => {
                let is_away = |of: &u64| !switches.known.get(of).is_some_and(|info| info.connected);
                let away: Vec<u64> = all.switches().filter(is_away).collect();
                let lost = away.iter().filter(|of| away.len() > AWAY && **of != *switch);
                lost.filter(|of| all.forget_switch(**of)).count() > 0
            }
            SwitchEvent::Port(port) if !was_up(&switches, *switch, *port) => all.forget_port(*switch, *port),
            _ => false,
        };
    }
    Ok((Perhaps(changed.then_some(all)),))
}
