//! Control planes that were recorded, replayed: the same decisions, and what was wrong between them.

mod support;

use plait_control_overlay::Plane;
use plait_control_overlay::record::{Begin, Bytes, Divergence, Entry, Event};
use plait_model_overlay::{Application, Locators, NodeId, Weight};
use plait_simulator_world::replay::{Cause, Fault, Recording, ReplayError, Replayed, replay};
use plait_simulator_world::{Options, OverlaySpec, Side, World};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::Duration;
use support::{FILE, network};

const INTERVAL: Duration = Duration::from_secs(1);

/// A delay overlay of a, b and c, recorded.
fn world() -> World {
    let network = network(FILE);
    let mut world = World::build(&network, Options::default()).unwrap();
    let spec = OverlaySpec {
        is_recorded: true,
        interval: INTERVAL,
        ..OverlaySpec::new(["a", "b", "c"], Plane::Delay)
    };
    world.add_overlay(&spec).unwrap();
    world
}

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// Recordings as another process reads them.
fn read(recordings: &[Recording]) -> Vec<Recording> {
    let again =
        |recording: &Recording| Recording::read(&*recording.name, recording.text().as_bytes()).unwrap();
    recordings.iter().map(again).collect()
}

/// Pairs of a fault, by their names.
fn pairs(replayed: &Replayed, fault: &Fault) -> BTreeSet<(String, String)> {
    let name = |member: usize| replayed.members[member].name.clone();
    fault.outages.iter().map(|outage| (name(outage.source), name(outage.destination))).collect()
}

#[test]
fn what_simulated_members_decided_they_decide_again_and_a_link_that_failed_is_named_for_the_hold_time() {
    let mut world = world();
    world.run_until(seconds(10.2));
    world.set_link_up("ra-rb", Side::Both, false).unwrap();
    world.run_until(seconds(60.0));
    let replayed = replay(&read(&world.recordings())).unwrap();
    let names: Vec<&str> = replayed.members.iter().map(|member| &*member.name).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert!(replayed.members.iter().all(|member| member.inputs > 100 && member.operations > 3));
    let lost = |from, to| {
        let is_it = |fault: &&Fault| fault.cause == Cause::Lost { from, to };
        replayed.faults.iter().find(is_it).unwrap_or_else(|| panic!("{:#?}", replayed.faults))
    };
    // From the first message that was lost until the routes were others: three probes without an echo.
    let (there, back) = (lost(0, 1), lost(1, 0));
    for fault in [there, back] {
        let until = fault.until.expect("it was noticed");
        assert!((seconds(10.2)..seconds(11.3)).contains(&fault.from), "{fault:?}");
        assert!((INTERVAL * 2..INTERVAL * 4).contains(&(until - fault.from)), "{fault:?}");
    }
    let own = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    assert_eq!(pairs(&replayed, there), BTreeSet::from([own("a", "b"), own("a", "c")]), "c is reached by b");
    assert!(pairs(&replayed, back).contains(&own("b", "a")));
    // All is well in the end, and before.
    for fault in &replayed.faults {
        assert!(
            fault.from > seconds(10.2) && fault.until.is_some_and(|until| until < seconds(16.0)),
            "{fault:?}"
        );
    }
    assert!(replayed.decisions.iter().any(|decision| decision.at > seconds(12.0)));
}

#[test]
fn members_that_are_well_have_no_faults() {
    let mut world = world();
    world.run_until(seconds(30.0));
    let replayed = replay(&world.recordings()).unwrap();
    assert_eq!(replayed.faults, []);
    assert_eq!((replayed.from, replayed.full), (Duration::ZERO, None));
}

#[test]
fn a_member_that_is_heard_of_no_more_is_silent_and_then_forgotten() {
    let mut world = world();
    world.run_until(seconds(10.2));
    // Its network is gone, and of itself nothing is known from then on.
    world.set_node_up("b", false).unwrap();
    world.run_until(seconds(30.0));
    let mut recordings = world.recordings();
    recordings[1].entries.retain(|(_, entry)| entry.at < seconds(10.2));
    let replayed = replay(&recordings).unwrap();
    let silent = replayed.faults.iter().find(|fault| fault.cause == Cause::Silent { at: 1 });
    let silent = silent.unwrap_or_else(|| panic!("{:#?}", replayed.faults));
    let own = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    // a reached c by b.
    assert!(pairs(&replayed, silent).is_superset(&BTreeSet::from([
        own("a", "b"),
        own("c", "b"),
        own("a", "c")
    ])));
    let forgotten = replayed.faults.iter().find(|fault| fault.cause == Cause::NoRoute { at: 0, to: 1 });
    assert_eq!(forgotten.unwrap().until, None, "to the end");
    let last = replayed.faults.iter().filter(|fault| pairs(&replayed, fault).contains(&own("a", "c")));
    assert!(
        last.clone().count() > 0
            && last.clone().all(|fault| {
                let outage =
                    fault.outages.iter().filter(|outage| (outage.source, outage.destination) == (0, 2));
                outage.clone().all(|outage| outage.until.is_some_and(|until| until < seconds(16.0)))
            }),
        "{:#?}",
        replayed.faults
    );
}

