//! What importers of maps carry over, what they report, and what they refuse: GraphML and REPETITA.

mod imports_common;

use imports_common::{DRAWN, HYBRID, LAB, MAP, REPETITA, ROCKETFUEL, ZOO, import, loses, names, rate, read};
use plait_model_topology::document::Source;
use plait_model_topology::import::{GraphMl, Importer, Options, importer_for, importers};

#[test]
fn coordinates_become_the_delay_of_fibre() {
    let network = read(&import("Zoo.graphml", ZOO).unwrap());
    let delay = network.links[0].conditions[0].delay.as_nanos();
    // New York to London is 5,570 km, and light in fibre makes about 200 km a millisecond.
    assert!((27_800_000..27_950_000).contains(&delay), "{delay}");
    assert_eq!(network.links[0].conditions[0].delay, network.links[0].conditions[1].delay);
    assert_eq!(network.links[3].conditions[0].delay.as_nanos(), 0, "one end is nowhere");
}

#[test]
fn speeds_become_rates_and_parallel_edges_stay() {
    let network = read(&import("Zoo.graphml", ZOO).unwrap());
    let rates: Vec<_> = network.links.iter().map(|link| rate(&link.conditions[0])).collect();
    assert_eq!(rates[..4], ["10Gbit", "622Mbit", "unlimited", "155.52Mbit"]);
    assert_eq!(network.links[1].name, format!("{}.2", network.links[0].name));
}

#[test]
fn labels_become_names_that_differ_and_losses_are_told_with_their_lines() {
    let imported = import("some/Zoo.graphml", ZOO).unwrap();
    let network = read(&imported);
    assert_eq!(network.name, "Zoo");
    assert_eq!(names(&network), ["New-York", "London", "Zuerich", "london_2", "4", "no", "6"]);
    loses(&imported, "node Zürich", "`Zuerich`", Some(14));
    loses(&imported, "node london", "`london_2`", Some(15));
    loses(&imported, "node 4", "no latitude", Some(16));
    loses(&imported, "link 4-4", "left out", Some(24));
    loses(&imported, "label `< 10 Gbps` of 1 links", "no one rate", Some(21));
    loses(&imported, "attributes country", "no place", None);
    loses(&imported, "the network", "2 parts", None);
    assert_eq!(imported.parts, 2);
}

#[test]
fn a_drawing_gives_labels_and_speeds_and_delays_once_its_scale_is_known() {
    let imported = import("Drawn.graphml", DRAWN).unwrap();
    let network = read(&imported);
    assert_eq!(names(&network), ["Seattle", "Los-Angeles", "n2"]);
    let rates: Vec<_> = network.links.iter().map(|link| rate(&link.conditions[0])).collect();
    assert_eq!(rates, ["9953.28Mbit", "45Mbit", "unlimited", "unlimited"]);
    assert_eq!(network.links[0].conditions[0].delay.as_nanos(), 0);
    loses(&imported, "coordinates", "links have no delay", None);
    loses(&imported, "node n2", "hyper-edge", Some(9));
    loses(&imported, "label `Lit Fibre` of 2 links", "no one rate", Some(12));
    loses(&imported, "direction of edges", "both directions", Some(6));
    let scaled = Options { kilometres_per_unit: Some(4.0), ..Options::default() };
    let scaled = GraphMl.import(&Source::new("Drawn.graphml", DRAWN), &scaled).unwrap();
    let delay = read(&scaled).links[0].conditions[0].delay.as_nanos();
    assert!((10_000_000..10_010_000).contains(&delay), "500 units are 2000 km and 10 ms: {delay}");
}

#[test]
fn two_directed_edges_are_one_link_with_its_reverse() {
    let imported = import("net.graph", REPETITA).unwrap();
    let network = read(&imported);
    assert_eq!(names(&network), ["0_London", "1_Paris", "2_Rome", "2_Rome_2"]);
    let [there, back] = &network.links[1].conditions;
    assert_eq!((there.delay.to_string(), back.delay.to_string()), ("5.54ms".to_owned(), "6ms".to_owned()));
    assert_eq!(rate(there), "2.5Gbit");
    assert_eq!(rate(back), "622Mbit");
    let costs: Vec<_> = network.links.iter().map(|link| link.cost).collect();
    assert_eq!(costs, [10, 20, 5, 1, 2]);
    loses(&imported, "link 1_Paris-2_Rome", "costs 20 there and 30 back", Some(13));
    loses(&imported, "link 2_Rome-0_London", "one direction only", Some(16));
    loses(&imported, "edge edge_7", "itself", Some(17));
    loses(&imported, "edge edge_8", "no bandwidth", Some(18));
    loses(&imported, "edge edge_8", "weight 1.5", Some(18));
}

