//! Speakers of EVPN around a reflector that is a simulated one: what they tell, what they learn, what they keep.

use plait_control_overlay::evpn::{Action, Change, Config, Speaker, State, Station, group_of, node_of};
use plait_model_overlay::{Application, NodeId, Operation, Overlay};
use plait_model_wire::bgp::*;
use plait_model_wire::ethernet::Mac;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

const A: Application = Application::ETHERNET;
const AS: u32 = 65_000;
const VNI: u32 = 42;
const HOLD: Duration = Duration::from_secs(9);
const STEP: Duration = Duration::from_millis(100);

fn vtep(last: u8) -> IpAddr {
    [192, 0, 2, last].into()
}

fn mac(last: u8) -> Mac {
    Mac([2, 0, 0, 0, 0, last])
}

/// A node: its speaker, and the tables that follow it.
struct Node {
    speaker: Speaker,
    is_connected: bool,
    /// What the reflector has of it.
    routes: BTreeMap<RouteKey, Update>,
    overlay: Overlay,
    stations: BTreeMap<(u32, Mac), NodeId>,
    changes: usize,
    closed: usize,
    notified: Vec<Notification>,
}

/// All nodes, and the reflector between them.
struct World {
    now: Duration,
    nodes: Vec<Node>,
    /// Whether the reflector answers.
    is_up: bool,
    says_end: bool,
}

impl World {
    fn new(count: u8) -> Self {
        let nodes = (1..=count).map(|last| Node::new(config(vtep(last)), Duration::ZERO)).collect();
        let mut world = Self { now: Duration::ZERO, nodes, is_up: true, says_end: true };
        for (at, last) in (1..=count).enumerate() {
            world.local(at, &[(mac(last), false)]);
        }
        world
    }

    fn local(&mut self, at: usize, stations: &[(Mac, bool)]) {
        let of = |(mac, is_sticky): &(Mac, bool)| Station { mac: *mac, is_sticky: *is_sticky };
        let local = BTreeMap::from([(VNI, stations.iter().map(of).collect::<BTreeSet<_>>())]);
        self.nodes[at].speaker.handle_local(self.now, local);
        self.settle();
    }

    fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.now += STEP;
            for node in &mut self.nodes {
                node.speaker.handle_timeout(self.now);
            }
            self.settle();
        }
    }

    /// Carries messages until nobody has any.
    fn settle(&mut self) {
        loop {
            let mut said = VecDeque::new();
            for (at, node) in self.nodes.iter_mut().enumerate() {
                node.follow();
                while let Some(action) = node.speaker.poll_action() {
                    said.push_back((at, action));
                }
            }
            if said.is_empty() {
                return;
            }
            for (at, action) in said {
                self.act(at, action);
            }
        }
    }

    fn act(&mut self, at: usize, action: Action) {
        match action {
            Action::Connect if self.is_up => {
                self.nodes[at].is_connected = true;
                self.nodes[at].speaker.handle_connected(self.now);
            }
            Action::Connect => self.nodes[at].speaker.handle_closed(self.now, "refused"),
            Action::Close => {
                self.nodes[at].closed += 1;
                self.forget(at);
            }
            Action::Send(bytes) if self.nodes[at].is_connected => {
                assert_eq!(length(&bytes), Ok(Some(bytes.len())));
                self.hear(at, Message::parse(&bytes).expect("speakers speak BGP"));
            }
            Action::Send(_) => {}
        }
    }

    /// What the reflector does.
    fn hear(&mut self, at: usize, message: Message) {
        match message {
            Message::Open(open) => {
                assert_eq!((open.as_number, open.hold), (AS, HOLD.as_secs() as u16));
                let id = Ipv4Addr::new(192, 0, 2, 254);
                self.tell(at, &Message::Open(Open { id, ..open }));
                self.tell(at, &Message::Keepalive);
                for update in self.others(at) {
                    self.tell(at, &Message::Update(update));
                }
                if self.says_end {
                    self.tell(at, &Message::Update(Update::end()));
                }
            }
            Message::Update(update) => {
                for route in &update.withdrawn {
                    self.nodes[at].routes.remove(&route.key());
                }
                for route in &update.reached {
                    let alone = Update { reached: vec![*route], ..update.clone() };
                    self.nodes[at].routes.insert(route.key(), alone);
                }
                if !update.is_end {
                    self.reflect(at, &Message::Update(update));
                }
            }
            Message::Notification(notification) => self.nodes[at].notified.push(notification),
            Message::Keepalive => {
                if self.nodes[at].speaker.report().state == State::Established {
                    self.tell(at, &Message::Keepalive);
                }
            }
            Message::RouteRefresh(_) => unreachable!("speakers ask for nothing"),
        }
    }

    fn others(&self, at: usize) -> Vec<Update> {
        let others = self.nodes.iter().enumerate().filter(|(other, _)| *other != at);
        others.flat_map(|(_, node)| node.routes.values().cloned()).collect()
    }

    fn reflect(&mut self, at: usize, message: &Message) {
        for other in (0..self.nodes.len()).filter(|other| *other != at) {
            self.tell(other, message);
        }
    }

    /// In pieces, since a stream has no edges.
    fn tell(&mut self, at: usize, message: &Message) {
        if !self.nodes[at].is_connected {
            return;
        }
        for piece in message.emit().chunks(7) {
            self.nodes[at].speaker.handle_bytes(self.now, piece);
        }
    }

    /// A node's connection is gone, and with it what the reflector has of it.
    fn forget(&mut self, at: usize) {
        self.nodes[at].is_connected = false;
        let gone = std::mem::take(&mut self.nodes[at].routes);
        let withdrawn: Vec<Route> = gone.into_values().flat_map(|update| update.reached).collect();
        if !withdrawn.is_empty() && self.is_up {
            self.reflect(at, &Message::Update(Update { withdrawn, ..Update::default() }));
        }
    }

    fn stop(&mut self) {
        self.is_up = false;
        for at in 0..self.nodes.len() {
            self.nodes[at].routes.clear();
            self.nodes[at].is_connected = false;
            self.nodes[at].speaker.handle_closed(self.now, "reset");
        }
        self.settle();
    }

    /// Where each station is, as a node's tables have it.
    fn place(&self, at: usize, mac: Mac) -> Option<NodeId> {
        self.nodes[at].stations.get(&(VNI, mac)).copied()
    }

    fn flood(&self, at: usize) -> BTreeSet<NodeId> {
        let tables = self.nodes[at].overlay.tables(A);
        tables.and_then(|tables| tables.routes.get(&group_of(VNI)).cloned()).unwrap_or_default()
    }

    fn sequence(&self, at: usize, mac: Mac) -> Option<(bool, u32)> {
        let mut all = self.nodes[at].routes.values();
        let update = all.find(|update| matches!(update.reached[0], Route::MacIp(of) if of.mac == mac))?;
        let found = update.attributes.communities.iter().find_map(|mark| match *mark {
            ExtendedCommunity::MacMobility { is_sticky, sequence } => Some((is_sticky, sequence)),
            _ => None,
        });
        Some(found.unwrap_or_default())
    }
}

fn config(vtep: IpAddr) -> Config {
    Config { application: A, vtep, as_number: AS, remote_as: AS, hold: HOLD }
}

impl Node {
    fn new(config: Config, now: Duration) -> Self {
        Self {
            speaker: Speaker::new(config, now),
            is_connected: false,
            routes: BTreeMap::new(),
            overlay: Overlay::default(),
            stations: BTreeMap::new(),
            changes: 0,
            closed: 0,
            notified: Vec::new(),
        }
    }

    /// Does what the speaker says, each thing as one, and looks that nothing leads where nobody is.
    fn follow(&mut self) {
        while let Some(change) = self.speaker.poll_change() {
            self.changes += 1;
            match change {
                Change::Operation(operation) => {
                    self.overlay.apply(&operation).unwrap_or_else(|error| panic!("{operation:?}: {error}"));
                    if let Operation::NodeDel { node, .. } = operation {
                        assert!(
                            !self.stations.values().any(|at| *at == node),
                            "stations at a node that is gone"
                        );
                    }
                }
                Change::Station { vni, mac, node: Some(node) } => {
                    assert!(self.overlay.tables(A).unwrap().routes.contains_key(&node));
                    self.stations.insert((vni, mac), node);
                }
                Change::Station { vni, mac, node: None } => drop(self.stations.remove(&(vni, mac))),
            }
        }
    }
}

