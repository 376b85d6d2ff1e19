//! From a fabric to a sender's table: the daemon, tables and fat-trees.

use plait_control_paths::ospf::Lsdb;
use plait_control_paths::*;
use plait_model_wire::ospf::{Contents, Lsa, LsaKey, RouterLink, RouterLinks};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

fn id(switch: usize) -> Ipv4Addr {
    Ipv4Addr::from(0x0a00_0001 + switch as u32)
}

fn config() -> DaemonConfig {
    DaemonConfig::new(id(0))
}

/// Does what the daemon says, to a table of one's own.
fn follow(daemon: &mut Daemon, table: &mut Table) -> usize {
    let mut count = 0;
    while let Some(operation) = daemon.poll_operation() {
        if let Operation::Set { lists, .. } = &operation {
            assert!(!lists.is_empty(), "a set without lists leads nowhere");
        }
        table.apply(operation);
        count += 1;
    }
    assert_eq!(table, daemon.table());
    count
}

/// A ring of six: two ways to each other switch.
fn ring() -> Fabric {
    Fabric::of_links(6, (0..6).map(|at| (at, (at + 1) % 6, 1)))
}

#[test]
fn a_table_follows_its_fabric_by_the_operations_alone() {
    let (mut daemon, mut table) = (Daemon::new(config()), Table::default());
    daemon.handle_fabric(ring(), Duration::ZERO);
    assert_eq!(follow(&mut daemon, &mut table), 5);
    let prefix = "172.16.3.0/24".parse().unwrap();
    let relay = |switch| -> RelayList { vec![id(switch).into()] };
    assert_eq!(table.lists(&prefix), Some(&[relay(2), relay(4)][..]));
    assert_eq!(table.lists(&"172.16.1.0/24".parse().unwrap()).unwrap()[0], RelayList::new());

    // What fails leaves one way, which plain routing takes.
    daemon.handle_fabric(ring().without_links(&[(2, 3)]), Duration::from_secs(1));
    assert_eq!(follow(&mut daemon, &mut table), 5);
    assert_eq!(table, Table::default());
    daemon.handle_fabric(ring(), Duration::from_secs(2));
    follow(&mut daemon, &mut table);
    assert_eq!(table.lists(&prefix), Some(&[relay(2), relay(4)][..]));
    // The same once more is no change.
    daemon.handle_fabric(ring(), Duration::from_secs(3));
    assert_eq!(follow(&mut daemon, &mut table), 0);
    assert_eq!(daemon.last_effort(), Some(Effort { searched: 0, is_whole: false }));
}

#[test]
fn the_first_change_counts_at_once_and_those_that_follow_are_gathered() {
    let (mut daemon, mut table) = (Daemon::new(config()), Table::default());
    let ms = Duration::from_millis;
    daemon.handle_fabric(ring(), ms(0));
    assert!(follow(&mut daemon, &mut table) > 0);
    daemon.handle_fabric(ring().without_links(&[(2, 3)]), ms(10));
    daemon.handle_fabric(ring().without_links(&[(1, 2)]), ms(20));
    assert_eq!(follow(&mut daemon, &mut table), 0);
    assert_eq!(daemon.poll_timeout(), Some(ms(100)));
    daemon.handle_timeout(ms(99));
    assert_eq!(follow(&mut daemon, &mut table), 0);
    daemon.handle_timeout(ms(100));
    assert!(follow(&mut daemon, &mut table) > 0);
    assert_eq!(daemon.plan().unwrap().fabric(), &ring().without_links(&[(1, 2)]));
    assert_eq!(daemon.poll_timeout(), None);
}

#[test]
fn a_host_behind_no_switch_of_the_fabric_keeps_its_table() {
    let (mut daemon, mut table) = (Daemon::new(config()), Table::default());
    daemon.handle_fabric(ring(), Duration::ZERO);
    follow(&mut daemon, &mut table);
    daemon.handle_fabric(Fabric::new(Vec::new(), Vec::new()), Duration::from_secs(1));
    assert_eq!(follow(&mut daemon, &mut table), 0);
    daemon.handle_access(id(3), Duration::from_secs(2));
    follow(&mut daemon, &mut table);
    assert!(table.lists(&"172.16.0.0/24".parse().unwrap()).is_some());
    assert!(table.lists(&"172.16.3.0/24".parse().unwrap()).is_none(), "it is behind that one now");
}

