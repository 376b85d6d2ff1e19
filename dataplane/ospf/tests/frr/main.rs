//! Fabrics as real OSPF routers tell of them, over a passive adjacency of our own on each kind of link and by the API of
//! FRR's ospfd: all must be the same, link by link.

mod driver;
mod lab;

use driver::Learner;
use lab::{Node, cable, wait, wait_or};
use plait_control_paths::ospf::{LinkKind, SYNC_PORT};
use plait_control_paths::{Daemon, DaemonConfig, Fabric, Operation};
use plait_dataplane_ospf::Source;
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;
use std::time::Duration;

fn id(last: u8) -> Ipv4Addr {
    [10, 255, 0, last].into()
}

/// An ospfd's configuration: its ID and loopback, and interfaces with their costs.
fn config(router: u8, interfaces: &[(&str, &str, u16)]) -> String {
    let mut text = String::new();
    for (name, network, cost) in interfaces {
        text += &format!(
            "interface {name}\n ip ospf network {network}\n ip ospf cost {cost}\n ip ospf hello-interval 1\n ip ospf dead-interval 4\n ip ospf retransmit-interval 3\n!\n"
        );
    }
    text + &format!(
        "router ospf\n ospf router-id {}\n network 10.0.0.0/8 area 0\n network 172.16.0.0/12 area 0\n passive-interface hosts\n timers throttle spf 10 50 500\n timers throttle lsa all 100\n timers lsa min-arrival 50\n capability opaque\n!\n",
        id(router)
    )
}

/// The links by the last bytes of the IDs, and the costs.
fn links(fabric: &Fabric) -> BTreeSet<(u8, u8, u32)> {
    let of = |index: u32| fabric.switches()[index as usize].id.octets()[3];
    fabric.links().iter().map(|link| (of(link.from), of(link.to), link.cost)).collect()
}

/// Waits until all feeds have a fabric, the same one, with these links.
fn all_see(what: &str, feeds: &[&Learner], expected: &[(u8, u8, u32)]) -> Fabric {
    let expected = expected.iter().copied().collect();
    let look = || {
        let fabrics = feeds.iter().map(|feed| feed.seen().fabric).collect::<Option<Vec<_>>>()?;
        let same = fabrics.iter().all(|fabric| *fabric == fabrics[0] && links(fabric) == expected);
        same.then(|| fabrics[0].clone())
    };
    let missing = || feeds.iter().map(|feed| format!("{:?}", feed.seen())).collect::<Vec<_>>().join("\n");
    wait_or(look, || format!("{what} did not come: {}", missing()))
}