#[test]
fn a_recording_that_was_changed_is_refused_with_its_line() {
    let mut world = world();
    world.run_until(seconds(8.0));
    let recordings = world.recordings();
    let text = recordings[0].text();
    // A route that was decided leads elsewhere.
    let place = text.lines().position(|line| line.contains("\"route_add\"")).unwrap();
    let changed = text.lines().enumerate().map(|(at, line)| match at == place {
        true => line.replacen("\"next_hop\":\"0.0.0.2\"", "\"next_hop\":\"0.0.0.3\"", 1) + "\n",
        false => line.to_owned() + "\n",
    });
    let changed = Recording::read("a", changed.collect::<String>().as_bytes()).unwrap();
    let error = replay(&[changed, recordings[1].clone(), recordings[2].clone()]).unwrap_err();
    let ReplayError::Diverged { name, line, member, .. } = &error else { panic!("{error}") };
    assert_eq!((&**name, *line, *member), ("a", place + 1, Some(NodeId(1))), "{error}");
    assert!(error.to_string().starts_with(&format!("a:{}: at ", place + 1)), "{error}");
    // A line that is none, and half a last one, which the death of an agent leaves.
    let broken = text.replacen("\"heard\"", "\"herd\"", 1);
    let line = broken.lines().position(|line| line.contains("herd")).unwrap() + 1;
    let error = Recording::read("a", broken.as_bytes()).unwrap_err();
    assert_eq!(error.line, line, "{error}");
    let cut = Recording::read("a", &text.as_bytes()[..text.len() - 7]).unwrap();
    assert!(cut.is_cut && cut.entries.len() + 1 == recordings[0].entries.len());
    replay(&[cut, recordings[1].clone(), recordings[2].clone()]).unwrap();
    // Other versions, other files, and a member that is there twice.
    let newer = text.replacen("\"version\":1", "\"version\":2", 1);
    let error = Recording::read("a", newer.as_bytes()).unwrap_err();
    assert!(error.to_string().contains("version 2"), "{error}");
    assert_eq!(Recording::read("a", b"root:x:0:0\n").unwrap_err().line, 1);
    let error = replay(&[recordings[0].clone(), recordings[0].clone()]).unwrap_err();
    assert!(matches!(error, ReplayError::Twice { .. }), "{error}");
    assert_eq!(replay(&[]).unwrap_err(), ReplayError::Nobody);
}

#[test]
fn a_recording_whose_clock_went_back_is_refused_with_its_line() {
    let mut world = world();
    world.run_until(seconds(8.0));
    let mut recordings = world.recordings();
    // As of a machine that was started anew, whose clock begins with it.
    let (last, begin) = (recordings[0].entries.last().unwrap().0, recordings[0].entries[0].1.clone());
    recordings[0].entries.push((last + 1, begin));
    let error = replay(&recordings).unwrap_err();
    let ReplayError::Diverged { name, line, member, divergence, .. } = &error else { panic!("{error}") };
    assert_eq!((&**name, *line, *member), ("a", last + 1, Some(NodeId(1))));
    assert_eq!(**divergence, Divergence::Past);
}

#[test]
fn a_recording_that_death_cut_in_its_first_line_has_nobody_in_it() {
    let mut world = world();
    world.run_until(seconds(8.0));
    let recordings = world.recordings();
    let text = recordings[1].text();
    let first = text.find('\n').unwrap();
    for length in [0, 1, first] {
        let cut = Recording::read("b", &text.as_bytes()[..length]).unwrap();
        assert!(cut.is_cut && cut.entries.is_empty(), "{length}");
        let replayed = replay(&[recordings[0].clone(), cut, recordings[2].clone()]).unwrap();
        assert_eq!(replayed.members.len(), 2);
    }
    assert!(Recording::read("b", b"{\"reco").is_ok_and(|cut| cut.is_cut));
    assert!(Recording::read("b", b"{\"else").is_err());
}

#[test]
fn a_recording_that_was_full_ends_the_replay_there_and_blames_nobody() {
    let mut world = world();
    world.run_until(seconds(30.0));
    let mut recordings = world.recordings();
    recordings[2].entries.retain(|(_, entry)| entry.at < seconds(12.0));
    recordings[2].full = Some(seconds(12.0));
    let replayed = replay(&read(&recordings)).unwrap();
    assert_eq!((replayed.full.as_deref(), &replayed.faults[..]), (Some("c"), &[][..]));
    assert!(replayed.until < seconds(12.0));
}