#[test]
fn speakers_learn_of_each_other_by_their_reflector() {
    let mut world = World::new(3);
    world.run(Duration::from_secs(1));
    for at in 0..3 {
        let others: Vec<u8> = (1..=3).filter(|last| usize::from(*last) != at + 1).collect();
        assert_eq!(world.flood(at), others.iter().map(|last| node_of(vtep(*last))).collect());
        for last in others {
            assert_eq!(world.place(at, mac(last)), Some(node_of(vtep(last))));
        }
        assert_eq!(world.place(at, mac(at as u8 + 1)), None, "an own station is nowhere else");
    }
    // Keepalives go on, and nothing else.
    let before: Vec<usize> = world.nodes.iter().map(|node| node.changes).collect();
    world.run(HOLD * 3);
    assert_eq!(world.nodes.iter().map(|node| node.changes).collect::<Vec<_>>(), before);
    assert!(world.nodes.iter().all(|node| node.closed == 0));
}

#[test]
fn what_is_withdrawn_is_no_more() {
    let mut world = World::new(3);
    world.run(Duration::from_secs(1));
    world.local(1, &[]);
    assert_eq!(world.place(0, mac(2)), None);
    assert!(world.flood(0).contains(&node_of(vtep(2))), "the VNI is still there");
    world.nodes[1].speaker.handle_local(world.now, BTreeMap::new());
    world.settle();
    assert_eq!(world.flood(0), BTreeSet::from([node_of(vtep(3))]));
    assert!(!world.nodes[0].overlay.tables(A).unwrap().nodes.contains_key(&node_of(vtep(2))));
    // Who has no VNI wants nothing of it.
    assert!(world.nodes[1].overlay.tables(A).is_none() && world.nodes[1].stations.is_empty());
    world.local(1, &[(mac(2), false)]);
    assert_eq!(world.place(1, mac(3)), Some(node_of(vtep(3))), "what was told before counts now");
}

#[test]
fn a_neighbour_that_is_back_in_time_takes_no_entry_along() {
    for says_end in [true, false] {
        let mut world = World::new(3);
        world.says_end = says_end;
        world.run(Duration::from_secs(1));
        let before = world.nodes[0].changes;
        world.stop();
        world.run(HOLD / 3);
        assert_eq!(world.nodes[0].changes, before);
        world.is_up = true;
        world.run(HOLD * 3);
        assert_eq!(world.nodes[0].speaker.report().state, State::Established);
        assert_eq!(world.nodes[0].changes, before, "nothing came that was not there, and nothing went");
    }
}

#[test]
fn what_a_neighbour_told_that_is_gone_lasts_its_hold_time() {
    let mut world = World::new(2);
    world.run(Duration::from_secs(1));
    world.stop();
    world.run(HOLD * 2);
    assert!(world.nodes[0].stations.is_empty() && world.nodes[0].overlay.tables(A).is_none());
    world.is_up = true;
    world.run(Duration::from_secs(40));
    assert_eq!(world.place(0, mac(2)), Some(node_of(vtep(2))));
}

#[test]
fn a_silent_neighbour_is_told_and_left_after_the_hold_time() {
    let mut world = World::new(2);
    world.run(Duration::from_secs(1));
    // Nobody closes anything: what is sent is heard by nobody.
    world.nodes[0].is_connected = false;
    world.is_up = false;
    world.run(HOLD - Duration::from_secs(4));
    assert_eq!(world.place(0, mac(2)), Some(node_of(vtep(2))));
    world.run(Duration::from_secs(8));
    assert!(world.nodes[0].stations.is_empty());
    assert!(world.nodes[0].closed > 0);
}

#[test]
fn a_station_that_moves_is_taken_with_a_higher_number_each_time() {
    let mut world = World::new(3);
    world.run(Duration::from_secs(1));
    let moving = mac(9);
    world.local(0, &[(mac(1), false), (moving, false)]);
    assert_eq!(world.sequence(0, moving), Some((false, 0)));
    for (number, (to, from)) in [(1, 0), (0, 1), (1, 0)].into_iter().enumerate() {
        // Others hear of it before the node it left does anything.
        world.local(to, &[(mac(to as u8 + 1), false), (moving, false)]);
        assert_eq!(world.sequence(to, moving), Some((false, number as u32 + 1)));
        assert_eq!(world.sequence(from, moving), None, "who had it yields");
        for at in [2, from] {
            assert_eq!(world.place(at, moving), Some(node_of(vtep(to as u8 + 1))));
        }
        assert_eq!(world.place(to, moving), None);
        world.local(from, &[(mac(from as u8 + 1), false)]);
        assert_eq!(
            world.place(2, moving),
            Some(node_of(vtep(to as u8 + 1))),
            "the old place's end changes nothing"
        );
    }
}

