//! An interface whose packets are steered.

use ipnet::IpNet;
use plait_control_paths::RelayList;
use plait_control_paths::select::{FlowShare, Rearrangement, Rearranger};
use plait_dataplane_paths::{FlowKey, FlowReport, ListReport, PathDrop, Selector as Policy, Ways};
use plait_dataplane_reference::paths::tables::{Flow, ListCount, MovePlace, PrefixKey};
use plait_dataplane_reference::paths::{Steer, SteerTables, Steered, hash_of, mapped};
use plait_simulator_engine::{Leaving, Reason, Selected, Selector, StackIndex};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Flows that are known. Choice: as many as the testbed's tables have room for.
const FLOWS: usize = 65_536;

/// A prefix and by which ways it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SteeredPrefix {
    /// What is for it is steered.
    pub prefix: IpNet,
    /// Its lists, and which of them a flow goes by.
    pub ways: Ways,
    /// Of each list, its relays in the simulation and the bytes of their headers.
    pub stacks: Vec<(StackIndex, u32)>,
}

/// By which ways prefixes go: what interfaces that steer alike share.
#[derive(Debug, Default)]
pub struct SteeredWays {
    tables: Arc<SteerTables>,
    /// Prefixes by the numbers of their sets.
    prefixes: BTreeMap<u32, Prefix>,
    /// The number of the next set that is another than those before.
    next: u32,
    /// Relays by the number of their stack.
    relays: Vec<StackIndex>,
}

#[derive(Debug)]
struct Prefix {
    of: SteeredPrefix,
    stacks: Vec<u32>,
}

impl Prefix {
    fn is_rearranged(&self) -> bool {
        self.of.ways.selector == Policy::FlowBased
    }
}

impl SteeredWays {
    /// Of all these prefixes.
    pub fn new(all: Vec<SteeredPrefix>) -> Self {
        Self::default().then(all)
    }

    /// Of all these prefixes from now on, after those before. One that goes by the same ways keeps the number of its set; one of
    /// others gets a new one, so that nothing that was meant for its former lists is taken for these.
    pub fn then(&self, all: Vec<SteeredPrefix>) -> Self {
        let mut tables = SteerTables::default();
        let (mut prefixes, mut relays) = (BTreeMap::new(), self.relays.clone());
        let mut next = self.next;
        let before: BTreeMap<IpNet, (u32, &Prefix)> =
            self.prefixes.iter().map(|(set, known)| (known.of.prefix, (*set, known))).collect();
        for of in all {
            let before = before.get(&of.prefix);
            let set = match before {
                Some((set, known)) if known.of == of => *set,
                _ => {
                    next += 1;
                    next - 1
                }
            };
            let mut stack = |list: &(StackIndex, u32)| {
                let known = before.and_then(|(_, known)| {
                    known.of.stacks.iter().position(|known| known == list).map(|at| known.stacks[at])
                });
                known.unwrap_or_else(|| {
                    relays.push(list.0);
                    relays.len() as u32 - 1
                })
            };
            let stacks: Vec<u32> = of.stacks.iter().map(&mut stack).collect();
            let sized: Vec<(u32, u32)> =
                stacks.iter().zip(&of.stacks).map(|(place, (_, length))| (*place, *length)).collect();
            tables.sets.insert(set, of.ways.set(&sized));
            tables.stacks.extend(sized);
            tables.prefixes.insert(&PrefixKey::new(of.prefix.network(), of.prefix.prefix_len()), set);
            prefixes.insert(set, Prefix { of, stacks });
        }
        Self { tables: tables.into(), prefixes, next, relays }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.prefixes.is_empty()
    }

    /// Whether flows of any of them are moved.
    fn are_rearranged(&self) -> bool {
        self.prefixes.values().any(Prefix::is_rearranged)
    }
}

/// An interface whose packets are steered: what the program on the device and its agent are in a testbed.
#[derive(Debug)]
pub struct SteeredInterface {
    ways: Arc<SteeredWays>,
    steer: Steer,
    rearranger: Rearranger<FlowKey>,
    /// From one look at all flows to the next.
    period: Duration,
    /// When flows are looked at next; never where none is moved.
    next: Option<Duration>,
    moved: u64,
}

impl SteeredInterface {
    /// By these ways. A flow that moves must have been silent for the spread; what is sent begins `now`.
    pub fn new(ways: Arc<SteeredWays>, spread: Duration, now: Duration) -> Self {
        let spread = spread.as_nanos().try_into().unwrap_or(u64::MAX);
        let steer = Steer::new(spread, FLOWS, Arc::clone(&ways.tables));
        let (rearranger, period) = (Rearranger::default(), Duration::ZERO);
        Self { ways, steer, rearranger, period, next: None, moved: 0 }
            .rearranges(Rearrangement::default(), now)
    }