/// The advertisement of a router of the ring: its loopback, a network of hosts, and both its links.
fn advertisement(switch: usize, sequence: i32, neighbors: &[usize]) -> Lsa {
    let mask = |length: u32| Ipv4Addr::from(u32::MAX << (32 - length));
    let mut links = vec![
        RouterLink::Stub { network: id(switch), mask: mask(32), metric: 0 },
        RouterLink::Stub { network: [172, 16, switch as u8, 0].into(), mask: mask(24), metric: 1 },
    ];
    links.extend(neighbors.iter().map(|&of| RouterLink::PointToPoint {
        neighbor: id(of),
        own: id(switch),
        metric: 1,
    }));
    let key = LsaKey { kind: 1, id: id(switch), router: id(switch) };
    Lsa::new(1, 2, key, sequence, &Contents::Router(RouterLinks { bits: 0, links }))
}

#[test]
fn advertisements_become_the_same_table_and_repetitions_no_work() {
    let (mut daemon, mut table) = (Daemon::new(config()), Table::default());
    let mut lsdb = Lsdb::default();
    let now = Duration::ZERO;
    for switch in 0..6 {
        lsdb.offer(advertisement(switch, 1, &[(switch + 1) % 6, (switch + 5) % 6]), now);
    }
    daemon.handle_lsdb(&lsdb, now);
    follow(&mut daemon, &mut table);
    let mut other = Daemon::new(config());
    other.handle_fabric(ring(), now);
    assert_eq!(&table, other.table());
    assert_eq!(daemon.plan().unwrap().fabric().links(), ring().links());

    let version = lsdb.version();
    lsdb.offer(advertisement(3, 2, &[4, 2]), now);
    assert_eq!(lsdb.version(), version, "it only repeats");
    // One end alone that tells of a link's loss is enough.
    lsdb.offer(advertisement(3, 3, &[4]), now);
    daemon.handle_lsdb(&lsdb, Duration::from_secs(1));
    follow(&mut daemon, &mut table);
    assert_eq!(daemon.plan().unwrap().fabric().links(), ring().without_links(&[(2, 3)]).links());
    // What is not repeated for an hour holds no more.
    lsdb.expire(Duration::from_secs(3_599));
    assert!(lsdb.is_empty());
}

/// A fat-tree of k-port switches, its switches numbered by a salt, its roots wired to pods by another: the pairs.
fn fat_tree(k: usize, salt: usize) -> (usize, Vec<(usize, usize)>) {
    let half = k / 2;
    let switches = 5 * half * half;
    let number = |at: usize| (at * 7 + salt) % switches;
    let (aggregation, edge) =
        (|pod, at| half * half + pod * half + at, |pod, at| half * half + (k + pod) * half + at);
    let mut links = Vec::new();
    for pod in 0..k {
        for at in 0..half {
            for other in 0..half {
                let root = ((at + salt * pod) % half) * half + other;
                links.push((number(root), number(aggregation(pod, at))));
                links.push((number(aggregation(pod, at)), number(edge(pod, other))));
            }
        }
    }
    (switches, links)
}

fn tree_fabric(k: usize, salt: usize) -> Fabric {
    let (switches, links) = fat_tree(k, salt);
    Fabric::of_links(switches, links.into_iter().map(|(a, b)| (a, b, 1)))
}

fn planned(fabric: Fabric, source: usize) -> Plan {
    Plan::new(Settings { method: Method::FatTree(None), ..Settings::default() }, fabric, source)
}

