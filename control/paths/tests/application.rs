//! iplbd as an application of the control runtime decides what its core decides, and can be replayed and asked.

use ipnet::IpNet;
use plait_control_paths::*;
use plait_control_runtime::{Content, Divergence, Entry, Event, Set, Value, View, Wit, replay};
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

fn id(switch: usize) -> Ipv4Addr {
    Ipv4Addr::from(0x0a00_0001 + switch as u32)
}

fn settings(method: Method) -> Settings {
    Settings { k: 4, method, ..Settings::default() }
}

/// A ring of six: two ways to each other switch.
fn ring() -> Fabric {
    Fabric::of_links(6, (0..6).map(|at| (at, (at + 1) % 6, 1)))
}

/// The 4-port fat-tree: 4 roots, 8 aggregation and 8 edge switches; switch 12 is an edge switch.
fn tree() -> Fabric {
    let pods = (0..4).flat_map(|pod| {
        (0..2).flat_map(move |at| {
            let above = 4 + 2 * pod + at;
            let roots = (0..2).map(move |root| (2 * at + root, above, 1));
            roots.chain((0..2).map(move |edge| (above, 12 + 2 * pod + edge, 1)))
        })
    });
    Fabric::of_links(20, pods)
}

/// Does what it says to a table of one's own.
fn follow(iplbd: &mut Iplbd, table: &mut Table) -> usize {
    let operations: Vec<_> = std::iter::from_fn(|| iplbd.poll_operation()).collect();
    let count = operations.len();
    operations.into_iter().for_each(|operation| table.apply(operation));
    assert_eq!(table, &*iplbd.table());
    assert_eq!(iplbd.poll_failure(), None);
    count
}

fn daemon(settings: &Settings, access: usize) -> Daemon {
    Daemon::new(DaemonConfig {
        settings: settings.clone(),
        pause: Duration::ZERO,
        ..DaemonConfig::new(id(access))
    })
}

#[test]
fn the_first_change_counts_at_once_and_those_that_follow_are_gathered() {
    let ms = Duration::from_millis;
    let mut iplbd = Iplbd::new(Settings::default(), ms(100), false);
    let mut table = Table::default();
    iplbd.handle_fabric(ring(), ms(0));
    assert_eq!(follow(&mut iplbd, &mut table), 0, "nobody knows yet where the host is");
    iplbd.handle_access(id(0), ms(0));
    assert!(follow(&mut iplbd, &mut table) > 0);
    assert_eq!(iplbd.poll_timeout(), None);
    iplbd.handle_fabric(ring().without_links(&[(2, 3)]), ms(10));
    iplbd.handle_fabric(ring().without_links(&[(1, 2)]), ms(20));
    assert_eq!(follow(&mut iplbd, &mut table), 0);
    assert_eq!(iplbd.poll_timeout(), Some(ms(100)));
    iplbd.handle_timeout(ms(99));
    assert_eq!(follow(&mut iplbd, &mut table), 0);
    iplbd.handle_timeout(ms(100));
    assert!(follow(&mut iplbd, &mut table) > 0);
    assert_eq!(*iplbd.planned().unwrap(), ring().without_links(&[(1, 2)]));
    assert_eq!(iplbd.poll_timeout(), None);
}

/// Does what is said so far.
fn drain(iplbd: &mut Iplbd, table: &mut Table) -> usize {
    let operations = std::iter::from_fn(|| iplbd.poll_operation()).map(|operation| table.apply(operation));
    let count = operations.count();
    assert_eq!(table, iplbd.in_force());
    count
}

