//! What members were told and did, written down, and the same again.

use plait_control_overlay::record::{Divergence, Entry, Event, Recorded, Replay};
use plait_control_overlay::{Config, Direction, Inquiry, Key, Plane};
use plait_model_overlay::{Application, Locators, NodeId, Operation, Overlay, Weight};
use std::net::IpAddr;
use std::time::Duration;

const APPLICATION: Application = Application::ETHERNET;
const KEY: &[u8] = b"a key that nobody may read";

fn id(node: usize) -> NodeId {
    NodeId(node as u32 + 1)
}

fn address(node: usize) -> IpAddr {
    [192, 0, 2, node as u8 + 1].into()
}

fn locators(node: usize) -> Locators {
    Locators::from([(address(node), Weight::default())])
}

/// A member on a wire of ten milliseconds, with all that was written down of it.
struct Node {
    member: Recorded,
    overlay: Overlay,
    recording: Vec<Entry>,
}

/// Three nodes, and what is under way between them.
struct Wire {
    now: Duration,
    nodes: Vec<Node>,
    under_way: Vec<(Duration, usize, usize, Vec<u8>)>,
    draws: u64,
}

impl Wire {
    fn new() -> Self {
        let mut wire =
            Self { now: Duration::from_secs(7), nodes: Vec::new(), under_way: Vec::new(), draws: 1 };
        for node in 0..3 {
            let member = wire.member(node);
            wire.nodes.push(Node { member, overlay: Overlay::default(), recording: Vec::new() });
            wire.collect(node);
        }
        wire
    }

    fn member(&mut self, node: usize) -> Recorded {
        let config = Config {
            application: APPLICATION,
            own: id(node),
            locators: locators(node),
            group: Some(NodeId(99)),
            key: Key::new(KEY).unwrap(),
            seeds: vec![address((node + 1) % 3)],
            plane: Plane::Delay,
            interval: Duration::from_secs(1),
            neighbours: None,
        };
        self.draws += 1;
        let mut draws = self.draws << 40;
        let draw = move || {
            draws += 0x9e37_79b9;
            draws
        };
        Recorded::new(config, self.now, true, draw)
    }

    fn collect(&mut self, node: usize) {
        let Node { member, overlay, recording } = &mut self.nodes[node];
        while let Some(operation) = member.poll_operation() {
            overlay.apply(&operation).unwrap();
        }
        while member.poll_inquiry().is_some() {}
        while let Some((to, bytes)) = member.poll_transmit() {
            let to = (0..3).find(|other| address(*other) == to).unwrap();
            self.under_way.push((self.now + Duration::from_millis(10), node, to, bytes));
        }
        recording.extend(std::iter::from_fn(|| member.poll_entry()));
    }

    fn run(&mut self, seconds: u64) {
        let until = self.now + Duration::from_secs(seconds);
        while self.now < until {
            self.now += Duration::from_millis(5);
            let now = self.now;
            let (due, rest): (Vec<_>, Vec<_>) = self.under_way.drain(..).partition(|(at, ..)| *at <= now);
            self.under_way = rest;
            for (_, from, to, bytes) in due {
                self.nodes[to].member.handle_datagram(now, address(from), &bytes).unwrap();
                self.collect(to);
            }
            for node in 0..3 {
                if self.nodes[node].member.poll_timeout() <= now {
                    self.nodes[node].member.handle_timeout(now);
                }
                self.collect(node);
            }
        }
    }

    /// Everything that a driver may do with members.
    fn course() -> Self {
        let mut wire = Self::new();
        wire.run(6);
        let now = wire.now;
        wire.nodes[0].member.set_plane(now, Plane::Mesh);
        let more = locators(1).into_iter().chain([([198, 51, 100, 1].into(), Weight::default())]).collect();
        wire.nodes[1].member.handle_locators(more);
        assert!(wire.nodes[2].member.handle_datagram(now, address(0), b"no message of anybody").is_err());
        let asked = Inquiry { token: 5, way: vec![id(0), id(1), id(2)], body: b"how far?".to_vec() };
        assert!(wire.nodes[0].member.inquire(Direction::Question, asked));
        wire.run(3);
        // The agent of 1 dies and is there again.
        let tables = wire.nodes[1].overlay.tables(APPLICATION).unwrap().clone();
        wire.nodes[1].member = wire.member(1);
        let now = wire.now;
        wire.nodes[1].member.adopt(now, tables.nodes, tables.routes);
        wire.run(12);
        wire.nodes[0].member.leave();
        wire.collect(0);
        wire.run(5);
        wire
    }
}