#[test]
fn in_a_fat_tree_aggregation_switches_name_paths_within_a_pod_and_roots_all_others() {
    for (k, salt) in [(2, 0), (4, 0), (4, 3), (8, 1), (12, 2)] {
        let half = k / 2;
        let fabric = tree_fabric(k, salt);
        let tree = FatTree::recognise(&fabric).unwrap_or_else(|| panic!("k = {k}, salt {salt}"));
        let layers = tree.layers();
        assert_eq!(layers.iter().filter(|layer| **layer == Layer::Core).count(), half * half);
        let source = layers.iter().position(|layer| matches!(layer, Layer::Edge { .. })).unwrap();
        let Layer::Edge { pod } = layers[source] else { unreachable!() };
        let plan = planned(fabric.clone(), source);
        for to in (0..layers.len()).filter(|&to| to != source) {
            let relays: BTreeSet<_> = plan
                .paths(to)
                .iter()
                .map(|path| {
                    let relays = path.relays.as_ref().unwrap();
                    (relays.len(), relays.first().map(|&relay| layers[relay as usize]))
                })
                .collect();
            match layers[to] {
                Layer::Edge { pod: same } if same == pod => {
                    assert_eq!(plan.paths(to).len(), half);
                    assert_eq!(relays, [(1, Some(Layer::Aggregation { pod }))].into());
                }
                Layer::Edge { .. } => {
                    assert_eq!(plan.paths(to).len(), half * half);
                    assert_eq!(relays, [(1, Some(Layer::Core))].into());
                }
                _ => assert!(!plan.paths(to).is_empty()),
            }
        }
    }
}

#[test]
fn a_fat_tree_that_lost_a_link_is_one_still_and_a_graph_that_is_none_is_planned_as_any() {
    let fabric = tree_fabric(4, 1);
    let tree = FatTree::recognise(&fabric).unwrap();
    let layers = tree.layers().to_vec();
    let edge = |wanted| {
        layers
            .iter()
            .enumerate()
            .filter(move |(_, layer)| matches!(layer, Layer::Edge { pod } if (*pod == 0) == wanted))
    };
    let (source, to) = (edge(true).next().unwrap().0, edge(false).next().unwrap().0);
    let mut plan = planned(fabric.clone(), source);
    let lost = plan.paths(to)[0].clone();
    let after = fabric.without_links(&[(lost.switches[1], lost.switches[2])]);
    assert_eq!(FatTree::recognise(&after), None);
    plan.update(after, source);
    assert_eq!(plan.paths(to).len(), 3);
    assert!(!plan.paths(to).contains(&lost));
    plan.update(fabric, source);
    assert_eq!(plan.paths(to).len(), 4);

    let same = |fabric: Fabric| {
        assert_eq!(FatTree::recognise(&fabric), None);
        let any = Plan::new(Settings::default(), fabric.clone(), 0);
        let plan = planned(fabric, 0);
        (0..any.fabric().switches().len()).for_each(|to| assert_eq!(plan.paths(to), any.paths(to)));
    };
    same(ring());
    // A fat-tree two links of which swapped an end, and one with a link that costs more.
    let (switches, mut links) = fat_tree(4, 0);
    let (a, b) = (links[0], links[links.len() - 2]);
    links[0].1 = b.1;
    let last = links.len() - 2;
    links[last].1 = a.1;
    same(Fabric::of_links(switches, links.iter().map(|&(a, b)| (a, b, 1))));
    let (switches, links) = fat_tree(4, 0);
    same(Fabric::of_links(
        switches,
        links.iter().enumerate().map(|(at, &(a, b))| (a, b, 1 + u32::from(at == 5))),
    ));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn operations_lead_from_any_table_to_any_other(
        before in prop::collection::btree_map(0..9u8, prop::collection::vec(prop::collection::vec(0..4u8, 0..3), 1..3), 0..9),
        after in prop::collection::btree_map(0..9u8, prop::collection::vec(prop::collection::vec(0..4u8, 0..3), 1..3), 0..9),
    ) {
        let table = |sets: &std::collections::BTreeMap<u8, Vec<Vec<u8>>>| {
            let mut table = Table::default();
            for (prefix, lists) in sets {
                let address = |&last: &u8| IpAddr::from([10, 0, 0, last]);
                let lists = lists.iter().map(|list| list.iter().map(address).collect()).collect();
                let prefix = format!("172.16.{prefix}.0/24").parse().unwrap();
                table.apply(Operation::Set { prefix, lists });
            }
            table
        };
        let (mut from, to) = (table(&before), table(&after));
        let operations = from.operations(&to);
        let changed = (0..9).filter(|prefix| before.get(prefix) != after.get(prefix)).count();
        prop_assert_eq!(operations.len(), changed, "one for each prefix that changed, and no other");
        operations.into_iter().for_each(|operation| from.apply(operation));
        prop_assert_eq!(from, to);
    }
}