#[test]
fn rocketfuels_delays_are_milliseconds_and_its_weights_fit_ospf() {
    let imported = import("rf.graph", ROCKETFUEL).unwrap();
    let network = read(&imported);
    assert_eq!(names(&network), ["New-York-NY236", "London217", "Paris1"]);
    assert_eq!(network.links[0].conditions[1].delay.to_string(), "29ms");
    assert_eq!((network.links[0].cost, network.links[1].cost), (65535, 100));
    loses(&imported, "unit of delays", "milliseconds", None);
    loses(&imported, "weights", "divided by 2", None);
}

#[test]
fn importers_are_known_by_content_and_by_ending() {
    let known =
        |name: &str, text: &str| importer_for(&Source::new(name, text)).map(|importer| importer.name());
    assert_eq!(known("x.txt", ZOO), Some("graphml"));
    assert_eq!(known("x.txt", ROCKETFUEL), Some("repetita"));
    assert_eq!(known("x.graph", ""), Some("repetita"));
    assert_eq!(known("x.GRAPHML", ""), Some("graphml"));
    assert_eq!(known("net.yaml", "plait: 1\n"), None);
    assert_eq!(known("x.GML", ""), Some("gml"));
    assert_eq!(known("x.xml", HYBRID), Some("vito"));
    assert_eq!(known("x.txt", LAB), Some("containerlab"));
    assert_eq!(known("x.clab.yml", ""), Some("containerlab"));
    assert_eq!(known("x.txt", MAP), Some("netjson"));
    assert_eq!(importers().len(), 6);
}

#[test]
fn malformed_graphml_is_refused_with_line_and_remedy() {
    let bomb = "<?xml version=\"1.0\"?>\n<!DOCTYPE g [<!ENTITY a \"xxxxxxxxxx\"><!ENTITY b \"&a;&a;&a;&a;\">]>\n<graphml><graph><node id=\"&b;\"/></graph></graphml>";
    for (text, expected, line) in [
        (
            ZOO.replace("</node>\n    <node id=\"1\">", "\n    <node id=\"1\">").as_str(),
            "this is not XML",
            26,
        ),
        (ZOO[..900].to_owned().as_str(), "the file is cut off", 13),
        (bomb, "document type", 2),
        ("<graphml>\n<node id='a'/>\n</graphml>", "there is no graph", 1),
        ("<html><graph/></html>", "there is no graph", 1),
        ("<graphml>\n<graph>\n</graph></graphml>", "no nodes", 2),
        ("<graphml>\n<graph>\n<node/>\n</graph></graphml>", "has no `id`", 3),
        ("<graphml>\n<graph>\n<node id='a'/>\n<node id='a'/></graph></graphml>", "the id `a`", 4),
        (
            "<graphml>\n<graph>\n<node id='n10'/>\n<edge source='n10' target='n11'/></graph></graphml>",
            "did you mean `n10`?",
            4,
        ),
        ("<graphml>\n<graph>\n<node id='a'/>\n<edge source='a'/></graph></graphml>", "has no `target`", 4),
        ("", "this is not XML", 1),
    ] {
        let report = import("bad.graphml", text).expect_err("it is malformed");
        assert!(report.contains(expected), "{expected}\n{report}");
        assert!(report.contains(&format!("bad.graphml:{line}:")), "line {line}\n{report}");
        assert!(report.contains("help"), "{report}");
    }
}

#[test]
fn malformed_graphs_are_refused_with_line_and_remedy() {
    for (from, to, expected, line) in [
        ("NODES 3", "NODES three", "is not a count", 1),
        ("NODES 3", "NODES 99999999999999999999", "is not a count", 1),
        ("NODES 3", "NODES 0", "no nodes", 1),
        ("NODES 3", "NODES 4", "node has 3 words", 7),
        ("NODES 3", "NODES 2", "expected `EDGES`, found `Paris1`", 5),
        ("label x y", "", "expected `label x y`", 3),
        ("London217 0.0", "London 217 0.0", "this line has 4", 4),
        ("London217 0.0", "London217 east", "`east` is not a number", 4),
        ("London217 0.0", "London217 nan", "`nan` is not a number", 4),
        ("EDGES 4", "EDGES 5", "ends where edge 5 of 5 should be", 12),
        ("EDGES 4", "EDGES 3", "more after the last", 12),
        ("Link_3 2 1", "Link_3 3 1", "`3` is no node", 12),
        ("Link_3 2 1", "Link_3 -1 1", "`-1` is no node", 12),
        ("2400000 3\nLink_3", "2400000 -3\nLink_3", "out of range for delay", 11),
        ("2400000 3\nLink_3", "1e300 3\nLink_3", "out of range for bw", 11),
    ] {
        let text = ROCKETFUEL.replacen(from, to, 1);
        assert_ne!(text, ROCKETFUEL, "{from}");
        let report = import("bad.graph", &text).expect_err("it is malformed");
        assert!(report.contains(expected), "{expected}\n{report}");
        assert!(report.contains(&format!("bad.graph:{line}:")), "line {line}\n{report}");
        assert!(report.contains("help"), "{report}");
    }
    for text in ["", "NODES", "NODES 1\n"] {
        assert!(import("bad.graph", text).unwrap_err().contains("help"));
    }
}