/// Replays a recording; the first entry that diverges, by its place.
fn replay(recording: &[Entry]) -> Result<Replay, (usize, Divergence)> {
    let mut replay = Replay::new(APPLICATION);
    for (place, entry) in recording.iter().enumerate() {
        replay.step(entry).map_err(|divergence| (place, divergence))?;
    }
    Ok(replay)
}

#[test]
fn members_do_again_what_was_recorded_of_them_over_all_their_lives() {
    let wire = Wire::course();
    for (node, was) in wire.nodes.iter().enumerate() {
        // It is the same in another process.
        let text = serde_json::to_string(&was.recording).unwrap();
        let recording: Vec<Entry> = serde_json::from_str(&text).unwrap();
        let again = replay(&recording).unwrap_or_else(|(place, divergence)| {
            panic!("{node}: {place}: {:?}: {divergence}", recording[place])
        });
        let (again, was) = (again.member().unwrap(), was.member.member());
        assert_eq!((again.routes(), again.members()), (was.routes(), was.members()));
        assert_eq!(again.delays(), was.delays());
        assert!(!text.contains("nobody may read") && !text.contains(&hex(KEY)), "no key is in a recording");
    }
    let events = |node: usize| wire.nodes[node].recording.iter().map(|entry| &entry.event);
    assert_eq!(events(1).filter(|event| matches!(event, Event::Begin(_))).count(), 2, "two lives");
    assert!(events(1).any(|event| matches!(event, Event::Adopt { .. })));
    assert!(events(2).any(|event| matches!(event, Event::Refused { datagrams: 1 })));
    assert!(events(2).any(|event| matches!(event, Event::Asked { .. })), "the question came along its way");
    assert!(events(0).any(|event| matches!(event, Event::Leave)));
}

#[test]
fn the_first_entry_that_is_another_is_where_a_replay_ends() {
    let recording = Wire::course().nodes.swap_remove(0).recording;
    let place = |is: fn(&Event) -> bool| recording.iter().position(|entry| is(&entry.event)).unwrap();
    let ends = |recording: &[Entry]| replay(recording).err().map(|(place, _)| place);

    // A decision that was not taken.
    let decided = place(|event| matches!(event, Event::Decided { operations } if !operations.is_empty()));
    let mut other = recording.clone();
    let Event::Decided { operations } = &mut other[decided].event else { unreachable!() };
    operations[0] = Operation::RouteAdd { application: APPLICATION, destination: id(8), next_hop: id(9) };
    assert_eq!(ends(&other), Some(decided));

    // A message that was changed on its way.
    let heard = place(|event| matches!(event, Event::Heard { .. }));
    let mut other = recording.clone();
    let Event::Heard { message, .. } = &mut other[heard].event else { unreachable!() };
    message.0.truncate(20);
    let (found, divergence) = replay(&other).err().unwrap();
    assert!(found == heard && matches!(divergence, Divergence::Refused(_)), "{divergence}");

    // Chance that was another.
    let drew = place(|event| matches!(event, Event::Timeout { draws } if !draws.is_empty()));
    let mut other = recording.clone();
    let Event::Timeout { draws } = &mut other[drew].event else { unreachable!() };
    draws.pop();
    assert_eq!(ends(&other), Some(drew));
    // Other numbers of the same count are seen where they are told.
    let mut other = recording.clone();
    let Event::Timeout { draws } = &mut other[drew].event else { unreachable!() };
    draws[0] ^= 1;
    assert!(ends(&other).is_some_and(|place| place > drew));

    // Time that goes back, and a life before its beginning.
    let mut other = recording.clone();
    other[heard].at = Duration::ZERO;
    assert_eq!(ends(&other), Some(heard));
    assert_eq!(ends(&recording[1..]), Some(0));
    assert_eq!(ends(&recording), None);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
