//! Packets over all ways in turn, and what each stage cost them.

use crate::device::index;
use crate::lab::{Endpoints, Kind, Lab, Way};
use crate::stages::{Stage, cut};
use crate::{Error, Tunnel};
use plait_dataplane_bpf::{Attachment, Probes, Stamps};
use plait_dataplane_reference::tables::{Journey, passage};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Bytes of Ethernet, IPv4 and UDP before a datagram's payload.
const HEADERS: usize = 14 + 20 + 8;
/// Packets that take a way before the next way's turn. Choice: caches are warm, as a generator's are that sends one flow,
/// and a processor that changes its speed from one second to the next does so for all ways.
const TURN: usize = 20;
/// Packets of the thesis.
const FEW: usize = 300;
/// Times that sets of probes take turns.
const BLOCKS: usize = 4;

/// What is measured.
#[derive(Debug, Clone)]
pub struct Options {
    /// Packets for each way.
    pub packets: usize,
    /// Bytes of each, with Ethernet header.
    pub frame: usize,
}

/// What sending costs by each way.
#[derive(Debug, Clone, Serialize)]
pub struct Profile {
    /// The kernel's version.
    pub kernel: String,
    /// Packets that were sent by each way.
    pub packets: usize,
    /// Bytes of each.
    pub frame: usize,
    /// What two stamps with nothing between them are apart, in nanoseconds; by where they are.
    pub empty: BTreeMap<&'static str, f64>,
    /// Tunnels that this kernel does not have.
    pub absent: Vec<&'static str>,
    /// The ways.
    pub ways: Vec<Costs>,
}

/// What sending costs by one way, in nanoseconds, without what stamps cost.
#[derive(Debug, Clone, Serialize)]
pub struct Costs {
    /// The way's name.
    pub way: String,
    /// Packets whose stamps came in the way's usual order: of others an interrupt had a part.
    pub kept: usize,
    /// Each stage's, in a packet's order.
    pub stages: Vec<(Stage, Quartiles)>,
    /// From the call to the driver's end.
    pub total: Quartiles,
    /// Median of the first 300 of them.
    pub total_of_300: f64,
    /// Median of as many packets with stamps at both ends alone: what is left to doubt.
    pub ends: f64,
}

/// Where a quarter, half, and three quarters of values lie below.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Quartiles {
    /// A quarter.
    pub lower: f64,
    /// Half.
    pub median: f64,
    /// Three quarters.
    pub upper: f64,
}

impl Quartiles {
    /// Those of some values; of none, nothing.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let last = values.len().checked_sub(1)? as f64;
        let at = |share: f64| values[(last * share).round() as usize];
        Some(Self { lower: at(0.25), median: at(0.5), upper: at(0.75) })
    }

    fn less(self, cost: f64) -> Self {
        Self { lower: self.lower - cost, median: self.median - cost, upper: self.upper - cost }
    }
}

/// A packet's passages and when they were.
type Seen = Vec<(u32, u64)>;

/// Builds hosts, sends packets between them by each way, and says what that cost. `told` hears how many of the turns are over.
///
/// # Errors
/// No permission; programs that the kernel does not take; a way without packets.
pub fn profile(options: &Options, mut told: impl FnMut(usize, usize)) -> Result<Profile, Error> {
    if plait_dataplane_overlay::needs::place().is_err() {
        return Err(Error::NoPlace);
    }
    let lab = Lab::endpoints(Endpoints { tunnels: &Tunnel::ALL, ..Endpoints::default() })?;
    // Where it may not, it wanders, and quartiles say so.
    let _ = plait_dataplane_processors::stay_on(0);
    let senders = lab.ways.iter().map(sender).collect::<Result<Vec<_>, _>>()?;
    let payload = vec![0; options.frame.saturating_sub(HEADERS)];
    let mut seen: HashMap<u8, Vec<Vec<Seen>>> = HashMap::new();
    for step in 0..BLOCKS {
        for (number, probes) in [Probes::Twice, Probes::Ends, Probes::All].into_iter().enumerate() {
            let packets = options.packets * (step + 1) / BLOCKS - options.packets * step / BLOCKS;
            let journeys = send(&lab.ways, &senders, &payload, packets, probes)?;
            let all = seen.entry(number as u8).or_insert_with(|| vec![Vec::new(); senders.len()]);
            for (all, journeys) in all.iter_mut().zip(journeys) {
                all.extend(journeys);
            }
            told(step * 3 + number + 1, BLOCKS * 3);
        }
    }
    let mut take = |number| seen.remove(&number).unwrap_or_default();
    let (twice, ends, all) = (take(0), take(1), take(2));
    let empty = Empty::of(&twice);
    let ways = lab.ways.iter().zip(all).zip(ends);
    let ways = ways.map(|((way, all), ends)| costs(way, all, ends, &empty)).collect::<Result<_, _>>()?;
    Ok(Profile {
        kernel: std::fs::read_to_string("/proc/sys/kernel/osrelease")?.trim().to_owned(),
        packets: options.packets,
        frame: options.frame,
        empty: empty.named(),
        absent: lab.absent.iter().map(|tunnel| tunnel.name()).collect(),
        ways,
    })
}