/// ```text
///      speaker              API client
///         │ point-to-point      │
///         └──────── a ──────────┘
///                 3/ \5            of the links between routers the costs
///                 b   c
///                  7\ /7
///         speaker ── br            on a LAN that both are on
/// ```
#[test]
fn an_adjacency_on_each_kind_of_link_and_frrs_api_tell_of_the_same_fabric() {
    if !Path::new("/usr/lib/frr/ospfd").exists() || !rustix::process::geteuid().is_root() {
        return println!("skipped: FRR or the right to make namespaces is not there");
    }
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let [host, a, b, c] = ["host", "a", "b", "c"].map(|name| Node::new(folder.path(), name));
    cable((&host, "uplink"), (&a, "downlink"));
    cable((&a, "ab"), (&b, "ba"));
    cable((&a, "ac"), (&c, "ca"));
    cable((&host, "portb"), (&b, "lan"));
    cable((&host, "portc"), (&c, "lan"));
    host.run("ip link add lan type bridge");
    for line in ["portb master lan", "portc master lan", "lan up"] {
        host.run(&format!("ip link set dev {line}"));
    }
    for (node, interface, address) in [
        (&host, "uplink", "10.0.1.2/24"),
        (&a, "downlink", "10.0.1.1/24"),
        (&a, "ab", "10.0.2.1/30"),
        (&b, "ba", "10.0.2.2/30"),
        (&a, "ac", "10.0.3.1/30"),
        (&c, "ca", "10.0.3.2/30"),
        (&host, "lan", "10.0.4.1/24"),
        (&b, "lan", "10.0.4.2/24"),
        (&c, "lan", "10.0.4.3/24"),
    ] {
        node.run(&format!("ip address add {address} dev {interface}"));
    }
    let point = "point-to-point";
    for (node, number, interfaces) in [
        (&a, 1, &[("downlink", point, 9), ("ab", point, 3), ("ac", point, 5)][..]),
        (&b, 2, &[("ba", point, 3), ("lan", "broadcast", 7)]),
        (&c, 3, &[("ca", point, 5), ("lan", "broadcast", 7)]),
    ] {
        node.run(&format!("ip address add {}/32 dev lo", id(number)));
        node.run("ip link add hosts type veth peer name there");
        node.run("ip link set dev hosts up");
        node.run("ip link set dev there up");
        node.run(&format!("ip address add 172.16.{number}.1/24 dev hosts"));
        node.start_frr(&config(number, interfaces));
    }
    let on = |interface: &str, kind, router: Option<Ipv4Addr>| Source::Adjacency {
        interface: interface.to_owned(),
        kind,
        router,
        area: Ipv4Addr::UNSPECIFIED,
        intervals: (1, 4),
    };
    // Of the IDs one is higher than the routers' and one lower: once we are the slave, once the master.
    let straight = Learner::new(&host, on("uplink", LinkKind::PointToPoint, Some(id(200))));
    let on_lan = Learner::new(&host, on("lan", LinkKind::Broadcast, Some([1, 1, 1, 1].into())));
    let server = SocketAddrV4::new(Ipv4Addr::LOCALHOST, SYNC_PORT);
    let ask = Source::Api { server, area: Ipv4Addr::UNSPECIFIED };
    let api = Learner::new(&a, ask);
    let feeds = [&straight, &on_lan, &api];

    let whole = [(1, 2, 3), (2, 1, 3), (1, 3, 5), (3, 1, 5), (2, 3, 7), (3, 2, 7)];
    let fabric = all_see("the fabric", &feeds, &whole);
    for (switch, number) in fabric.switches().iter().zip(1..) {
        assert_eq!(switch.relay, Some(id(number).into()));
        let hosts = format!("172.16.{number}.0/24").parse().unwrap();
        assert!(switch.prefixes.contains(&hosts), "{switch:?}");
        assert!(
            !switch.prefixes.contains(&"10.0.2.0/30".parse().unwrap()),
            "a link's two ends both tell of it"
        );
    }
    // The neighbours, too, hold us for a full neighbour, and nobody holds us for a router of the fabric.
    wait("full neighbours on both sides", || {
        let ours = straight.seen().neighbors == [id(1)] && on_lan.seen().neighbors == [id(2), id(3)];
        let line = |node: &Node, of: Ipv4Addr| {
            let said = node.ask("show ip ospf neighbor");
            said.lines().any(|line| line.contains(&format!("{of} ")) && line.contains("Full"))
        };
        (ours && line(&a, id(200)) && line(&b, [1, 1, 1, 1].into()) && line(&c, [1, 1, 1, 1].into()))
            .then_some(())
    });
    for node in [&a, &b, &c] {
        let routers = node.ask("show ip ospf database router");
        let tells =
            |of: Ipv4Addr| routers.lines().any(|line| line.trim() == format!("Advertising Router: {of}"));
        assert!(tells(id(1)) && !tells(id(200)) && !tells([1, 1, 1, 1].into()), "{routers}");
    }
    // A host behind a has two ways to c's hosts: straight, and over b, whose relay names the other.
    let mut daemon = Daemon::new(DaemonConfig { pause: Duration::ZERO, ..DaemonConfig::new(id(1)) });
    let prefix = "172.16.3.0/24".parse().unwrap();
    let mut lists = |fabric: Fabric| {
        daemon.handle_fabric(fabric, Duration::ZERO);
        let operations = std::iter::from_fn(|| daemon.poll_operation());
        operations.filter(|operation| matches!(operation, Operation::Set { prefix: of, .. } | Operation::Remove { prefix: of } if *of == prefix)).collect::<Vec<_>>()
    };
    let both = Operation::Set { prefix, lists: vec![vec![], vec![id(2).into()]] };
    assert_eq!(lists(fabric), std::slice::from_ref(&both));

    a.run("ip link set dev ac down");
    let half = [(1, 2, 3), (2, 1, 3), (2, 3, 7), (3, 2, 7)];
    let fabric = all_see("the fabric without the link", &feeds, &half);
    assert_eq!(lists(fabric), [Operation::Remove { prefix }], "one way is left, the switches' own");
    a.run("ip link set dev ac up");
    assert_eq!(lists(all_see("the fabric with the link again", &feeds, &whole)), [both]);

    // A router that is set up anew counts its advertisements from the start again, and is asked for all of them again.
    a.kill_ospfd();
    wait("an API that tells nothing", || api.seen().fabric.is_none().then_some(()));
    wait("the fabric without a", || {
        let fabric = on_lan.seen().fabric?;
        links(&fabric).iter().all(|(from, to, _)| ![from, to].contains(&&1)).then_some(())
    });
    a.start_daemon(
        "ospfd",
        &config(1, &[("downlink", point, 9), ("ab", point, 4), ("ac", point, 5)]),
        &["-a"],
    );
    let other = [(1, 2, 4), (2, 1, 3), (1, 3, 5), (3, 1, 5), (2, 3, 7), (3, 2, 7)];
    all_see("the fabric with a's new cost", &[&straight, &on_lan, &api], &other);
}
