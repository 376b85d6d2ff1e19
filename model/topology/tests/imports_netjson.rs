//! What NetJSON becomes.

mod imports_common;

use imports_common::{MAP, MESH, import, loses, names, read};

#[test]
fn a_mesh_gives_links_with_whole_costs() {
    let imported = import("mesh.json", MESH).unwrap();
    let network = read(&imported);
    assert_eq!(network.name, "Roofs-of-Rome-North");
    assert_eq!(names(&network), ["Trastevere", "n10.150.0.2", "3"]);
    let links: Vec<_> = network.links.iter().map(|link| (link.name.as_str(), link.cost)).collect();
    assert_eq!(links, [("Trastevere-n10.150.0.2", 150), ("n10.150.0.2-3", 1), ("3-Trastevere", 100)]);
    loses(&imported, "link n10.150.0.2-Trastevere", "1.50390625 there and 1.75", Some(14));
    loses(&imported, "link 3-3", "left out", Some(16));
    loses(&imported, "link 3-Trastevere", "has no cost", Some(17));
    loses(&imported, "costs", "multiplied by 100", None);
    loses(&imported, "costs of 0", "the least there is", None);
    loses(&imported, "coordinates", "3 of 3 nodes", None);
    let members = "members node.local_addresses, node.properties.gateway, link.cost_text, \
        link.properties.channel, protocol, version, metric";
    loses(&imported, members, "no place", None);
}

#[test]
fn places_on_a_map_become_delays_and_parallel_links_stay() {
    let imported = import("map.json", MAP).unwrap();
    let network = read(&imported);
    assert_eq!(names(&network), ["Rome", "Milan"]);
    let costs: Vec<_> = network.links.iter().map(|link| link.cost).collect();
    assert_eq!(costs, [65535, 1]);
    let delay = network.links[1].conditions[0].delay.as_nanos();
    // 477 km.
    assert!((2_370_000..2_400_000).contains(&delay), "{delay}");
    loses(&imported, "another network", "only the first", Some(1));
    loses(&imported, "costs", "the highest is 1000000", None);
}

#[test]
fn malformed_netjson_is_refused_with_line_and_remedy() {
    for (text, expected, line) in [
        ("{\n\"type\": \"NetworkGraph\",\n", "not JSON", 2),
        ("{\n\"nodes\": [1,],\n", "not JSON", 2),
        ("{\"type\": \"NetworkGraph\"}", "no nodes", 1),
        ("{\"type\": \"NetworkRoutes\"}", "no NetworkGraph", 1),
        ("[]", "is an object", 1),
        ("{\"type\": \"NetworkCollection\",\n \"collection\": []}", "empty", 1),
        ("{\"type\": \"NetworkGraph\",\n\"nodes\": 3}", "`nodes` is a list", 2),
        ("{\"type\": \"NetworkGraph\",\n\"nodes\": [\n3]}", "expected an object", 3),
        ("{\"type\": \"NetworkGraph\",\n\"nodes\": [\n{}]}", "has no `id`", 3),
        (
            "{\"type\": \"NetworkGraph\",\n\"nodes\": [{\"id\": 1},\n{\"id\": 1}]}",
            "two nodes have the id `1`",
            3,
        ),
        (
            "{\"type\": \"NetworkGraph\",\n\"nodes\": [{\"id\": \"n10\"}],\n\"links\":[{\"source\":\"n10\",\n\"target\":\"n11\"}]}",
            "did you mean `n10`?",
            3,
        ),
    ] {
        let report = import("bad.json", text).expect_err("it is malformed");
        assert!(report.contains(expected), "{expected}\n{report}");
        assert!(report.contains(&format!("bad.json:{line}:")), "line {line}\n{report}");
        assert!(report.contains("help"), "{report}");
    }
    let deep = format!("{{\"type\": \"NetworkGraph\", \"nodes\": {}", "[".repeat(100_000));
    assert!(import("deep.json", &deep).is_err());
}
