//! What the graph algorithms give, beside brute force and another library.

use petgraph::graph::{NodeIndex, UnGraph};
use plait_model_topology::document::Source;
use plait_model_topology::graph::{Graph, GraphBuilder, Path, PathFinder, UniquePaths, Without};
use plait_model_topology::{Network, Vocabulary, parse_network};
use proptest::prelude::*;
use std::collections::{BTreeSet, HashSet};

type Edges = Vec<(usize, usize, u32)>;

fn any_edges(most: usize, least_cost: u32) -> impl Strategy<Value = (usize, Edges)> {
    (2..most).prop_flat_map(move |vertices| {
        let edge = (0..vertices, 0..vertices, least_cost..5u32);
        (Just(vertices), prop::collection::vec(edge, 0..3 * vertices))
    })
}

fn network(text: &str) -> Network {
    parse_network(&Source::new("net.yaml", text), &Vocabulary::core(), &|_| Err(String::new())).unwrap()
}

/// Every loop-free path, by walking all of them.
fn all_paths(graph: &Graph, from: usize, to: usize) -> Vec<Path> {
    let mut found = Vec::new();
    let mut open = vec![Path { cost: 0, vertices: vec![from], edges: Vec::new() }];
    while let Some(path) = open.pop() {
        let at = *path.vertices.last().unwrap();
        if at == to {
            found.push(path);
            continue;
        }
        if !graph.is_transit(at) && at != from {
            continue;
        }
        for arc in graph.arcs(at).iter().filter(|arc| !path.vertices.contains(&(arc.to as usize))) {
            let mut longer = path.clone();
            longer.cost += u64::from(arc.cost);
            longer.vertices.push(arc.to as usize);
            longer.edges.push(arc.edge as usize);
            open.push(longer);
        }
    }
    found.sort_by(|a, b| (a.cost, a.edges.len(), a).cmp(&(b.cost, b.edges.len(), b)));
    found
}

