//! What GML becomes.

mod imports_common;

use imports_common::{GML, NETWORKX, YED, import, loses, names, rate, read};
use plait_model_topology::document::Source;
use plait_model_topology::import::{Gml, Importer, Options};

#[test]
fn the_zoos_gml_gives_names_rates_and_the_delay_of_fibre() {
    let imported = import("some/Coasts.gml", GML).unwrap();
    let network = read(&imported);
    assert_eq!(network.name, "Coasts");
    assert_eq!(names(&network), ["New-York", "Zuerich-Umland", "None"]);
    let rates: Vec<_> = network.links.iter().map(|link| rate(&link.conditions[0])).collect();
    assert_eq!(rates, ["10Gbit", "2488.32Mbit", "unlimited"]);
    assert_eq!(network.links[1].name, "New-York-Zuerich-Umland.2", "parallel edges stay");
    let delay = network.links[0].conditions[1].delay.as_nanos();
    // 6,325 km of fibre.
    assert!((31_500_000..31_800_000).contains(&delay), "{delay}");
    loses(&imported, "node None", "hyper-edge", Some(21));
    loses(&imported, "node None", "no latitude", Some(21));
    loses(&imported, "label `IPLC STM-1` of 1 links", "no one rate", Some(39));
    loses(&imported, "link None-None", "left out", Some(44));
    loses(&imported, "attributes country, internal", "no place", None);
    loses(&imported, "rates", "of 2 links are above", None);
}

#[test]
fn networkx_gml_keeps_both_edges_of_a_multigraph() {
    let imported = import("nx.gml", NETWORKX).unwrap();
    let network = read(&imported);
    assert_eq!(names(&network), ["a", "1"]);
    assert_eq!(network.links.len(), 2);
    loses(&imported, "attributes pos, _networkx_list_start, key, weight", "no place", None);
}

#[test]
fn a_drawing_of_yed_gives_labels_and_once_its_scale_is_known_delays() {
    let imported = import("drawn.gml", YED).unwrap();
    let network = read(&imported);
    assert_eq!(names(&network), ["January", "December-in-the-north"]);
    assert_eq!(rate(&network.links[0].conditions[0]), "622Mbit");
    loses(&imported, "coordinates", "--kilometres-per-unit", None);
    loses(&imported, "node December-in-the-north", "group of nodes", Some(8));
    loses(&imported, "direction of edges", "both directions", Some(6));
    let options = Options { kilometres_per_unit: Some(4.0), ..Options::default() };
    let scaled = Gml.import(&Source::new("drawn.gml", YED), &options).unwrap();
    let delay = read(&scaled).links[0].conditions[0].delay.as_nanos();
    assert!((10_000_000..10_010_000).contains(&delay), "500 units are 2000 km and 10 ms: {delay}");
}

#[test]
fn malformed_gml_is_refused_with_line_and_remedy() {
    for (text, expected, line) in [
        ("", "no graph", 1),
        ("graph 1", "no graph", 1),
        ("graph [\n]", "no nodes", 1),
        ("graph [\nnode 3 ]", "has no `id`", 2),
        ("graph [\nnode [ id 0 ]\nnode [ id 0 ] ]", "two nodes have the id `0`", 3),
        ("graph [\nnode [ id 10 ]\nedge [ source 10 target 11 ] ]", "did you mean `10`?", 3),
        ("graph [\nnode [ id 10 ]\nedge [ source 10 ] ]", "has no `target`", 3),
        ("graph [\nnode [ id 0 ]", "never closed", 1),
        ("graph [\n]\n]", "closes nothing", 3),
        ("graph [\n0 1 ]", "expected a key", 2),
        ("graph [\nnode ]", "`node` has no value", 2),
        ("graph [\nnode [ id \"0 ]", "never closed", 2),
    ] {
        let report = import("bad.gml", text).expect_err("it is malformed");
        assert!(report.contains(expected), "{expected}\n{report}");
        assert!(report.contains(&format!("bad.gml:{line}:")), "line {line}\n{report}");
        assert!(report.contains("help"), "{report}");
    }
    let deep = format!("graph {}", "[ a ".repeat(100_000));
    assert!(import("deep.gml", &deep).unwrap_err().contains("nested deeper than 64"));
}

#[test]
fn scaled_rates_fit_the_link_engine_and_say_so() {
    let options = Options { scale: 0.1, ..Options::default() };
    let imported = Gml.import(&Source::new("zoo.gml", GML), &options).unwrap();
    let rates: Vec<_> = read(&imported).links.iter().map(|link| rate(&link.conditions[0])).collect();
    assert_eq!(rates, ["1Gbit", "248.832Mbit", "unlimited"]);
    loses(&imported, "rates", "0.1 times what the source says", None);
    assert!(!imported.losses.iter().any(|loss| loss.why.contains("above the 1Gbit")));
}
