//! What importers carry over, what they report, and what they refuse.

use plait_model_link::{Conditions, Rate};
use plait_model_topology::document::Source;
use plait_model_topology::import::{GraphMl, Imported, Importer, Loss, importer_for, importers};
use plait_model_topology::vocabulary::Role;
use plait_model_topology::{Network, Vocabulary, parse_network};
use proptest::prelude::*;

const ZOO: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="label" attr.type="string" for="node" id="d1" />
  <key attr.name="Latitude" attr.type="double" for="node" id="d2" />
  <key attr.name="Longitude" attr.type="double" for="node" id="d3" />
  <key attr.name="Country" attr.type="string" for="node" id="d4" />
  <key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d5" />
  <key attr.name="LinkSpeed" attr.type="string" for="edge" id="d6" />
  <key attr.name="LinkSpeedUnits" attr.type="string" for="edge" id="d7" />
  <key attr.name="LinkLabel" attr.type="string" for="edge" id="d8" />
  <graph edgedefault="undirected">
    <node id="0"><data key="d1">New York</data><data key="d2">40.71427</data><data key="d3">-74.00597</data></node>
    <node id="1"><data key="d1">London</data><data key="d2">51.50853</data><data key="d3">-0.12574</data><data key="d4">GB</data></node>
    <node id="2"><data key="d1">Zürich</data><data key="d2">47.36667</data><data key="d3">8.55</data></node>
    <node id="3"><data key="d1">london</data></node>
    <node id="4"><data key="d1">  </data><data key="d2">91.0</data><data key="d3">0.0</data></node>
    <node id="5"><data key="d1">no</data></node>
    <node id="6"/>
    <edge source="0" target="1"><data key="d5">10000000000.0</data></edge>
    <edge source="0" target="1"><data key="d6">622</data><data key="d7">M</data></edge>
    <edge source="1" target="2"><data key="d8">&lt; 10 Gbps</data></edge>
    <edge source="1" target="3"><data key="d8">OC-3</data></edge>
    <edge source="3" target="4"/>
    <edge source="4" target="4"/>
    <edge source="5" target="6"/>
  </graph>
</graphml>
"#;

const DRAWN: &str = r#"<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
  <key attr.name="hyperedge" attr.type="boolean" for="node" id="d0"/>
  <key for="node" id="d7" yfiles.type="nodegraphics"/>
  <key attr.name="label" attr.type="string" for="edge" id="d33"/>
  <graph edgedefault="directed" id="G">
    <node id="n0"><data key="d7"><y:ShapeNode><y:Geometry x="0.0" y="0.0"/><y:NodeLabel>Seattle</y:NodeLabel></y:ShapeNode></data></node>
    <node id="n1"><data key="d7"><y:ShapeNode><y:Geometry x="300.0" y="400.0"/><y:NodeLabel>Los Angeles</y:NodeLabel></y:ShapeNode></data></node>
    <node id="n2"><data key="d0">true</data><data key="d7"><y:ShapeNode><y:Geometry x="9.0" y="0.0"/><y:NodeLabel/></y:ShapeNode></data></node>
    <edge id="e0" source="n0" target="n1"><data key="d33"><![CDATA[OC-192c]]></data></edge>
    <edge id="e1" source="n0" target="n1"><data key="d33"><![CDATA[45 Mbps DS-3]]></data></edge>
    <edge id="e2" source="n1" target="n2"><data key="d33"><![CDATA[Lit Fibre]]></data></edge>
    <edge id="e3" source="n0" target="n2"><data key="d33"><![CDATA[Lit Fibre]]></data></edge>
  </graph>
</graphml>
"#;

const REPETITA: &str = "NODES 4
label x y
0_London -0.13 51.51
1_Paris 2.35 48.86
2_Rome 12.5 41.9
2_Rome 12.5 41.9

