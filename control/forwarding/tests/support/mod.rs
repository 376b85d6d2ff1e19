//! A network in memory: switches with flow tables that obey commands, links, and hosts with a small stack of their own.
#![allow(dead_code)]

mod host;
mod switch;

pub use host::{Host, frame};
pub use switch::{Entry, Switch};

use plait_control_forwarding::Set;
use plait_control_forwarding::access::AccessList;
use plait_control_openflow::*;
use plait_control_runtime::{
    Action as Do, Config, Content, InPlace, Name, Port as ViewPort, Report, Runtime, Signature, View, ViewId,
};
use plait_model_wire::ethernet::Mac;
use rpds::HashTrieMapSync;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

pub const DRIVER: &str = "switches-of-the-test";

/// A switch and one of its ports.
pub type End = (u64, u32);

pub struct Net {
    pub runtime: Runtime,
    pub now: Duration,
    pub switches: BTreeMap<u64, Switch>,
    pub links: BTreeMap<End, End>,
    pub hosts: Vec<Host>,
    /// Frames on their way, each with the end that it arrives at.
    pub wire: VecDeque<(End, Vec<u8>)>,
    requests: Vec<(u64, switch::Request)>,
    /// Frames that arrived anywhere, and packet-ins.
    pub moved: u64,
    pub packet_ins: u64,
    pub commands: u64,
    /// Whether the controller is told of nothing.
    pub deaf: bool,
    /// What waits for barriers, as its driver has it.
    pub gate: Gate,
    /// Switches that do what they are told so much later, and those whose answers to barriers are lost.
    pub slow: BTreeMap<u64, Duration>,
    pub mute: BTreeSet<u64>,
    /// What those that are away are owed, as their driver has it.
    pub owed: BTreeMap<u64, Debt>,
    /// What slow switches are yet to do.
    later: Vec<(Duration, u64, Late)>,
}

/// What a slow switch is told.
enum Late {
    Does(Command),
    Answers(Token),
}

pub fn name(text: &str) -> Name {
    text.parse().unwrap()
}

impl Net {
    pub fn new(set: Set) -> Self {
        let mut runtime = Runtime::new(Config::default());
        let outputs = vec![
            ViewPort::of::<PacketIns>(),
            ViewPort::of::<Probes>(),
            ViewPort::of::<SwitchEvents>(),
            ViewPort::of::<Switches>(),
            ViewPort::of::<AccessList>(),
        ];
        let inputs = vec![ViewPort::of::<Commands>(), ViewPort::of::<Staged>()];
        for view in ["packet-ins", "probes", "switch-events", "switches", "access-list"] {
            runtime.grant(&name(DRIVER), &name(view));
        }
        runtime.add_driver(&name(DRIVER), Signature { inputs, outputs }).unwrap();
        set.add_to(&mut runtime, Duration::ZERO).unwrap();
        Self {
            runtime,
            now: Duration::ZERO,
            switches: BTreeMap::new(),
            links: BTreeMap::new(),
            hosts: Vec::new(),
            wire: VecDeque::new(),
            requests: Vec::new(),
            moved: 0,
            packet_ins: 0,
            commands: 0,
            deaf: false,
            gate: Gate::default(),
            slow: BTreeMap::new(),
            mute: BTreeSet::new(),
            owed: BTreeMap::new(),
            later: Vec::new(),
        }
    }

    /// Adds switches of both versions in turn, not yet connected. Those that are even keep packets if `keep`.
    pub fn add_switches(&mut self, numbers: impl IntoIterator<Item = u64>, keep: bool) {
        for number in numbers {
            let version = if number % 2 == 0 { Version::V10 } else { Version::V13 };
            self.switches.insert(number, Switch::new(version, keep));
        }
    }

    fn free_port(&mut self, switch: u64) -> u32 {
        let ports = &mut self.switches.get_mut(&switch).unwrap().ports;
        let port = ports.keys().last().map_or(1, |last| last + 1);
        ports.insert(port, true);
        port
    }

    pub fn link(&mut self, a: u64, b: u64) -> (End, End) {
        let ends = ((a, self.free_port(a)), (b, self.free_port(b)));
        self.links.insert(ends.0, ends.1);
        self.links.insert(ends.1, ends.0);
        ends
    }