#[test]
fn a_withdrawal_that_comes_late_or_early_leaves_the_station_at_its_new_place() {
    let mut world = World::new(2);
    world.run(Duration::from_secs(1));
    let said = |last: u8, sequence: u32| {
        let distinguisher = Distinguisher::of(Ipv4Addr::new(192, 0, 2, last), 1);
        let (segment, ip, routed_vni) = ([0; 10], None, None);
        let route = MacIp { distinguisher, segment, tag: 0, mac: mac(9), ip, vni: VNI, routed_vni };
        let communities = vec![
            ExtendedCommunity::RouteTarget { as_number: 1, number: 1 << 28 | VNI },
            ExtendedCommunity::MacMobility { is_sticky: false, sequence },
        ];
        let attributes = Attributes { communities, local_preference: Some(100), ..Attributes::default() };
        let reached = vec![Route::MacIp(route)];
        Update { reached, next_hop: Some(vtep(last)), attributes, ..Update::default() }
    };
    let gone = |last: u8| Update { withdrawn: said(last, 0).reached, ..Update::default() };
    // The order of moves decides, not the order of words.
    for order in [
        vec![said(7, 0), said(8, 1), gone(7)],
        vec![said(7, 0), gone(7), said(8, 1)],
        vec![said(8, 1), said(7, 0), gone(7)],
        vec![said(8, 1), said(7, 0)],
        vec![said(8, 1), said(8, 1)],
    ] {
        for update in order {
            world.tell(0, &Message::Update(update));
            world.settle();
        }
        assert_eq!(world.place(0, mac(9)), Some(node_of(vtep(8))));
        for last in [7, 8] {
            world.tell(0, &Message::Update(gone(last)));
        }
        world.settle();
        assert_eq!(world.place(0, mac(9)), None);
    }
    // Of equal numbers the lower VTEP has it.
    for last in [8, 7] {
        world.tell(0, &Message::Update(said(last, 3)));
    }
    world.settle();
    assert_eq!(world.place(0, mac(9)), Some(node_of(vtep(7))));
}

#[test]
fn a_sticky_station_moves_nowhere() {
    let mut world = World::new(3);
    world.run(Duration::from_secs(1));
    world.local(0, &[(mac(1), true)]);
    assert_eq!(world.sequence(0, mac(1)), Some((true, 0)));
    world.local(1, &[(mac(2), false), (mac(1), false)]);
    assert_eq!(world.sequence(1, mac(1)), None);
    assert_eq!(world.place(2, mac(1)), Some(node_of(vtep(1))));
    assert_eq!(world.place(1, mac(1)), Some(node_of(vtep(1))));
}

#[test]
fn a_station_at_two_places_is_quiet_after_five_moves() {
    let mut world = World::new(3);
    world.run(Duration::from_secs(1));
    let both = mac(9);
    for _ in 0..10 {
        for at in [0, 1] {
            world.local(at, &[(mac(at as u8 + 1), false), (both, false)]);
            world.local(1 - at, &[(mac(2 - at as u8), false)]);
        }
    }
    let highest = (0..2).filter_map(|at| world.sequence(at, both)).map(|(_, sequence)| sequence).max();
    assert!(highest.is_none_or(|highest| highest <= 10), "{highest:?}");
    let before = world.nodes[2].changes;
    world.local(0, &[(mac(1), false)]);
    world.local(1, &[(mac(2), false)]);
    world.run(Duration::from_secs(181));
    // Quiet for long enough, it counts again.
    world.local(0, &[(mac(1), false), (both, false)]);
    assert_eq!(world.place(2, both), Some(node_of(vtep(1))));
    assert!(world.nodes[2].changes <= before + 2);
}

#[test]
fn tables_of_a_former_life_stay_until_all_was_told() {
    let mut world = World::new(3);
    world.run(Duration::from_secs(1));
    let Node { overlay, mut stations, .. } =
        std::mem::replace(&mut world.nodes[0], Node::new(config(vtep(1)), world.now));
    // Of one that the reflector knows nothing of any more.
    stations.insert((VNI, mac(8)), node_of(vtep(2)));
    let tables = overlay.tables(A).unwrap().clone();
    let nodes = tables.nodes.iter().map(|(node, all)| (*node, *all.keys().next().unwrap())).collect();
    let node = &mut world.nodes[0];
    node.speaker = Speaker::adopt(config(vtep(1)), world.now, nodes, tables.routes.clone(), stations.clone());
    (node.overlay, node.stations) = (overlay, stations);
    world.local(0, &[(mac(1), false)]);
    assert_eq!((world.nodes[0].changes, world.place(0, mac(8))), (0, Some(node_of(vtep(2)))));
    world.run(Duration::from_secs(1));
    assert_eq!(world.place(0, mac(8)), None);
    assert_eq!(world.nodes[0].changes, 1, "and nothing else changed");
    assert_eq!(world.place(1, mac(1)), Some(node_of(vtep(1))));
}