    /// The same, where flows are moved as said, from a period after `now` on.
    pub fn rearranges(mut self, how: Rearrangement, now: Duration) -> Self {
        self.steer.patience = how.patience.as_nanos().try_into().ok();
        self.rearranger = Rearranger::new(how.reading);
        self.period = how.period.max(Duration::from_nanos(1));
        self.next = self.ways.are_rearranged().then(|| now + self.period);
        self
    }

    /// The same, where a flow that was silent for longer is another one.
    pub fn forgets(mut self, idle: Option<Duration>) -> Self {
        self.steer.idle = idle.map(|idle| idle.as_nanos().try_into().unwrap_or(u64::MAX));
        self
    }

    /// By other ways from now on, which come [after](SteeredWays::then) those before. Flows stay by lists that are still there.
    pub fn set_ways(&mut self, ways: Arc<SteeredWays>, now: Duration) {
        self.steer.tables = Arc::clone(&ways.tables);
        let begins = now + self.period;
        self.next = ways.are_rearranged().then(|| self.next.unwrap_or(begins));
        self.ways = ways;
    }

    /// Each prefix's lists, and what went by them.
    pub fn lists(&self) -> Vec<ListReport> {
        let none = ListCount { packets: 0, bytes: 0 };
        let of = |known: &Prefix| {
            let lists = known.of.ways.lists.iter().zip(&known.stacks);
            let report = |(relays, stack): (&RelayList, &u32)| {
                let ListCount { packets, bytes } = self.steer.counts.get(stack).copied().unwrap_or(none);
                ListReport { prefix: known.of.prefix, relays: relays.clone(), packets, bytes }
            };
            lists.map(report).collect::<Vec<_>>()
        };
        self.ways.prefixes.values().flat_map(of).collect()
    }

    /// The flows that were heard of, in the order of their keys.
    pub fn flows(&self) -> Vec<FlowReport> {
        let report = |(key, flow): (&FlowKey, &Flow)| FlowReport {
            key: *key,
            prefix: self.ways.prefixes.get(&flow.set).map(|known| known.of.prefix),
            list: flow.list,
            moves: self.steer.move_of(key, flow),
            by_hand: false,
            packets: flow.packets,
            bytes: flow.bytes,
            heard: Duration::from_nanos(flow.heard),
        };
        let mut all: Vec<FlowReport> = self.steer.flows.iter().map(report).collect();
        all.sort_by_key(|flow| flow.key);
        all
    }

    /// How many flows rearrangement has moved. What is due by time alone is done when the next packet leaves.
    pub fn moved(&self) -> u64 {
        self.moved
    }

    /// What was dropped.
    pub fn drops(&self) -> &BTreeMap<PathDrop, u64> {
        &self.steer.drops
    }

    /// Moves flows, as often as it was time since the last packet. Choice: seconds count from the network's beginning, and
    /// what is due is done as the next packet leaves, which is the first that can tell.
    fn catch_up(&mut self, now: Duration) {
        let Some(next) = self.next.filter(|next| *next <= now) else { return };
        let period = self.period.as_nanos();
        let due = (now - next).as_nanos() / period + 1;
        // Of a period in which nothing was sent, nothing moves: neither of those that follow it.
        for _ in 0..due.min(2) {
            self.rearrange();
        }
        self.next = Some(next + Duration::from_nanos((period * due) as u64));
    }

    fn rearrange(&mut self) {
        let Self { ways, steer, rearranger, .. } = self;
        let shares = steer.flows.iter().map(|(key, flow)| {
            let moves = steer.move_of(key, flow).map(|list| list as usize);
            (
                Some(flow.set),
                FlowShare {
                    key: *key,
                    list: flow.list as usize,
                    moves,
                    by_hand: false,
                    bytes: flow.bytes,
                    hash: hash_of(key),
                },
            )
        });
        let lists = |set: &u32| {
            let known = ways.prefixes.get(set)?;
            known.is_rearranged().then_some(known.of.ways.lists.len())
        };
        for (set, key, list) in rearranger.run(shares, lists) {
            steer.move_flow(key, MovePlace { set, list: list as u32, by_hand: false });
            self.moved += 1;
        }
    }
}

impl Selector for SteeredInterface {
    fn select(&mut self, now: Duration, packet: &Leaving) -> Result<Selected, Reason> {
        self.catch_up(now);
        let [[a, b], [c, d]] = packet.ports.map(u16::to_be_bytes);
        let (source, destination) = (mapped(packet.source), mapped(packet.destination));
        let key = FlowKey { source, destination, ports: [a, b, c, d], protocol: packet.protocol.into() };
        match self.steer.transmit(&key, packet.frame, packet.mtu, now.as_nanos() as u64) {
            Ok(Steered { stack, at }) => {
                let relays = stack.map_or(StackIndex::NONE, |stack| self.ways.relays[stack as usize]);
                Ok(Selected { relays, at: Duration::from_nanos(at) })
            }
            // Choice: a testbed's kernel hears how long a packet may be and cuts those that follow; nothing is cut here.
            Err(_) => Err(Reason::TooBig),
        }
    }
}