/// A socket at the beginning of a way, whose neighbours and stations are known.
fn sender(way: &Way) -> io::Result<UdpSocket> {
    let receiver = way.to.namespace.run(|| UdpSocket::bind((way.to.address, 0)))??;
    let sender = way.from.namespace.run(|| UdpSocket::bind((way.from.address, 0)))??;
    sender.connect(receiver.local_addr()?)?;
    receiver.set_read_timeout(Some(Duration::from_secs(2)))?;
    let mut buffer = [0; 64];
    for _ in 0..100 {
        sender.send(&[0; 22])?;
        receiver.recv(&mut buffer).map_err(|error| {
            io::Error::new(error.kind(), format!("no packet arrives by {}: {error}", way.name))
        })?;
    }
    Ok(sender)
}

/// Sends packets by all ways in turn, and says what was seen of each: way by way, packet by packet.
fn send(
    ways: &[Way],
    senders: &[UdpSocket],
    payload: &[u8],
    packets: usize,
    probes: Probes,
) -> Result<Vec<Vec<Seen>>, Error> {
    let stamps = Stamps::start(probes)?;
    let mut attached: Vec<Attachment> = Vec::new();
    let mut links = Vec::new();
    for way in ways {
        let (here, there) =
            (index(&way.from.namespace, &way.from.device)?, index(&way.to.namespace, &way.to.below)?);
        attached.push(way.to.namespace.run(|| stamps.sink(there))??);
        if way.kind == Kind::Overlay {
            attached.extend(way.from.namespace.run(|| stamps.enter(here))??);
        }
    }
    // All ways begin at one host.
    if let Some(way) = ways.first() {
        links = way.from.namespace.run(|| stamps.out())??;
    }
    let by_socket: HashMap<u32, usize> =
        senders.iter().enumerate().map(|(way, sender)| (sender.as_raw_fd() as u32, way)).collect();
    let mut seen = vec![Vec::with_capacity(packets); senders.len()];
    let mut sent = 0;
    while sent < packets {
        let turn = TURN.min(packets - sent);
        for sender in senders {
            for _ in 0..turn {
                sender.send(payload)?;
            }
        }
        sent += turn;
        for journey in stamps.take()? {
            if let Some(way) = by_socket.get(&journey.socket) {
                seen[*way].push(read(&journey));
            }
        }
    }
    // Those of network namespaces end where they are.
    drop(links);
    drop(attached);
    Ok(seen)
}

/// A packet's passages until the driver is done with it: what comes then is the other host's part.
fn read(journey: &Journey) -> Seen {
    let kept = journey.stamps.iter().take(journey.count as usize);
    let mut seen: Seen = kept.map(|stamp| (stamp.passage as u32, stamp.time)).collect();
    let is_last = |passed: u32| passed & !passage::AGAIN == passage::SENT;
    let sent = seen.iter().position(|(passed, _)| is_last(*passed)).unwrap_or(seen.len());
    seen.truncate(sent + seen[sent..].iter().take(2).filter(|(passed, _)| is_last(*passed)).count());
    seen
}

/// What stamps cost: how far one is from the next with nothing between them.
struct Empty(HashMap<u32, f64>);

