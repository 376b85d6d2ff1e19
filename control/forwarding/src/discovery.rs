//! Finding links: every port of every switch sends a probe, and who hears it is at the other end (thesis §4.2.1).
//!
//! A probe is authentic and of a recent round, so that nobody makes up links; who passes genuine probes from one port
//! to another makes the link that he then is.

use crate::Set;
use crate::links::{Heard, Link, Links, Probing, Settled};
use crate::outgoing::{is_up, send_bytes, some, was_up};
use crate::probe::Probe;
use crate::waiting::of_switches;
use plait_control_openflow::{
    Actions, Commands, Port, Probes, SwitchEvent, SwitchEvents, SwitchInfo, Switches,
};
use plait_control_runtime::{Dag, Failure, Manifest, Perhaps, native};
use plait_model_wire::ethernet::Mac;
use rpds::RedBlackTreeMapSync;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// How links are found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovery {
    /// From one round of probes to the next. Choice: a second, so that a link that dies without a word is gone in four,
    /// and one more probe a second and port costs nothing.
    pub interval: Duration,
    /// How many rounds a link may miss.
    pub missed: u64,
    /// For how many rounds a port is probed in vain before hosts are believed to be behind it. Choice: 2, as many as a
    /// probe needs that was sent just after one round and heard just before the next.
    pub settle: u64,
    /// For how long a switch that is not connected keeps its ports, links and hosts. Choice: 3 s, as long as a link may be unheard:
    /// one that died without a word, whose neighbours have no port that went down, is believed in as long. Open vSwitch waits for up
    /// to 8 s from one try to connect to the next.
    pub away: Duration,
    /// What authenticates probes. Whoever starts the controller draws it, anew each time.
    pub key: [u8; 32],
}

impl Discovery {
    /// With a key.
    pub fn new(key: [u8; 32]) -> Self {
        let (interval, away) = (Duration::from_secs(1), Duration::from_secs(3));
        Self { interval, missed: 3, settle: 2, away, key }
    }
}

/// The applications that find links.
///
/// ```text
///   time ─► probing ─► ageing          probes ─► discovery ─► heard, links
///              │          └─► heard, links, settled       switch-events ─► port-changes ─► all of them
///              └─► probing, commands
/// ```
pub fn discovery(config: &Discovery) -> Set {
    let (probing, ageing, hearing, changing) =
        (config.clone(), config.clone(), config.clone(), config.clone());
    Set::default()
        .with(
            Manifest::new("probing")
                .reads("switches@1")
                .reads("probing@1?")
                .writes("probing@1")
                .writes("~commands@1?"),
            native(move |(switches, before)| probe_all(&probing, switches, before)),
        )
        .with(
            Manifest::new("ageing")
                .reads("probing@1")
                .reads("heard@1?")
                .reads("links@1?")
                .reads("settled@1?")
                .writes("heard@1?")
                .writes("links@1?")
                .writes("settled@1?"),
            native(move |(probing, heard, links, settled)| age(&ageing, probing, heard, links, settled)),
        )
        .with(
            Manifest::new("discovery")
                .reads("~probes@1")
                .reads("switches@1")
                .reads("probing@1?")
                .reads("heard@1?")
                .reads("links@1?")
                .writes("heard@1?")
                .writes("links@1?"),
            native(move |(probes, switches, probing, heard, links)| {
                hear(&hearing, probes, switches, probing, heard, links)
            }),
        )
        .with(
            Manifest::new("port-changes")
                .reads("~switch-events@1")
                .reads("switches@1")
                .reads("probing@1?")
                .reads("heard@1?")
                .reads("links@1?")
                .reads("settled@1?")
                .writes("probing@1")
                .writes("heard@1?")
                .writes("links@1?")
                .writes("settled@1?")
                .writes("~commands@1?"),
            native(move |(events, switches, probing, heard, links, settled)| {
                change(&changing, events, switches, probing, heard, (links, settled))
            }),
        )
        .dag(Dag::chain("probing", &["probing", "ageing"]).every(config.interval))
        .dag(Dag::chain("discovery", &["discovery"]).on("probes@1"))
        .dag(Dag::chain("port-changes", &["port-changes"]).on("switch-events@1").policy(of_switches()))
}