/// Paths by cost, as they are found by making all beginnings longer, cheapest first: none if that takes too many.
fn plain_search(graph: &Graph, from: usize, to: usize, k: usize, most: usize) -> Option<Vec<Path>> {
    let beginning = Path { cost: 0, vertices: vec![from], edges: Vec::new() };
    let (mut open, mut found) = (BTreeSet::from([(0, 0, beginning)]), Vec::new());
    for _ in 0..most {
        let Some((_, _, path)) = open.pop_first() else { return Some(found) };
        let at = *path.vertices.last().unwrap();
        if at == to {
            found.push(path);
            if found.len() == k {
                return Some(found);
            }
            continue;
        }
        for arc in graph.arcs(at).iter().filter(|arc| !path.vertices.contains(&(arc.to as usize))) {
            let mut longer = path.clone();
            longer.cost += u64::from(arc.cost);
            longer.vertices.push(arc.to as usize);
            longer.edges.push(arc.edge as usize);
            open.insert((longer.cost, longer.edges.len(), longer));
        }
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn distances_are_those_of_another_library((vertices, edges) in any_edges(20, 0)) {
        let graph = Graph::undirected(vertices, edges.iter().copied());
        let mut other = UnGraph::<(), u64>::default();
        for _ in 0..vertices {
            other.add_node(());
        }
        for &(a, b, cost) in &edges {
            other.add_edge(NodeIndex::new(a), NodeIndex::new(b), cost.into());
        }
        for paths in graph.all_shortest_paths() {
            let known = petgraph::algo::dijkstra(&other, NodeIndex::new(paths.source()), None, |edge| *edge.weight());
            for to in 0..vertices {
                prop_assert_eq!(paths.distance(to), known.get(&NodeIndex::new(to)).copied());
            }
        }
        prop_assert_eq!(graph.components().count(), petgraph::algo::connected_components(&other));
        let forest = graph.minimum_spanning_forest();
        let tree = petgraph::data::FromElements::from_elements(petgraph::algo::min_spanning_tree(&other));
        let tree: UnGraph<(), u64> = tree;
        prop_assert_eq!(forest.cost, tree.edge_weights().sum::<u64>());
        prop_assert_eq!(forest.edges.len(), vertices - graph.components().count());
    }

    /// What two algorithms find is one tree if no two edges are equal.
    #[test]
    fn the_spanning_forest_is_the_one_that_prims_algorithm_finds(
        (vertices, edges) in any_edges(20, 0),
    ) {
        // Of equal costs the first added wins.
        let cost = |index: usize, cost: u32| cost * 1000 + index as u32;
        let graph = Graph::undirected(vertices, edges.iter().copied());
        let mut other = UnGraph::<(), u32>::default();
        for _ in 0..vertices {
            other.add_node(());
        }
        for (index, &(a, b, edge)) in edges.iter().enumerate() {
            other.add_edge(NodeIndex::new(a), NodeIndex::new(b), cost(index, edge));
        }
        prop_assume!(graph.components().count() == 1);
        let tree: UnGraph<(), u32> =
            petgraph::data::FromElements::from_elements(petgraph::algo::min_spanning_tree_prim(&other));
        let mut prims: Vec<usize> = tree.edge_weights().map(|cost| *cost as usize % 1000).collect();
        prims.sort_unstable();
        prop_assert_eq!(graph.minimum_spanning_forest().edges, prims);
    }

    #[test]
    fn next_hops_are_the_first_steps_of_all_shortest_paths(
        (vertices, edges) in any_edges(7, 1),
        hosts in prop::collection::vec(any::<bool>(), 7),
        equal in any::<bool>(),
    ) {
        let mut builder = GraphBuilder::new(vertices);
        for &(a, b, cost) in &edges {
            builder.edge(a, b, if equal { 2 } else { cost });
        }
        for host in (0..vertices).filter(|&vertex| hosts[vertex]) {
            builder.no_transit(host);
        }
        let graph = builder.build();
        for paths in graph.all_shortest_paths() {
            let from = paths.source();
            let hops = graph.next_hops(&paths);
            for to in (0..vertices).filter(|&to| to != from) {
                let all = all_paths(&graph, from, to);
                let shortest = all.iter().filter(|path| path.cost == all[0].cost);
                let expected: BTreeSet<usize> = shortest.map(|path| path.edges[0]).collect();
                let got: BTreeSet<usize> =
                    graph.next_hop_arcs(from, &hops, to).map(|arc| arc.edge as usize).collect();
                prop_assert_eq!(got, expected);
                prop_assert_eq!(paths.distance(to), all.first().map(|path| path.cost));
            }
        }
    }

    #[test]
    fn yens_paths_are_the_first_of_all_by_cost_then_edges_then_vertices(
        (vertices, edges) in any_edges(6, 0),
        directed in any::<bool>(),
        // Costs as they are, all the same, or all the same and no edges parallel.
        likeness in 0..3,
        hosts in prop::collection::vec(any::<bool>(), 6),
        (from, to) in (0..6usize, 0..6usize),
    ) {
        let (from, to) = (from % vertices, to % vertices);
        let mut builder = GraphBuilder::new(vertices);
        let mut known = HashSet::new();
        for &(a, b, cost) in &edges {
            let is_new = known.insert((a, b)) && (directed || known.insert((b, a)) || a == b);
            match (directed, if likeness == 0 { cost } else { 3 }) {
                _ if likeness == 2 && !is_new => continue,
                (true, cost) => builder.directed_edge(a, b, cost),
                (false, cost) => builder.edge(a, b, cost),
            };
        }
        (0..vertices).filter(|&vertex| hosts[vertex] && vertex % 2 == 0).for_each(|host| builder.no_transit(host));
        let graph = builder.build();
        let all = all_paths(&graph, from, to);
        let mut finder = PathFinder::new(&graph);
        for k in [0, 1, 2, 8, usize::MAX] {
            let found = finder.k_shortest_paths(from, to, k);
            prop_assert_eq!(&found[..], &all[..all.len().min(k)]);
        }
    }

    #[test]
    fn of_larger_graphs_yens_paths_are_those_that_a_plain_search_finds(
        (vertices, edges) in any_edges(60, 1), equal: bool, to in 1..60usize,
    ) {
        let to = to % (vertices - 1) + 1;
        let edges = edges.into_iter().map(|(a, b, cost)| (a, b, if equal { 4 } else { cost }));
        let graph = Graph::undirected(vertices, edges);
        let paths = plain_search(&graph, 0, to, 12, 20_000);
        prop_assume!(paths.is_some());
        prop_assert_eq!(graph.k_shortest_paths(0, to, 12), paths.unwrap());
    }

    #[test]
    fn a_path_is_the_only_shortest_one_if_no_other_vertices_are_as_near(
        (vertices, edges) in any_edges(7, 1), equal in any::<bool>(),
    ) {
        let mut known = HashSet::new();
        let edges = edges.into_iter().filter(|&(a, b, _)| !equal || known.insert((a.min(b), a.max(b))));
        let graph = Graph::undirected(vertices, edges.map(|(a, b, cost)| (a, b, if equal { 2 } else { cost })));
        let mut unique = UniquePaths::new(&graph);
        for (from, to) in (0..vertices).flat_map(|from| (0..vertices).map(move |to| (from, to))) {
            let all = all_paths(&graph, from, to);
            let ways: HashSet<_> =
                all.iter().filter(|path| path.cost == all[0].cost).map(|path| &path.vertices).collect();
            for path in &all {
                let expected = path.cost == all[0].cost && ways.len() == 1
                    || ways.len() == 1 && ways.contains(&path.vertices);
                prop_assert_eq!(unique.is_unique(&path.vertices), expected, "{:?}", path);
            }
        }
    }

    #[test]
    fn in_larger_graphs_a_part_of_a_path_is_the_only_shortest_one_if_there_is_no_other(
        (vertices, edges) in any_edges(40, 1),
        hosts in prop::collection::hash_set(0..40usize, 0..6),
        directed: bool,
    ) {
        let mut builder = GraphBuilder::new(vertices);
        for (a, b, cost) in edges {
            if directed { builder.directed_edge(a, b, cost) } else { builder.edge(a, b, cost) };
        }
        hosts.into_iter().filter(|&host| host < vertices).for_each(|host| builder.no_transit(host));
        let graph = builder.build();
        let (mut unique, mut finder) = (UniquePaths::new(&graph), PathFinder::new(&graph));
        for to in (1..vertices).step_by(5) {
            for path in finder.k_shortest_paths(0, to, 4) {
                let steps = path.vertices.len();
                for part in (0..steps).flat_map(|at| (at + 2..=steps).map(move |end| at..end)) {
                    let part = &path.vertices[part];
                    // Parallel edges are one way.
                    let all = graph.k_shortest_paths(part[0], part[part.len() - 1], 12);
                    let shortest = all.iter().take_while(|path| path.cost == all[0].cost);
                    let is_only = shortest.map(|path| &path.vertices).all(|vertices| vertices == part);
                    prop_assert_eq!(unique.is_unique(part), is_only, "{:?}", part);
                }
            }
        }
    }

    #[test]
    fn what_is_removed_joins_nothing(
        (vertices, edges) in any_edges(12, 1),
        gone in prop::collection::hash_set(0..12usize, 0..4),
        cut in prop::collection::hash_set(0..36usize, 0..8),
    ) {
        let graph = Graph::undirected(vertices, edges.iter().copied());
        let without = Without { edges: cut.clone(), vertices: gone.clone() };
        let parts = graph.components_without(&without);
        let left = edges.iter().enumerate().filter(|(at, (a, b, _))| {
            !cut.contains(at) && !gone.contains(a) && !gone.contains(b)
        });
        let rest = Graph::undirected(vertices, left.map(|(_, edge)| *edge));
        for a in (0..vertices).filter(|a| !gone.contains(a)) {
            let paths = rest.shortest_paths(a);
            for b in (0..vertices).filter(|b| !gone.contains(b)) {
                prop_assert_eq!(parts.joined(a, b), paths.distance(b).is_some());
            }
        }
        prop_assert_eq!(parts.members().iter().map(Vec::len).sum::<usize>(), (0..vertices).filter(|v| !gone.contains(v)).count());
    }

    #[test]
    fn a_reversed_graph_has_the_distances_the_other_way((vertices, edges) in any_edges(10, 1)) {
        let graph = Graph::directed(vertices, edges.iter().copied());
        let reversed = graph.reversed();
        for a in 0..vertices {
            let back = reversed.shortest_paths(a);
            for b in 0..vertices {
                prop_assert_eq!(graph.shortest_paths(b).distance(a), back.distance(b));
            }
        }
    }
}

#[test]
fn paths_never_lead_through_hosts() {
    let graph =
        Graph::of_network(&network("plait: 1\nnodes: {a: router, h: host, b: router}\nlinks: [a-h, h-b]\n"));
    let paths = graph.shortest_paths(0);
    assert_eq!(paths.distance(1), Some(1));
    assert_eq!(paths.distance(2), None);
    assert_eq!(graph.shortest_paths(1).distance(2), Some(1), "a host's own packets leave it");
    assert!(graph.k_shortest_paths(0, 2, 3).is_empty());
    assert!(graph.components().joined(0, 2));
}

#[test]
fn two_nodes_on_a_switch_or_lan_are_as_near_as_on_a_link() {
    let graph = Graph::of_network(&network(
        "plait: 1\nnodes: {a: router, s: switch, t: switch, b: router, c: router}\nlinks: [a-s, s-t, t-b]\nlans: {office: [b, c]}\n",
    ));
    let paths = graph.shortest_paths(0);
    assert_eq!(paths.distance(3), Some(1));
    assert_eq!(paths.distance(4), Some(2));
    assert_eq!(graph.vertices(), 6, "five nodes and a LAN");
}

#[test]
fn parallel_links_are_different_paths_and_survive_each_other() {
    let graph =
        Graph::of_network(&network("plait: 1\nnodes: [a, b]\nlinks: [a-b, {endpoints: [a, b], cost: 3}]\n"));
    let costs: Vec<_> =
        graph.k_shortest_paths(0, 1, 9).into_iter().map(|path| (path.cost, path.edges)).collect();
    assert_eq!(costs, [(1, vec![0]), (3, vec![1])]);
    assert!(graph.is_connected_without(&Without { edges: [0].into(), ..Default::default() }));
    assert!(!graph.is_connected_without(&Without { edges: [0, 1].into(), ..Default::default() }));
}

#[test]
fn a_torus_of_4970_nodes_has_its_next_hops_in_seconds() {
    let (rows, columns) = (70, 71);
    let mut edges = Vec::new();
    for row in 0..rows {
        for column in 0..columns {
            edges.push((row * columns + column, row * columns + (column + 1) % columns, 1));
            edges.push((row * columns + column, (row + 1) % rows * columns + column, 1));
        }
    }
    let graph = Graph::undirected(rows * columns, edges);
    let started = std::time::Instant::now();
    let mut hops = 0;
    for paths in graph.all_shortest_paths() {
        assert_eq!(paths.eccentricity(), 35 + 35);
        hops += graph.next_hops(&paths).of(0).count();
    }
    assert!(hops > rows * columns);
    // A debug build on a busy machine is an order of magnitude slower than the second or so it takes.
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}