#[test]
fn lists_that_a_failure_left_alone_stay_until_switches_know_of_it() {
    let ms = Duration::from_millis;
    let mut iplbd = Iplbd::new(Settings::default(), ms(0), false).settling(ms(1000));
    let mut table = Table::default();
    iplbd.handle_access(id(0), ms(0));
    iplbd.handle_fabric(ring(), ms(0));
    drain(&mut iplbd, &mut table);
    let (whole, prefix) = (table.clone(), "172.16.3.0/24".parse().unwrap());
    let relay = |switch| -> RelayList { vec![id(switch).into()] };
    assert_eq!((table.lists(&prefix), iplbd.poll_timeout()), (Some(&[relay(2), relay(4)][..]), None));

    // One way is left, which plain routing will take: the list along it stays until then.
    iplbd.handle_fabric(ring().without_links(&[(2, 3)]), ms(5000));
    drain(&mut iplbd, &mut table);
    assert_eq!(table.lists(&prefix), Some(&[relay(4)][..]));
    assert_eq!((*iplbd.table()).clone(), Table::default());
    assert_eq!(iplbd.poll_timeout(), Some(ms(6000)));
    iplbd.handle_timeout(ms(5999));
    assert_eq!(drain(&mut iplbd, &mut table), 0);
    iplbd.handle_timeout(ms(6000));
    drain(&mut iplbd, &mut table);
    assert_eq!((&table, iplbd.poll_timeout()), (&Table::default(), None));

    // What comes nearer counts at once: shortest ways may be others everywhere.
    iplbd.handle_fabric(ring(), ms(7000));
    drain(&mut iplbd, &mut table);
    assert_eq!((&table, iplbd.poll_timeout()), (&whole, None));

    // A second failure elsewhere has them stay for longer, one on their path takes them.
    iplbd.handle_fabric(ring().without_links(&[(2, 3)]), ms(8000));
    iplbd.handle_fabric(ring().without_links(&[(1, 2), (2, 3)]), ms(8050));
    drain(&mut iplbd, &mut table);
    assert_eq!(table.lists(&prefix), Some(&[relay(4)][..]));
    assert_eq!(iplbd.poll_timeout(), Some(ms(9050)));
    iplbd.handle_fabric(ring().without_links(&[(1, 2), (2, 3), (4, 5)]), ms(8100));
    drain(&mut iplbd, &mut table);
    assert_eq!(table.lists(&prefix), None);
    // A host that comes behind another switch has nothing of what led from the former one.
    iplbd.handle_access(id(5), ms(8150));
    drain(&mut iplbd, &mut table);
    assert_eq!((&table, iplbd.poll_timeout()), (&*iplbd.table(), None));
    iplbd.handle_access(id(0), ms(8160));
    // And what is taken back before it was over is as before.
    iplbd.handle_fabric(ring().without_links(&[(2, 3)]), ms(8200));
    iplbd.handle_fabric(ring(), ms(8300));
    drain(&mut iplbd, &mut table);
    assert_eq!((&table, iplbd.poll_timeout()), (&whole, None));
}

/// The switches by which packets with a list come to another switch, if that is one way whatever switches do with ways that are
/// equally short.
fn way(fabric: &Fabric, from: usize, list: &RelayList, to: usize) -> Option<Vec<usize>> {
    let relays = list.iter().filter_map(|relay| match relay {
        IpAddr::V4(address) => fabric.index(*address),
        IpAddr::V6(_) => None,
    });
    let mut all = vec![from];
    for end in relays.chain([to]) {
        // Links cost the same both ways.
        let distances = fabric.graph().shortest_paths(end);
        let distance = |at: usize| distances.distance(at);
        while let Some(&at) = all.last().filter(|at| **at != end) {
            let left = distance(at)?;
            let nearer = |link: &&Link| {
                let rest = distance(link.to as usize);
                link.from as usize == at && rest.is_some_and(|rest| rest + u64::from(link.cost) == left)
            };
            let mut next = fabric.links().iter().filter(nearer);
            match (next.next(), next.next()) {
                (Some(link), None) => all.push(link.to as usize),
                _ => return None,
            }
        }
    }
    Some(all)
}

#[test]
fn a_host_behind_no_switch_of_the_fabric_keeps_its_table() {
    let mut iplbd = Iplbd::new(Settings::default(), Duration::ZERO, false);
    let mut table = Table::default();
    iplbd.handle_access(id(0), Duration::ZERO);
    iplbd.handle_fabric(ring(), Duration::ZERO);
    follow(&mut iplbd, &mut table);
    let before = table.clone();
    iplbd.handle_fabric(Fabric::new(Vec::new(), Vec::new()), Duration::from_secs(1));
    assert_eq!(follow(&mut iplbd, &mut table), 0);
    assert_eq!(table, before);
}

#[test]
fn asking_what_would_be_without_a_link_changes_nothing() {
    let mut iplbd = Iplbd::new(Settings::default(), Duration::ZERO, true);
    iplbd.handle_access(id(0), Duration::ZERO);
    iplbd.handle_fabric(ring(), Duration::ZERO);
    let mut table = Table::default();
    follow(&mut iplbd, &mut table);
    let said = std::iter::from_fn(|| iplbd.poll_entry()).count();
    assert!(said > 0);

    // Of a ring without a link one way is left, which plain routing takes.
    assert_eq!(*iplbd.what_if(iplbd.fabric().unwrap().without_links(&[(2, 3)])).unwrap(), Table::default());
    let wider = Fabric::of_links(6, (0..6).map(|at| (at, (at + 1) % 6, 1)).chain([(0, 3, 1)]));
    assert!(iplbd.what_if(wider).unwrap().lists(&"172.16.3.0/24".parse().unwrap()).unwrap().len() > 2);

    assert_eq!(*iplbd.table(), table);
    assert_eq!(iplbd.poll_operation(), None);
    assert_eq!(iplbd.poll_entry(), None);
    assert_eq!(*iplbd.fabric().unwrap(), ring());
}

