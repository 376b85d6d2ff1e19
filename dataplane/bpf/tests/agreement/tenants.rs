//! Several applications of one node, each with a tenant, and peers that are known in some of them: tables as they are drawn.

use super::tables::{Drawn, drawn};
use super::*;
use plait_dataplane_reference::mapped;
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::sample::select;

/// Its bit stands in another word than the first's.
const SECOND: u8 = 40;
/// What is no application of the node's.
const NONE: u8 = 9;

/// What is drawn of a pair of locators and an arrival: the application of what names none, and those in which it is known.
type Known = Option<(u8, bool, bool)>;

/// What is drawn beside the first application's tables.
#[derive(Debug, Clone)]
struct More {
    first: Drawn,
    /// The second's own identity, if it has one, and the paths of its nodes.
    own: Option<u32>,
    nodes: Vec<Option<u32>>,
    peers: Vec<Known>,
    /// Whose each locator is in each application.
    locators: Vec<Option<u32>>,
    /// Whose each application's VNI is.
    vnis: Vec<Option<u32>>,
}

fn more(driver: u32, peers: usize) -> impl Strategy<Value = More> {
    let application = select(vec![APPLICATION, SECOND, NONE]);
    let known = weighted(0.9, (application, prop::bool::weighted(0.8), prop::bool::weighted(0.8)));
    let node = select(vec![PEER.0, FAR.0]);
    (
        drawn(driver, size::CHOICES as usize),
        weighted(0.9, select(vec![OWN.0, 0x0b00_0001])),
        vec(weighted(0.9, PATHS), 2),
        vec(known, peers),
        vec(weighted(0.9, node), 4),
        vec(weighted(0.9, TENANT..TENANT + 2), 2),
    )
        .prop_map(|(first, own, nodes, peers, locators, vnis)| More {
            first,
            own,
            nodes,
            peers,
            locators,
            vnis,
        })
}

fn put<K, V>(table: &plait_dataplane_bpf::Table<K, V>, key: &K, value: Option<V>)
where
    K: zerocopy::FromBytes + zerocopy::IntoBytes + zerocopy::Immutable,
    V: zerocopy::FromBytes + zerocopy::IntoBytes + zerocopy::Immutable,
{
    match value {
        Some(value) => table.set(key, &value).unwrap(),
        None => drop(table.remove(key).unwrap()),
    }
}

impl More {
    /// Writes all of it, where such pairs of locators may be known, for an encapsulation each.
    fn write(&self, node: &Node, driver: u32, is_ipv6: bool, pairs: &[(PeerKey, u32)]) {
        self.first.write(node);
        let (programs, second) = (&node.programs, u32::from(SECOND));
        let own = Application { own: self.own.unwrap_or(0), ttl: 60, driver };
        programs.table(&names::APPLICATIONS).unwrap().set(&second, &own).unwrap();
        let tenants = programs.table(&names::TENANTS).unwrap();
        let first = tenants.get(&TENANT).unwrap().unwrap();
        // It answers to another address, and nobody's frames go to a group.
        let other = Tenant { application: second, address: STATION_C.0, interface: 2, ..first };
        tenants.set(&(TENANT + 1), &other).unwrap();
        let nodes = programs.table(&names::NODES).unwrap();
        for (of, path) in [PEER, FAR].into_iter().zip(&self.nodes) {
            put(&nodes, &NodeKey { application: second, node: of.0 }, *path);
        }
        let peers = programs.table(&names::PEERS).unwrap();
        for ((key, encapsulation), known) in pairs.iter().zip(&self.peers) {
            let peer = known.map(|(application, in_first, in_second)| {
                let mut applications = [0; 8];
                for (known, number) in [(in_first, APPLICATION), (in_second, SECOND)] {
                    applications[usize::from(number / 32)] |= u32::from(known) << (number % 32);
                }
                let application = application.into();
                Peer { encapsulation: *encapsulation, application, vni: VNI, applications }
            });
            put(&peers, key, peer);
        }
        let locators = programs.table(&names::LOCATORS).unwrap();
        let of = [APPLICATION, SECOND].map(|of| [PEER_LOCATOR, FAR_LOCATOR].map(|locator| (of, locator)));
        for ((application, locator), whose) in of.into_iter().flatten().zip(&self.locators) {
            let address = mapped(of_family(locator, is_ipv6));
            put(&locators, &LocatorKey { application: application.into(), address }, *whose);
        }
        let vnis = programs.table(&names::VNIS).unwrap();
        for (application, tenant) in [APPLICATION, SECOND].into_iter().zip(&self.vnis) {
            put(&vnis, &VniKey { application: application.into(), vni: VNI }, *tenant);
        }
        programs.turn().unwrap();
    }
}

#[test]
fn both_receive_of_several_applications_by_any_tables_alike() {
    for driver in [driver::ETHERNET, driver::IP] {
        for is_ipv6 in [false, true] {
            let way = Way { driver, encapsulation: encapsulation::OVSTACK, is_ipv6 };
            let Some(node) = way.node() else { return };
            let peers = node.programs.table(&names::PEERS).unwrap();
            let pairs: Vec<(PeerKey, u32)> =
                peers.keys().map(|key| (key, peers.get(&key).unwrap().unwrap().encapsulation)).collect();
            let said = (select(vec![OWN.0, FAR.0, PEER.0, 0x0b00_0001]), any::<u32>(), any::<bool>());
            let application = select(vec![APPLICATION, SECOND, SECOND, NONE]);
            let packets = (in_any(driver, is_ipv6, encapsulation::NSH), said, application).prop_map(
                move |((kind, mut packet), (to, hash, is_far), application)| {
                    let at = behind_ip(is_ipv6) + 8;
                    if kind == encapsulation::OVSTACK {
                        packet[at + 2] = application;
                        packet[at + 8..at + 12].copy_from_slice(&hash.to_be_bytes());
                        packet[at + 12..at + 16].copy_from_slice(&to.to_be_bytes());
                    }
                    if is_far {
                        match of_family(FAR_LOCATOR, is_ipv6) {
                            std::net::IpAddr::V4(address) => {
                                packet[26..30].copy_from_slice(&address.octets())
                            }
                            std::net::IpAddr::V6(address) => {
                                packet[22..38].copy_from_slice(&address.octets())
                            }
                        }
                    }
                    packet
                },
            );
            let walk = RefCell::new(node.walk());
            runner(60)
                .run(&(more(driver, pairs.len()), vec(packets, 30)), |(tables, packets)| {
                    tables.write(&node, driver, is_ipv6, &pairs);
                    *walk.borrow_mut() = fresh(&node);
                    packets
                        .iter()
                        .try_for_each(|packet| way.compare(&node, &walk, packet, Program::Receive))?;
                    wrote_alike(&node, &walk.borrow());
                    Ok(())
                })
                .unwrap();
            let both = [TENANT, TENANT + 1]
                .map(|tenant| node.programs.tenant_count(tenant).unwrap().received.packets);
            assert!(both.iter().all(|received| *received > 20), "{both:?} of {way:?}");
            let drops = node.programs.drops().unwrap();
            let wanted = [Drop::UnknownLocator, Drop::UnknownTenant, Drop::NoRoute];
            assert!(wanted.iter().all(|reason| drops.contains_key(reason)), "{drops:?} of {way:?}");
        }
    }
}