    /// Adds a host to a port of its own, and gives its number.
    pub fn host(&mut self, switch: u64) -> usize {
        let at = (switch, self.free_port(switch));
        self.hosts.push(Host::new(self.hosts.len(), at));
        self.hosts.len() - 1
    }

    /// Every switch connects.
    pub fn connect(&mut self) {
        let numbers: Vec<u64> = self.switches.keys().copied().collect();
        for number in &numbers {
            self.switches.get_mut(number).unwrap().connected = true;
        }
        let events = numbers.into_iter().map(|number| (number, SwitchEvent::Connected)).collect();
        self.tell_events(events);
        self.run();
    }

    /// Every switch connects, one after the other, before anything is done about any of them.
    pub fn connect_at_once(&mut self) {
        self.switches.values_mut().for_each(|switch| switch.connected = true);
        let known = Content::new(self.known());
        for number in self.switches.keys() {
            let list = vec![(*number, SwitchEvent::Connected)];
            let event = Content::new(SwitchEvents { list });
            let changes = vec![(Switches::id(), known.clone()), (SwitchEvents::id(), event)];
            self.runtime.handle_views(self.now, &name(DRIVER), changes).unwrap();
        }
        self.settle();
        self.run();
    }

    /// A link goes down or comes up, at both ends.
    pub fn set_link(&mut self, end: End, up: bool) {
        let other = self.links[&end];
        for (switch, port) in [end, other] {
            self.switches.get_mut(&switch).unwrap().ports.insert(port, up);
        }
        let event = |(switch, port): End| (switch, SwitchEvent::Port(Port(port)));
        self.tell_events(vec![event(end), event(other)]);
        self.run();
    }

    pub fn set_port(&mut self, end: End, up: bool) {
        self.switches.get_mut(&end.0).unwrap().ports.insert(end.1, up);
        self.tell_events(vec![(end.0, SwitchEvent::Port(Port(end.1)))]);
        self.run();
    }

    /// A switch dies: its links go down, and its connection ends.
    pub fn kill(&mut self, number: u64) {
        let ends: Vec<(End, End)> =
            self.links.iter().filter(|(end, _)| end.0 == number).map(|(a, b)| (*a, *b)).collect();
        let switch = self.switches.get_mut(&number).unwrap();
        (switch.connected, switch.dead) = (false, true);
        switch.flows.clear();
        let mut events = vec![(number, SwitchEvent::Gone("it died".into()))];
        for (_, (other, port)) in ends {
            self.switches.get_mut(&other).unwrap().ports.insert(port, false);
            events.push((other, SwitchEvent::Port(Port(port))));
        }
        self.tell_events(events);
        self.run();
    }

    /// A switch's connection ends, and nothing else of it.
    pub fn lose(&mut self, number: u64) {
        self.switches.get_mut(&number).unwrap().connected = false;
        self.tell_events(vec![(number, SwitchEvent::Gone("its connection was reset".into()))]);
        self.run();
    }

    /// It connects again.
    pub fn regain(&mut self, number: u64) {
        let switch = self.switches.get_mut(&number).unwrap();
        switch.connected = true;
        for command in self.owed.remove(&number).unwrap_or_default().commands(switch.version, Mark::default())
        {
            assert!(switch.obey(&command).is_empty());
        }
        self.tell_events(vec![(number, SwitchEvent::Connected)]);
        self.run();
    }

    fn known(&self) -> Switches {
        let mut known = HashTrieMapSync::new_sync();
        for (number, switch) in &self.switches {
            known.insert_mut(*number, Arc::new(switch.info()));
        }
        Switches { known }
    }

    fn tell_events(&mut self, list: Vec<(u64, SwitchEvent)>) {
        let known = Content::new(self.known());
        self.tell(vec![(Switches::id(), known), (SwitchEvents::id(), Content::new(SwitchEvents { list }))]);
    }

    pub fn set_access(&mut self, list: AccessList) {
        self.tell(vec![(AccessList::id(), Content::new(list))]);
        self.run();
    }

    /// The driver writes views, and what follows is done.
    pub fn tell(&mut self, changes: Vec<(ViewId, Content)>) {
        self.runtime.handle_views(self.now, &name(DRIVER), changes).unwrap();
        self.settle();
    }