#[test]
fn who_breaks_the_rules_is_told_why_and_what_it_said_is_forgotten() {
    let mut world = World::new(2);
    world.run(Duration::from_secs(1));
    assert!(world.place(0, mac(2)).is_some());
    world.nodes[0].speaker.handle_bytes(world.now, &[0; 19]);
    world.settle();
    let told = world.nodes[0].notified.last().unwrap();
    assert_eq!((told.code, told.subcode), (code::HEADER, 1));
    assert!(world.nodes[0].stations.is_empty());
    // And is given another chance.
    world.run(Duration::from_secs(2));
    assert!(world.place(0, mac(2)).is_some());
}

#[test]
fn neighbours_of_another_as_or_without_evpn_are_refused_and_asked_ever_more_seldom() {
    for (as_number, capabilities, subcode) in
        [(1, vec![Capability::MultiProtocol(Family::EVPN)], 2), (AS, Vec::new(), 7)]
    {
        let mut speaker = Speaker::new(config(vtep(1)), Duration::ZERO);
        let (mut now, mut attempts, mut told) = (Duration::ZERO, 0, None);
        while now < Duration::from_secs(120) {
            speaker.handle_timeout(now);
            while let Some(action) = speaker.poll_action() {
                match action {
                    Action::Connect => {
                        attempts += 1;
                        speaker.handle_connected(now);
                        let (id, capabilities) = (Ipv4Addr::new(9, 9, 9, 9), capabilities.clone());
                        let open = Open { as_number, hold: 9, id, capabilities, has_long_as: true };
                        speaker.handle_bytes(now, &Message::Open(open).emit());
                    }
                    Action::Send(bytes) => {
                        if let Ok(Message::Notification(notification)) = Message::parse(&bytes) {
                            told = Some((notification.code, notification.subcode));
                        }
                    }
                    Action::Close => {}
                }
            }
            now += STEP;
        }
        assert_eq!(told, Some((code::OPEN, subcode)));
        assert!((5..15).contains(&attempts), "{attempts}");
    }
}

#[test]
fn routes_that_are_not_for_this_data_plane_are_left_out() {
    let mut world = World::new(1);
    world.run(Duration::from_secs(1));
    let good = || {
        let distinguisher = Distinguisher::of(Ipv4Addr::new(192, 0, 2, 9), 1);
        let (segment, ip, routed_vni) = ([0; 10], None, None);
        let route = MacIp { distinguisher, segment, tag: 0, mac: mac(9), ip, vni: VNI, routed_vni };
        let communities =
            vec![ExtendedCommunity::RouteTarget { as_number: 7, number: VNI }, ExtendedCommunity::VXLAN];
        (route, Attributes { communities, local_preference: Some(100), ..Attributes::default() }, vtep(9))
    };
    let mut tell = |(route, attributes, next_hop): (MacIp, Attributes, IpAddr)| {
        let reached = vec![Route::MacIp(route)];
        world.tell(
            0,
            &Message::Update(Update { reached, next_hop: Some(next_hop), attributes, ..Update::default() }),
        );
        world.settle();
        world.place(0, mac(9)).is_some()
    };
    assert!(tell(good()));
    type Spoil = fn(&mut (MacIp, Attributes, IpAddr));
    let spoils: [Spoil; 8] = [
        |(route, ..)| route.vni = VNI + 1,
        |(route, ..)| route.tag = 1,
        |(_, attributes, _)| attributes.communities.truncate(0),
        // Geneve alone.
        |(_, attributes, _)| attributes.communities[1] = ExtendedCommunity::Encapsulation(19),
        |(_, attributes, _)| attributes.local_preference = None,
        |(_, attributes, _)| attributes.as_path = AsPath::of(vec![7, AS]),
        |(_, attributes, _)| attributes.originator = Some(Ipv4Addr::new(192, 0, 2, 1)),
        |(.., next_hop)| *next_hop = vtep(1),
    ];
    for (number, spoil) in spoils.into_iter().enumerate() {
        let mut spoilt = good();
        spoil(&mut spoilt);
        // A route of another tag takes nobody's place.
        let other = spoilt.0.tag != 0;
        assert_eq!(tell(spoilt), other, "{number}");
        assert!(tell(good()));
    }
}