/// Tables of a member at an instant: whom it knows, and its next hops.
type Told<'a> = (u64, &'a [u32], &'a [(u32, u32)]);

/// A member that does nothing but take over tables.
fn with_tables(name: &str, own: u32, told: &[Told<'_>]) -> Recording {
    let locator = |node: u32| IpAddr::from([192, 0, 2, node as u8]);
    let locators = |node: u32| Locators::from([(locator(node), Weight::default())]);
    let begin = Begin {
        own: NodeId(own),
        locators: locators(own),
        group: None,
        seeds: Vec::new(),
        plane: Plane::Mesh,
        interval: Duration::from_secs(1000),
        neighbours: None,
        draws: vec![u64::from(own)],
    };
    let entry = |at, event| Entry { at: Duration::from_secs(at), application: Application::ETHERNET, event };
    let mut entries = vec![entry(0, Event::Begin(Box::new(begin)))];
    for (at, nodes, routes) in told {
        entries.push(entry(
            *at,
            Event::Adopt {
                nodes: nodes.iter().map(|node| (NodeId(*node), locators(*node))).collect(),
                routes: routes.iter().map(|(to, by)| (NodeId(*to), BTreeSet::from([NodeId(*by)]))).collect(),
            },
        ));
    }
    Recording::of(name, entries)
}

#[test]
fn loops_and_holes_have_the_names_of_the_counters_that_they_would_move() {
    let all: &[(u32, u32)] = &[(1, 1), (2, 2), (3, 3), (4, 4)];
    let mesh = |own: u32| all.iter().copied().filter(|(to, _)| *to != own).collect::<Vec<_>>();
    let others = |own: u32| (1..=4).filter(|node| *node != own).collect::<Vec<_>>();
    let well = |own: u32| (others(own), mesh(own));
    // Tables are taken over in whole, and so what is added here is all that there is from then on.
    let member = |name: &str, own: u32, then: &[Told<'_>]| {
        let (nodes, routes) = well(own);
        let mut told: Vec<Told<'_>> = vec![(1, &nodes, &routes)];
        told.extend_from_slice(then);
        with_tables(name, own, &told)
    };
    // At 5 s 1 and 2 send what is for 4 to each other; at 6 s 3 forgets 1, and 1 its way to 3.
    let recordings = [
        member("one", 1, &[(5, &[2, 3, 4], &[(2, 2), (3, 3), (4, 2)])]),
        member("two", 2, &[(5, &[1, 3, 4], &[(1, 1), (3, 3), (4, 1)])]),
        with_tables("three", 3, &[(1, &others(3), &mesh(3))]),
        member("four", 4, &[]),
    ];
    // A table that is taken over is added to what is there; whoever loses something begins anew.
    let recordings = recordings.map(|recording| anew(&recording));
    let replayed = replay(&recordings).unwrap();
    let found: Vec<_> = replayed
        .faults
        .iter()
        .map(|fault| (fault.cause.clone(), fault.from.as_secs(), fault.until))
        .collect();
    assert_eq!(found, [(Cause::Loop(vec![0, 1]), 5, None)]);
    let own = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    let round = pairs(&replayed, &replayed.faults[0]);
    assert_eq!(round, BTreeSet::from([own("one", "four"), own("two", "four")]));

    let recordings = [
        member("one", 1, &[(6, &[2, 4], &[(2, 2), (4, 4)]), (9, &[2, 3, 4], &mesh(1))]),
        member("two", 2, &[]),
        member("three", 3, &[]),
        member("four", 4, &[]),
    ]
    .map(|recording| anew(&recording));
    let replayed = replay(&recordings).unwrap();
    let found: Vec<_> = replayed
        .faults
        .iter()
        .map(|fault| (fault.cause.name(), fault.cause.members(), fault.until))
        .collect();
    let nine = Some(Duration::from_secs(9));
    // 1 has no way to 3, and what 3 sends it drops.
    assert_eq!(found, [("no-route", vec![0, 2], nine), ("unknown-locator", vec![0, 2], nine)]);

    // By 2, whom 3 knows, its packets arrive; whose they are 3 does not know.
    let recordings = [
        member("one", 1, &[(3, &[2, 4], &[(2, 2), (3, 2), (4, 4)])]),
        member("two", 2, &[]),
        member("three", 3, &[(3, &[2, 4], &[(2, 2), (4, 4)])]),
        member("four", 4, &[]),
    ]
    .map(|recording| anew(&recording));
    let replayed = replay(&recordings).unwrap();
    let found: BTreeMap<_, _> =
        replayed.faults.iter().map(|fault| (fault.cause.name(), fault.cause.members())).collect();
    assert_eq!(found, BTreeMap::from([("no-route", vec![2, 0]), ("unknown-source", vec![2, 0])]));
}

/// The same, each table in a life of its own, so that what the one before had is gone.
fn anew(recording: &Recording) -> Recording {
    let (_, begin) = &recording.entries[0];
    let mut entries = Vec::new();
    for (_, entry) in &recording.entries[1..] {
        entries.push(Entry { at: entry.at, ..begin.clone() });
        entries.push(entry.clone());
    }
    Recording::of(&*recording.name, entries)
}

/// Three recordings of some seconds, to be harmed.
fn short() -> &'static [String] {
    static SHORT: OnceLock<Vec<String>> = OnceLock::new();
    SHORT.get_or_init(|| {
        let mut world = world();
        world.run_until(seconds(2.5));
        world.recordings().iter().map(Recording::text).collect()
    })
}