    fn settle(&mut self) {
        let now = self.now;
        for action in self.runtime.settle(&mut InPlace::default(), || now) {
            match action {
                Do::Push(push) if push.view == Staged::id() => {
                    let told = self.gate.hold(now, &push.now.read::<Staged>().unwrap(), push.cause);
                    self.tell_switches(told);
                }
                Do::Push(push) => {
                    let commands = (*push.now.read::<Commands>().unwrap()).clone();
                    self.tell_switches(vec![Told { commands, barriers: Vec::new(), cause: push.cause }]);
                }
                Do::Report(Report::Committed { .. }) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    fn tell_switches(&mut self, all: Vec<Told>) {
        for Told { commands, barriers, .. } in all {
            let words = commands.words().into_iter().map(|(number, command)| (number, Late::Does(command)));
            let barriers = barriers.into_iter().map(|token| (token.switch, Late::Answers(token)));
            for (number, what) in words.chain(barriers) {
                self.commands += u64::from(matches!(what, Late::Does(_)));
                match self.slow.get(&number) {
                    Some(late) => self.later.push((self.now + *late, number, what)),
                    None => self.done(number, what),
                }
            }
        }
    }

    fn done(&mut self, number: u64, what: Late) {
        let is_connected = self.switches.get(&number).is_some_and(|switch| switch.connected);
        match what {
            Late::Does(command) if !is_connected => self.owed.entry(number).or_default().add(command),
            Late::Does(command) => {
                let out = self.switches.get_mut(&number).unwrap().obey(&command);
                self.leave(number, out);
            }
            Late::Answers(_) if is_connected && self.mute.contains(&number) => {}
            // Of one that is gone the driver says so.
            Late::Answers(token) => {
                let told = match is_connected {
                    true => self.gate.answered(token),
                    false => self.gate.abandoned(token),
                };
                self.tell_switches(told);
            }
        }
    }

    fn leave(&mut self, number: u64, out: Vec<switch::Out>) {
        for out in out {
            match out {
                switch::Out::Port(port, frame) => {
                    let end = (number, port);
                    if let Some(other) = self.links.get(&end) {
                        self.wire.push_back((*other, frame));
                        continue;
                    }
                    if let Some(host) = self.hosts.iter_mut().find(|host| host.at == end) {
                        for answer in host.hear(&frame) {
                            self.wire.push_back((end, answer));
                        }
                    }
                }
                switch::Out::Controller(request) => self.requests.push((number, request)),
            }
        }
    }

    /// A host sends a frame.
    pub fn send(&mut self, host: usize, frame: Vec<u8>) {
        self.wire.push_back((self.hosts[host].at, frame));
    }

    /// Moves frames and tells the controller of requests until there are none.
    pub fn run(&mut self) {
        let mut steps = 0;
        loop {
            while let Some(((number, port), frame)) = self.wire.pop_front() {
                steps += 1;
                assert!(steps < 200_000, "frames go round without end");
                self.moved += 1;
                let switch = self.switches.get_mut(&number).unwrap();
                if switch.dead || !switch.ports.get(&port).copied().unwrap_or(false) {
                    continue;
                }
                let out = switch.forward(port, frame);
                self.leave(number, out);
            }
            let requests = std::mem::take(&mut self.requests);
            if requests.is_empty() {
                return;
            }
            let (mut packets, mut probes) = (PacketIns::default(), PacketIns::default());
            for (number, switch::Request { port, buffer, total, frame }) in requests {
                let switch = &self.switches[&number];
                if !switch.connected || self.deaf {
                    continue;
                }
                let to = if frame[12..14] == [0x88, 0xcc] { &mut probes } else { &mut packets };
                to.push(&PacketIn {
                    switch: number,
                    version: switch.version,
                    in_port: Port(port),
                    buffer,
                    reason: 0,
                    table: 0,
                    cookie: u64::MAX,
                    total_length: total,
                    frame: &frame,
                });
            }
            self.packet_ins += packets.len() as u64;
            if !packets.is_empty() {
                self.tell(vec![(PacketIns::id(), Content::new(packets))]);
            }
            if !probes.is_empty() {
                self.tell(vec![(Probes::id(), Content::new(Probes(probes)))]);
            }
        }
    }

    /// Time passes, in steps of a tenth of a second.
    pub fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.now += Duration::from_millis(100);
            self.runtime.handle_timeout(self.now);
            self.settle();
            let (due, later) =
                std::mem::take(&mut self.later).into_iter().partition(|(due, ..)| *due <= self.now);
            self.later = later;
            let due: Vec<(Duration, u64, Late)> = due;
            due.into_iter().for_each(|(_, number, what)| self.done(number, what));
            let told = self.gate.handle_timeout(self.now);
            self.tell_switches(told);
            self.run();
        }
    }

    /// Whether `from` resolves `to`'s address, sends it an echo request and hears the answer.
    pub fn ping(&mut self, from: usize, to: usize) -> bool {
        let ip = self.hosts[to].ip;
        if !self.hosts[from].neighbours.contains_key(&ip) {
            let ask = self.hosts[from].ask(ip);
            self.send(from, ask);
            self.run();
        }
        let Some(mac) = self.hosts[from].neighbours.get(&ip).copied() else { return false };
        let before = self.hosts[from].echoes;
        let request = self.hosts[from].echo(mac, ip);
        self.send(from, request);
        self.run();
        self.hosts[from].echoes == before + 1
    }

    pub fn ping6(&mut self, from: usize, to: usize) -> bool {
        let ip = self.hosts[to].ip6;
        if !self.hosts[from].neighbours6.contains_key(&ip) {
            let ask = self.hosts[from].solicit(ip);
            self.send(from, ask);
            self.run();
        }
        let Some(mac) = self.hosts[from].neighbours6.get(&ip).copied() else { return false };
        let before = self.hosts[from].echoes;
        let request = self.hosts[from].echo6(mac, ip);
        self.send(from, request);
        self.run();
        self.hosts[from].echoes == before + 1
    }

    /// Which hosts hear a broadcast, and how often each.
    pub fn broadcast(&mut self, from: usize) -> Vec<usize> {
        let before: Vec<usize> = self.hosts.iter().map(|host| host.heard.len()).collect();
        self.send(from, frame(Mac::BROADCAST, self.hosts[from].mac, 0x9000, b"is anybody there?"));
        self.run();
        self.hosts.iter().zip(before).map(|(host, before)| host.heard.len() - before).collect()
    }

    pub fn view<T: View>(&self) -> Option<Arc<T>> {
        self.runtime.state().content(&T::id()).map(|content| content.read::<T>().unwrap())
    }

    /// All pairs ping each other.
    pub fn all_reach_all(&mut self) {
        let count = self.hosts.len();
        for (from, to) in (0..count).flat_map(|from| (0..count).map(move |to| (from, to))) {
            if from != to {
                assert!(self.ping(from, to), "{from} does not reach {to}");
            }
        }
    }
}

/// A ring of switches with a host each.
pub fn ring(set: Set, count: u64) -> Net {
    let mut net = Net::new(set);
    net.add_switches(1..=count, false);
    for number in 1..=count {
        net.link(number, number % count + 1);
    }
    for number in 1..=count {
        net.host(number);
    }
    net
}

/// A fat-tree of switches with four ports: 4 cores, 4 pods of 2 and 2, 16 hosts.
pub fn fat_tree(set: Set) -> Net {
    let mut net = Net::new(set);
    let (core, middle, edge) =
        (|i: u64| 1 + i, |pod: u64, i: u64| 101 + 2 * pod + i, |pod: u64, i: u64| 201 + 2 * pod + i);
    net.add_switches((0..4).map(core), false);
    net.add_switches((0..4).flat_map(|pod| (0..2).map(move |i| middle(pod, i))), false);
    net.add_switches((0..4).flat_map(|pod| (0..2).map(move |i| edge(pod, i))), false);
    for pod in 0..4 {
        for i in 0..2 {
            for j in 0..2 {
                net.link(core(2 * i + j), middle(pod, i));
                net.link(middle(pod, i), edge(pod, j));
            }
            net.host(edge(pod, i));
            net.host(edge(pod, i));
        }
    }
    net
}