fn ports(info: &SwitchInfo) -> impl Iterator<Item = (Port, Mac)> {
    let ports = info.ports.iter().filter(|port| info.connected && port.up && port.number.is_physical());
    ports.map(|port| (port.number, Mac(port.address)))
}

fn probe(key: &[u8], probe: Probe, source: Mac, commands: &mut Commands) {
    commands.push(probe.switch, send_bytes(probe.frame(key, source), Actions::output(probe.port)));
}

fn probe_all(
    config: &Discovery,
    switches: Arc<Switches>,
    before: Option<Arc<Probing>>,
) -> Result<(Probing, Perhaps<Commands>), Failure> {
    let mut probing = before.as_deref().cloned().unwrap_or_default();
    probing.round += 1;
    let mut commands = Commands::default();
    miss(config, &switches, &mut probing);
    for (switch, info) in switches.in_order() {
        for (port, source) in ports(info) {
            if !probing.since.contains_key(&(switch, port)) {
                probing.since.insert_mut((switch, port), probing.round);
            }
            let one = Probe { switch, port, round: probing.round };
            probe(&config.key, one, source, &mut commands);
        }
    }
    Ok((probing, some(commands)))
}

/// Takes note of switches that are not connected, and forgets the ports of those that are away for longer than they may be.
///
/// Choice: until then they keep ports, links and hosts, since a connection that breaks says nothing of the packets that pass its
/// switch, and flows of its neighbours would be deleted for nothing. Beyond that it is owed what led over its links. Its other flows
/// stay: another controller may have set them up meanwhile, and what is established goes on.
fn miss(config: &Discovery, switches: &Switches, probing: &mut Probing) {
    let is_away = |switch: &u64| !switches.known.get(switch).is_some_and(|info| info.connected);
    let all: BTreeSet<u64> = probing.since.keys().map(|(switch, _)| *switch).collect();
    let before = std::mem::replace(&mut probing.away, RedBlackTreeMapSync::new_sync());
    let rounds = config.away.as_nanos().div_ceil(config.interval.as_nanos().max(1)) as u64;
    for switch in all.into_iter().filter(is_away) {
        let first = before.get(&switch).copied().unwrap_or(probing.round);
        if first.saturating_add(rounds) > probing.round {
            probing.away.insert_mut(switch, first);
            continue;
        }
        let ports: Vec<_> = probing.since.keys().filter(|(of, _)| *of == switch).copied().collect();
        for port in &ports {
            probing.since.remove_mut(port);
        }
    }
}

/// What there is another set of.
type Changed = (Perhaps<Heard>, Perhaps<Links>, Perhaps<Settled>);

/// Forgets links that missed too many rounds, and counts ports that were probed for long enough. Of the links of a switch that is away
/// nobody can hear: they miss no round until it is there again, and are forgotten with its ports.
fn age(
    config: &Discovery,
    probing: Arc<Probing>,
    heard: Option<Arc<Heard>>,
    links: Option<Arc<Links>>,
    settled: Option<Arc<Settled>>,
) -> Result<Changed, Failure> {
    let late = |round: u64| round.saturating_add(config.missed) < probing.round;
    let (mut fresh, mut changed) = (None, None);
    let is_forgotten = |switch: u64| {
        let ports = (switch, Port(0))..=(switch, Port(u32::MAX));
        probing.since.range(ports).next().is_none()
    };
    let aged = |link: &Link, round: u64| match [link.from, link.to] {
        ends if ends.into_iter().any(is_forgotten) => None,
        ends if ends.iter().any(|end| probing.away.contains_key(end)) => Some(probing.round.min(round + 1)),
        _ => (!late(round)).then_some(round),
    };
    if let Some(left) = heard.and_then(|heard| heard.aged(aged)) {
        changed = left.links(links.as_deref());
        fresh = Some(left);
    }
    Ok((Perhaps(fresh), Perhaps(changed), Perhaps(settle(config, &probing, settled.as_deref()))))
}

