//! Networks that several tests use.
#![allow(dead_code)]

use plait_model_link::{Conditions, ConditionsSpec};
use plait_simulator_engine::{Builder, Kind, LinkSpec, NodeIndex};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

pub fn conditions(settings: &[(&str, &str)]) -> Arc<Conditions> {
    let spec = ConditionsSpec::from_settings(settings).unwrap();
    Arc::new(spec.build(&|_| Err("no traces".into())).unwrap())
}

pub fn address(node: NodeIndex) -> IpAddr {
    Ipv4Addr::from_bits(0x0a00_0001 + node.0).into()
}

/// A node with an address.
pub fn node(builder: &mut Builder, name: impl Into<String>, kind: Kind) -> NodeIndex {
    let node = builder.node(name, kind);
    if kind != Kind::Switch {
        builder.address(node, address(node));
    }
    node
}

pub fn link(builder: &mut Builder, a: NodeIndex, b: NodeIndex, conditions: &Arc<Conditions>) {
    let name = format!("{}-{}", a.0, b.0);
    builder.link(LinkSpec { mtu: 9000, ..LinkSpec::symmetric(name, [a, b], Arc::clone(conditions)) });
}

/// A k-ary fat-tree: its hosts come first, then pod by pod edge and aggregation switches, then the core.
pub fn fat_tree(seed: u64, k: u32, conditions: &Arc<Conditions>) -> (Builder, Vec<NodeIndex>) {
    let mut builder = Builder::new(seed);
    let half = k / 2;
    let hosts: Vec<NodeIndex> =
        (0..k * half * half).map(|host| node(&mut builder, format!("h{host}"), Kind::Host)).collect();
    let mut pods = Vec::new();
    for pod in 0..k {
        let layer = |builder: &mut Builder, name: &str| -> Vec<NodeIndex> {
            (0..half).map(|at| node(builder, format!("{name}{pod}_{at}"), Kind::Router)).collect()
        };
        let (edges, above) = (layer(&mut builder, "e"), layer(&mut builder, "a"));
        pods.push((edges, above));
    }
    let core: Vec<NodeIndex> =
        (0..half * half).map(|at| node(&mut builder, format!("c{at}"), Kind::Router)).collect();
    for (pod, (edges, above)) in pods.iter().enumerate() {
        for (at, edge) in edges.iter().enumerate() {
            let first = (pod * half as usize + at) * half as usize;
            for host in &hosts[first..first + half as usize] {
                link(&mut builder, *host, *edge, conditions);
            }
            for upper in above {
                link(&mut builder, *edge, *upper, conditions);
            }
        }
        for (at, upper) in above.iter().enumerate() {
            for root in &core[at * half as usize..(at + 1) * half as usize] {
                link(&mut builder, *upper, *root, conditions);
            }
        }
    }
    builder.shortest_path_routes();
    (builder, hosts)
}