#[test]
fn what_would_be_in_a_fat_tree_that_lost_a_link_is_what_then_is() {
    let mut iplbd = Iplbd::new(settings(Method::FatTree(None)), Duration::ZERO, false);
    iplbd.handle_access(id(12), Duration::ZERO);
    iplbd.handle_fabric(tree(), Duration::ZERO);
    let other = "172.16.19.0/24".parse().unwrap();
    assert_eq!(iplbd.table().lists(&other).unwrap().len(), 4, "a list for each root");
    let less = tree().without_links(&[(0, 4)]);
    let foreseen = iplbd.what_if(less.clone()).unwrap();
    assert_eq!(foreseen.lists(&other).unwrap().len(), 3);
    iplbd.handle_fabric(less, Duration::ZERO);
    assert_eq!(iplbd.table(), foreseen);
}

/// A run with failures, recorded, and the table at its end.
fn recorded(method: Method) -> (Vec<Entry>, Table) {
    let mut iplbd = Iplbd::new(settings(method), Duration::from_millis(20), true);
    iplbd.handle_access(id(12), Duration::ZERO);
    for (at, gone) in [&[][..], &[(0, 4)], &[(0, 4), (5, 13)], &[(5, 13)], &[]].into_iter().enumerate() {
        let now = Duration::from_millis(15 * at as u64);
        iplbd.handle_fabric(tree().without_links(gone), now);
        iplbd.handle_timeout(now + Duration::from_millis(7));
    }
    let entries = std::iter::from_fn(|| iplbd.poll_entry()).collect();
    (entries, Table::clone(&iplbd.table()))
}

fn again(entries: &[Entry], settings: Settings) -> Result<Table, Divergence> {
    let Set { applications, .. } = iplbd(settings, Duration::ZERO);
    let state = replay(entries, |manifest| {
        applications.iter().find(|(known, _)| known == manifest).map(|(_, code)| code.clone())
    })?;
    Ok(state.content(&Table::id()).map(|table| Table::clone(&table.read().unwrap())).unwrap_or_default())
}

#[test]
fn a_recorded_run_is_replayed_to_the_same_table_and_other_settings_are_noticed() {
    for method in [Method::Sure, Method::Faithful, Method::FatTree(None)] {
        let (entries, table) = recorded(method.clone());
        let lines: Vec<String> = entries.iter().map(|entry| serde_json::to_string(entry).unwrap()).collect();
        let read: Vec<Entry> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let commits = read.iter().filter(|entry| matches!(entry.event, Event::Committed { .. })).count();
        assert!(commits >= 3, "{commits} commits");
        assert_eq!(again(&read, settings(method.clone())).unwrap(), table);
        let other = again(&read, Settings { k: 1, most_relays: 0, ..settings(Method::Sure) });
        assert!(matches!(other, Err(Divergence::Other { .. })), "{other:?}");
    }
}

#[test]
fn values_that_are_no_fabric_are_refused() {
    let value = ring().to_value();
    assert_eq!(Fabric::from_value(&value).unwrap(), ring());
    let Value::Record(fields) = value else { unreachable!() };
    let Value::List(switches) = &fields[0] else { unreachable!() };
    let twice = Value::List([switches[0].clone(), switches[0].clone()].into());
    let none = Value::List([].into());
    for wrong in [[twice, none.clone()], [none, fields[1].clone()]] {
        let fault = Fabric::from_value(&Value::Record(wrong.into())).unwrap_err();
        assert!(fault.to_string().contains("switches"), "{fault}");
    }
}