impl Empty {
    fn of(twice: &[Vec<Seen>]) -> Self {
        let mut apart: HashMap<u32, Vec<f64>> = HashMap::new();
        for pair in twice.iter().flatten().flat_map(|seen| seen.windows(2)) {
            let [(first, began), (second, ended)] = pair else { continue };
            if *second == first | passage::AGAIN {
                apart.entry(*first).or_default().push(ended.saturating_sub(*began) as f64);
            }
        }
        Self(apart.into_iter().filter_map(|(at, values)| Some((at, Quartiles::of(values)?.median))).collect())
    }

    /// Of a passage. Choice: where routes are looked up, as at a queue, which is a tracepoint, too.
    fn at(&self, passed: u32) -> f64 {
        let passed = if passed == passage::LOOKUP { passage::QUEUE } else { passed };
        self.0.get(&passed).copied().unwrap_or_default()
    }

    /// What stamps cost from the first of some to the last: of each a part comes before the clock is read, and the rest
    /// after. Choice: half and half.
    fn within(&self, passages: &[u32]) -> f64 {
        passages.windows(2).map(|pair| (self.at(pair[0]) + self.at(pair[1])) / 2.0).sum()
    }

    fn named(&self) -> BTreeMap<&'static str, f64> {
        let names = [
            (passage::SEND, "call"),
            (passage::OUT, "out"),
            (passage::ENTER, "enter"),
            (passage::QUEUE, "queue"),
            (passage::START, "start"),
            (passage::SENT, "sent"),
        ];
        names.iter().filter_map(|(at, name)| Some((*name, *self.0.get(at)?))).collect()
    }
}

/// Packets whose passages are those that most have.
fn usual(all: Vec<Seen>) -> (Vec<u32>, Vec<Seen>) {
    let passages = |seen: &Seen| seen.iter().map(|(passed, _)| *passed).collect::<Vec<_>>();
    let mut counts: HashMap<Vec<u32>, usize> = HashMap::new();
    for seen in &all {
        *counts.entry(passages(seen)).or_default() += 1;
    }
    let usual = counts.into_iter().max_by_key(|(_, count)| *count).map(|(passages, _)| passages);
    let usual = usual.unwrap_or_default();
    let kept = all.into_iter().filter(|seen| passages(seen) == usual).collect();
    (usual, kept)
}

/// From one stamp to another of each packet.
fn apart(kept: &[Seen], from: usize, to: usize) -> Vec<f64> {
    kept.iter().map(|seen| seen[to].1.saturating_sub(seen[from].1) as f64).collect()
}

fn costs(way: &Way, all: Vec<Seen>, ends: Vec<Seen>, empty: &Empty) -> Result<Costs, Error> {
    let packets = all.len();
    let (passages, kept) = usual(all);
    let unseen = || Error::Unseen { way: way.name.clone(), packets, kept: kept.len() };
    let cuts = cut(&passages).filter(|_| kept.len() * 2 > packets).ok_or_else(unseen)?;
    let quartiles = |from: usize, to: usize| {
        Quartiles::of(apart(&kept, from, to)).map(|of| of.less(empty.within(&passages[from..=to])))
    };
    let mut stages = Vec::new();
    for cut in &cuts {
        stages.push((cut.stage, quartiles(cut.from, cut.to).ok_or_else(unseen)?));
    }
    let last = cuts.last().map_or(0, |cut| cut.to);
    let total = quartiles(0, last).ok_or_else(unseen)?;
    let few = Quartiles::of(apart(&kept[..kept.len().min(FEW)], 0, last)).ok_or_else(unseen)?;
    let (at_ends, kept_ends) = usual(ends);
    let end = at_ends.iter().position(|passed| *passed == passage::SENT).ok_or_else(unseen)?;
    let ends = Quartiles::of(apart(&kept_ends, 0, end)).ok_or_else(unseen)?;
    Ok(Costs {
        way: way.name.clone(),
        kept: kept.len(),
        stages,
        total,
        total_of_300: few.less(empty.within(&passages[..=last])).median,
        ends: ends.less(empty.within(&at_ends[..=end])).median,
    })
}
