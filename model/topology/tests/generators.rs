//! What generated networks look like.

use plait_model_topology::document::Source;
use plait_model_topology::generate::{GenerateError, Generator, Shape};
use plait_model_topology::graph::Graph;
use plait_model_topology::vocabulary::Role;
use plait_model_topology::{Network, Vocabulary, parse_network};
use proptest::prelude::*;

fn read(text: &str) -> Network {
    parse_network(&Source::new("net.yaml", text), &Vocabulary::core(), &|_| Err(String::new()))
        .unwrap_or_else(|report| panic!("{report}\n{text}"))
}

fn network(shape: Shape) -> Network {
    read(&Generator::from(shape).generate(7).unwrap_or_else(|error| panic!("{error}")))
}

fn degrees(network: &Network) -> Vec<usize> {
    let mut degrees: Vec<_> = network.nodes.iter().map(|node| node.interfaces.len()).collect();
    degrees.sort_unstable();
    degrees.dedup();
    degrees
}

fn hosts(network: &Network) -> usize {
    network.nodes.iter().filter(|node| node.role == Role::Host).count()
}

#[test]
fn every_shape_has_the_counts_it_promises_and_is_connected() {
    for (shape, nodes, links, hosts_expected) in [
        (Shape::Line { nodes: 1 }, 1, 0, 0),
        (Shape::Line { nodes: 5 }, 5, 4, 0),
        (Shape::Ring { nodes: 5 }, 5, 5, 0),
        (Shape::Star { leaves: 6 }, 7, 6, 6),
        (Shape::Tree { arity: 3, depth: 2 }, 13, 12, 9),
        (Shape::Grid { rows: 3, columns: 4 }, 12, 17, 0),
        (Shape::Torus { rows: 3, columns: 4 }, 12, 24, 0),
        (Shape::FullMesh { nodes: 6 }, 6, 15, 0),
        (Shape::FatTree { k: 2 }, 7, 6, 2),
        (Shape::FatTree { k: 4 }, 36, 48, 16),
        (Shape::FatTree { k: 6 }, 99, 162, 54),
        (Shape::RandomRegular { nodes: 20, degree: 3 }, 20, 30, 0),
    ] {
        let network = network(shape);
        let counts = (network.nodes.len(), network.links.len(), hosts(&network));
        assert_eq!(counts, (nodes, links, hosts_expected), "{shape:?}");
        assert_eq!(Graph::of_network(&network).components().count(), 1, "{shape:?}");
    }
}

#[test]
fn a_fat_tree_reaches_any_host_in_six_links_and_its_switches_have_k_ports() {
    let network = network(Shape::FatTree { k: 4 });
    assert_eq!(degrees(&network), [1, 4]);
    let graph = Graph::of_network(&network);
    let host = network.node("host1_1_1").unwrap();
    assert_eq!(graph.shortest_paths(host).eccentricity(), 6);
    let far = network.node("host4_2_2").unwrap();
    assert_eq!(graph.k_shortest_paths(host, far, 9).iter().filter(|path| path.cost == 6).count(), 4);
}

#[test]
fn a_torus_is_the_same_from_every_node() {
    let network = network(Shape::Torus { rows: 5, columns: 7 });
    assert_eq!(degrees(&network), [4]);
    let graph = Graph::of_network(&network);
    assert!(graph.all_shortest_paths().all(|paths| paths.eccentricity() == 2 + 3));
}

#[test]
fn hosts_are_attached_and_kinds_are_as_asked() {
    let generator = Generator { shape: Shape::Ring { nodes: 3 }, kind: None, hosts: 2 };
    let network = read(&generator.generate(1).unwrap());
    assert_eq!((network.nodes.len(), network.links.len(), hosts(&network)), (9, 9, 6));
    let chain = Generator { shape: Shape::Line { nodes: 3 }, kind: Some("host".to_owned()), hosts: 0 };
    assert_eq!(hosts(&read(&chain.generate(1).unwrap())), 3);
    let star = Generator { shape: Shape::Star { leaves: 3 }, kind: Some("switch".to_owned()), hosts: 0 };
    assert_eq!(read(&star.generate(1).unwrap()).nodes[0].role, Role::Switch);
}

#[test]
fn only_shapes_drawn_by_lot_look_at_the_seed() {
    let torus = Generator::from(Shape::Torus { rows: 4, columns: 4 });
    assert_eq!(torus.generate(1), torus.generate(2));
    let random = Generator::from(Shape::RandomRegular { nodes: 30, degree: 3 });
    assert_eq!(random.generate(1), random.generate(1));
    assert_ne!(random.generate(1), random.generate(2));
}

#[test]
fn what_no_graph_can_be_is_refused_with_a_remedy() {
    for shape in [
        Shape::Line { nodes: 0 },
        Shape::Ring { nodes: 2 },
        Shape::Torus { rows: 2, columns: 9 },
        Shape::FatTree { k: 3 },
        Shape::FatTree { k: 0 },
        Shape::Tree { arity: 2, depth: 0 },
        Shape::RandomRegular { nodes: 5, degree: 3 },
        Shape::RandomRegular { nodes: 4, degree: 4 },
        Shape::RandomRegular { nodes: 0, degree: 0 },
        Shape::RandomRegular { nodes: 4, degree: 1 },
    ] {
        let error = Generator::from(shape).generate(1).expect_err("there is no such graph");
        assert!(matches!(error, GenerateError::Impossible { .. }), "{shape:?}");
        assert!(error.to_string().contains("give"), "{error}");
    }
    for shape in [
        Shape::Line { nodes: usize::MAX },
        Shape::Star { leaves: usize::MAX },
        Shape::Tree { arity: usize::MAX, depth: usize::MAX },
        Shape::Tree { arity: 1, depth: usize::MAX },
        Shape::Grid { rows: usize::MAX, columns: usize::MAX },
        Shape::Torus { rows: 3, columns: usize::MAX },
        Shape::FullMesh { nodes: 2_000_000 },
        Shape::FatTree { k: usize::MAX - 1 },
        Shape::RandomRegular { nodes: usize::MAX - 1, degree: 4 },
    ] {
        let error = Generator::from(shape).generate(1).expect_err("it is too large");
        assert!(matches!(error, GenerateError::TooLarge { .. }), "{shape:?}: {error}");
    }
    let crowd = Generator { shape: Shape::Ring { nodes: 3 }, kind: None, hosts: usize::MAX };
    assert!(crowd.generate(1).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_regular_graphs_are_connected_simple_and_regular(
        nodes in 1..60usize,
        degree in 0..60usize,
        seed in any::<u64>(),
    ) {
        let generator = Generator::from(Shape::RandomRegular { nodes, degree });
        let possible = degree < nodes && nodes * degree % 2 == 0 && (degree > 1 || nodes == degree + 1);
        match generator.generate(seed) {
            Err(error) => prop_assert!(!possible, "{}", error),
            Ok(text) => {
                prop_assert!(possible);
                let network = read(&text);
                prop_assert_eq!(degrees(&network), vec![degree]);
                prop_assert_eq!(Graph::of_network(&network).components().count(), 1);
                let mut pairs: Vec<_> = network.links.iter().map(|link| {
                    let [a, b] = link.ends.map(|end| end.node);
                    (a.min(b), a.max(b))
                }).collect();
                pairs.sort_unstable();
                pairs.dedup();
                prop_assert_eq!(pairs.len(), network.links.len(), "no parallel links");
            }
        }
    }
}