/// A connected fabric: a tree of its switches, and more links.
fn fabrics() -> impl Strategy<Value = Fabric> {
    (3usize..10).prop_flat_map(|switches| {
        let tree: Vec<_> = (1..switches).map(|at| (0..at, Just(at), 1u32..4)).collect();
        let more = prop::collection::vec((0..switches, 0..switches, 1u32..4), 0..12);
        (tree, more).prop_map(move |(tree, more)| {
            Fabric::of_links(switches, tree.into_iter().chain(more.into_iter().filter(|(a, b, _)| a != b)))
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_fails_the_application_writes_what_the_daemon_says(
        fabric in fabrics(),
        failures in prop::collection::vec(prop::collection::vec(any::<prop::sample::Index>(), 0..3), 1..6),
        method in prop::sample::select(vec![0, 1, 2]),
    ) {
        let method = [Method::Sure, Method::Faithful, Method::FatTree(None)][method].clone();
        let settings = settings(method);
        let mut iplbd = Iplbd::new(settings.clone(), Duration::ZERO, true);
        let mut daemon = daemon(&settings, 0);
        let mut table = Table::default();
        iplbd.handle_access(id(0), Duration::ZERO);
        let links: Vec<_> = fabric.links().iter().map(|link| (link.from as usize, link.to as usize)).collect();
        for failed in failures {
            let gone: Vec<_> = failed.iter().map(|index| links[index.index(links.len())]).collect();
            let now = fabric.without_links(&gone);
            let foreseen = iplbd.what_if(now.clone()).map(|table| Table::clone(&table));
            iplbd.handle_fabric(now.clone(), Duration::ZERO);
            daemon.handle_fabric(now, Duration::ZERO);
            follow(&mut iplbd, &mut table);
            prop_assert_eq!(&table, daemon.table());
            prop_assert_eq!(foreseen.unwrap(), table.clone());
            // What the views hold is what their values say.
            let value = Content::new(table.clone()).value().clone();
            prop_assert_eq!(Table::from_value(&value).unwrap(), table.clone());
        }
        let entries: Vec<Entry> = std::iter::from_fn(|| iplbd.poll_entry()).collect();
        prop_assert_eq!(again(&entries, settings).unwrap(), table);
    }

    #[test]
    fn lists_that_stay_lead_the_same_way_whether_switches_know_of_the_failure_or_not(
        fabric in fabrics(),
        failed in prop::collection::vec(any::<prop::sample::Index>(), 1..3),
    ) {
        let mut iplbd =
            Iplbd::new(settings(Method::Sure), Duration::ZERO, false).settling(Duration::from_secs(1));
        let mut table = Table::default();
        iplbd.handle_access(id(0), Duration::ZERO);
        iplbd.handle_fabric(fabric.clone(), Duration::ZERO);
        drain(&mut iplbd, &mut table);
        let links: Vec<_> = fabric.links().iter().map(|link| (link.from as usize, link.to as usize)).collect();
        let gone: Vec<_> = failed.iter().map(|index| links[index.index(links.len())]).collect();
        let less = fabric.without_links(&gone);
        iplbd.handle_fabric(less.clone(), Duration::from_secs(5));
        drain(&mut iplbd, &mut table);
        let target = iplbd.table();
        for (to, switch) in fabric.switches().iter().enumerate() {
            let stays = |prefix: &&IpNet| table.lists(prefix) != target.lists(prefix);
            for list in switch.prefixes.iter().filter(stays).flat_map(|prefix| table.lists(prefix).unwrap()) {
                let before = way(&fabric, 0, list, to);
                prop_assert!(before.is_some() && before == way(&less, 0, list, to), "{to}: {list:?}");
            }
        }
        iplbd.handle_timeout(Duration::from_secs(6));
        drain(&mut iplbd, &mut table);
        prop_assert_eq!(&table, &*iplbd.table());
    }

    #[test]
    fn a_plan_that_comes_as_a_value_goes_on_as_the_one_that_it_was(
        fabric in fabrics(),
        gone in any::<prop::sample::Index>(),
    ) {
        let settings = settings(Method::FatTree(None));
        let mut iplbd = Iplbd::new(settings.clone(), Duration::ZERO, false);
        iplbd.handle_access(id(0), Duration::ZERO);
        iplbd.handle_fabric(fabric.clone(), Duration::ZERO);
        let link = fabric.links()[gone.index(fabric.links().len())];
        let less = fabric.without_links(&[(link.from as usize, link.to as usize)]);
        let dag = iplbd.runtime().dag(&"iplbd".parse().unwrap()).unwrap();
        let state = iplbd.runtime().state();
        let told = state.content(&Planned::id()).unwrap().value().clone();
        let told = state.with([(Planned::id(), Content::plain(told)), (Fabric::id(), Content::new(less.clone()))]);
        let written = iplbd.runtime().dry_run(dag, &told, None).unwrap();
        let table = written.get(&Table::id()).map_or(iplbd.table(), |table| table.read().unwrap());
        prop_assert_eq!(table, iplbd.what_if(less).unwrap());
    }
}