/// The ports that are settled, unless they are those that were.
fn settle(config: &Discovery, probing: &Probing, before: Option<&Settled>) -> Option<Settled> {
    let long = |since: u64| since.saturating_add(config.settle) <= probing.round;
    let ports = probing.since.iter().filter(|(_, since)| long(**since)).map(|(port, _)| *port);
    let settled = Settled { ports: ports.collect() };
    (before != Some(&settled)).then_some(settled)
}

/// Folds probes into links.
fn hear(
    config: &Discovery,
    probes: Arc<Probes>,
    switches: Arc<Switches>,
    probing: Option<Arc<Probing>>,
    heard: Option<Arc<Heard>>,
    links: Option<Arc<Links>>,
) -> Result<(Perhaps<Heard>, Perhaps<Links>), Failure> {
    let now = probing.map_or(0, |probing| probing.round);
    let mut fresh = heard.as_deref().cloned().unwrap_or_default();
    let mut changed = false;
    for packet in probes.0.iter() {
        let Ok(Some(Probe { switch, port, round })) = Probe::of(packet.frame, &config.key) else { continue };
        let recent = round <= now && now - round <= config.missed;
        let up = was_up(&switches, switch, port) && is_up(&switches, packet.switch, packet.in_port);
        if recent && up {
            let link = Link { from: switch, from_port: port, to: packet.switch, to_port: packet.in_port };
            if fresh.last.get(&link).is_none_or(|last| *last < round) {
                fresh.last.insert_mut(link, round);
                changed = true;
            }
        }
    }
    let links = fresh.links(links.as_deref()).filter(|_| changed);
    Ok((Perhaps(changed.then_some(fresh)), Perhaps(links)))
}

/// What a port loses is gone at once, and what is new is probed at once. A switch that only is not heard any more has some rounds.
#[allow(clippy::type_complexity, reason = "it writes what it reads")]
fn change(
    config: &Discovery,
    events: Arc<SwitchEvents>,
    switches: Arc<Switches>,
    probing: Option<Arc<Probing>>,
    heard: Option<Arc<Heard>>,
    (links, settled): (Option<Arc<Links>>, Option<Arc<Settled>>),
) -> Result<(Probing, Perhaps<Heard>, Perhaps<Links>, Perhaps<Settled>, Perhaps<Commands>), Failure> {
    let mut probing = probing.as_deref().cloned().unwrap_or_default();
    let mut commands = Commands::default();
    for (switch, event) in &events.list {
        let new = match event {
            SwitchEvent::Connected => None,
            SwitchEvent::Port(port) => Some(*port),
            _ => continue,
        };
        let Some(info) = switches.known.get(switch) else { continue };
        for (port, source) in ports(info).filter(|(port, _)| new.is_none_or(|new| new == *port)) {
            if !probing.since.contains_key(&(*switch, port)) {
                probing.since.insert_mut((*switch, port), probing.round);
            }
            probe(&config.key, Probe { switch: *switch, port, round: probing.round }, source, &mut commands);
        }
    }
    let gone: Vec<_> =
        probing.since.keys().filter(|(switch, port)| !was_up(&switches, *switch, *port)).copied().collect();
    for port in &gone {
        probing.since.remove_mut(port);
    }
    let dead = |link: &Link| {
        !was_up(&switches, link.from, link.from_port) || !was_up(&switches, link.to, link.to_port)
    };
    let mut left = None;
    if let Some(heard) = heard.filter(|heard| heard.last.keys().any(dead)) {
        left = Some(heard.without(|link, _| dead(link)));
    }
    let links = left.as_ref().and_then(|left| left.links(links.as_deref()));
    let settled = settle(config, &probing, settled.as_deref());
    Ok((probing, Perhaps(left), Perhaps(links), Perhaps(settled), some(commands)))
}