/// What a hostile hand does to a line.
#[derive(Debug, Clone)]
enum Harm {
    Byte(prop::sample::Index, u8),
    Drop,
    Twice,
    Number(prop::sample::Index, String),
}

fn harm() -> impl Strategy<Value = Harm> {
    const NUMBERS: [&str; 10] =
        ["0", "1", "-1", "18446744073709551615", "1e300", "4294967296", "\"\"", "null", "[]", "3"];
    prop_oneof![
        (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(at, byte)| Harm::Byte(at, byte)),
        Just(Harm::Drop),
        Just(Harm::Twice),
        (any::<prop::sample::Index>(), prop::sample::select(NUMBERS.to_vec()))
            .prop_map(|(at, number)| Harm::Number(at, number.to_owned())),
    ]
}

fn harmed(line: &str, harm: &Harm) -> Vec<u8> {
    let mut bytes = line.as_bytes().to_vec();
    match harm {
        Harm::Byte(at, byte) => {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        Harm::Drop => bytes.clear(),
        Harm::Twice => bytes.extend_from_within(..),
        Harm::Number(at, number) => {
            // A whole number of the line becomes another.
            let is_digit = |at: usize| line.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
            let begins: Vec<usize> =
                (0..line.len()).filter(|at| is_digit(*at) && (*at == 0 || !is_digit(at - 1))).collect();
            if let Some(begin) = begins.get(at.index(begins.len().max(1))) {
                let end = (*begin..).find(|at| !is_digit(*at)).unwrap_or(line.len());
                bytes.splice(begin..&end, number.bytes());
            }
        }
    }
    bytes
}

proptest! {
    #[test]
    fn no_content_of_a_recording_makes_a_replay_panic(
        harms in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), harm()), 1..6),
    ) {
        let mut texts: Vec<Vec<Vec<u8>>> = short().iter()
            .map(|text| text.split_inclusive('\n').map(|line| line.as_bytes().to_vec()).collect())
            .collect();
        for (file, line, harm) in &harms {
            let file = file.get(&short().iter().enumerate().map(|(at, _)| at).collect::<Vec<_>>()).to_owned();
            let line = line.index(texts[file].len());
            let known = String::from_utf8_lossy(&texts[file][line]).into_owned();
            if !known.is_empty() {
                texts[file][line] = harmed(&known, harm);
            }
        }
        let read = texts.iter().enumerate().map(|(at, text)| Recording::read(at.to_string(), &text.concat()));
        let recordings: Vec<Recording> = read.filter_map(Result::ok).collect();
        let _ = replay(&recordings);
    }

    #[test]
    fn no_bytes_of_a_message_make_a_replay_panic(
        messages in proptest::collection::vec((0usize..200, proptest::collection::vec(any::<u8>(), 0..200)), 1..5),
    ) {
        let read = short().iter().map(|text| Recording::read("it", text.as_bytes()).unwrap());
        let mut recordings: Vec<Recording> = read.collect();
        for (place, bytes) in messages {
            for recording in &mut recordings {
                let count = recording.entries.len();
                if let Event::Heard { message: Bytes(message), .. } = &mut recording.entries[place % count].1.event {
                    // Whose it is stays, so that some of it is believed.
                    message.truncate(24);
                    message.extend_from_slice(&bytes);
                    message[1] = bytes.first().copied().unwrap_or(5) % 11;
                }
            }
        }
        let _ = replay(&recordings);
        let mut noise = recordings[0].text().into_bytes();
        noise.extend_from_slice(&[0xff, 0xfe, b'\n']);
        let refused = Recording::read("it", &noise).is_err();
        prop_assert!(refused);
    }
}