EDGES 9
label src dest weight bw delay
edge_0 0 1 10 10000000 1720
edge_1 1 0 10 10000000 1720
edge_2 1 2 20 2500000 5540
edge_3 2 1 30 622000 6000
edge_4 0 1 5 10000000 1720
edge_5 1 0 5 10000000 1720
edge_6 2 0 1 10000000 0
edge_7 3 3 1 1000 1
edge_8 0 3 1.5 0 7000
";

const ROCKETFUEL: &str = "NODES 3\nlabel x y\nNew+York,+NY236 0.0 0.0\nLondon217 0.0 0.0\nParis1 0.0 0.0\n\nEDGES 4\nlabel src dest weight bw delay\nLink_0 0 1 131070 10000000 29\nLink_1 1 0 131070 10000000 29\nLink_2 1 2 200 2400000 3\nLink_3 2 1 200 2400000 3\n";

fn import(name: &str, text: &str) -> Result<Imported, String> {
    let source = Source::new(name, text);
    let importer = importer_for(&source).ok_or("no importer knows it")?;
    importer.import(&source).map_err(|report| report.to_string())
}

fn read(imported: &Imported) -> Network {
    let network =
        parse_network(&Source::new("net.yaml", imported.yaml.as_str()), &Vocabulary::core(), &|_| {
            Err(String::new())
        })
        .unwrap_or_else(|report| panic!("{report}\n{}", imported.yaml));
    assert_eq!((network.nodes.len(), network.links.len()), (imported.nodes, imported.links));
    assert!(network.nodes.iter().all(|node| node.role == Role::Router));
    network
}

fn names(network: &Network) -> Vec<&str> {
    network.nodes.iter().map(|node| node.name.as_str()).collect()
}

fn rate(conditions: &Conditions) -> String {
    match &conditions.rate {
        Rate::Constant(rate) => rate.to_string(),
        Rate::Unlimited => "unlimited".to_owned(),
        Rate::Trace(_) => "a trace".to_owned(),
    }
}

fn loses(imported: &Imported, what: &str, why: &str, line: Option<usize>) {
    let found = |loss: &Loss| loss.what == what && loss.why.contains(why) && loss.line == line;
    assert!(imported.losses.iter().any(found), "{what}, {why}, {line:?} is not in {:#?}", imported.losses);
}

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
    let scaled =
        GraphMl { kilometres_per_unit: Some(4.0) }.import(&Source::new("Drawn.graphml", DRAWN)).unwrap();
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
    assert_eq!(importers().len(), 2);
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
fn deep_nesting_is_refused_or_read_but_no_harm() {
    for depth in [1_000, 200_000] {
        let text = format!("<graphml>{}{}</graphml>", "<graph>".repeat(depth), "</graph>".repeat(depth));
        assert!(import("deep.graphml", &text).is_err());
        let _ = import("cut.graphml", &"<graph>".repeat(depth));
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

/// A valid sample with a piece cut out, doubled or replaced.
fn mutated() -> impl Strategy<Value = String> {
    let sample = prop::sample::select(vec![ZOO, DRAWN, REPETITA, ROCKETFUEL]);
    let pieces = prop::collection::vec(
        (any::<prop::sample::Index>(), 0..30usize, 0..4u8, "\\PC{0,6}|[<>&\"'0-9 .-]{0,6}"),
        1..4,
    );
    (sample, pieces).prop_map(|(sample, pieces)| {
        let mut text: Vec<char> = sample.chars().collect();
        for (at, length, how, new) in pieces {
            let start = at.index(text.len().max(1)).min(text.len());
            let end = (start + length).min(text.len());
            let piece: Vec<char> = text[start..end].to_vec();
            match how {
                0 => drop(text.splice(start..end, [])),
                1 => drop(text.splice(start..start, piece)),
                2 => drop(text.splice(start..end, new.chars())),
                _ => text.truncate(end),
            }
        }
        text.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_read_is_a_network_and_whatever_is_not_is_a_report(text in mutated()) {
        for importer in importers() {
            match importer.import(&Source::new("some.file", text.as_str())) {
                Ok(imported) => drop(read(&imported)),
                Err(report) => prop_assert!(report.to_string().contains("some.file:")),
            }
        }
    }
}
