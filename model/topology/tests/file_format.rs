//! What a network file says, what it means, and how its faults are reported.

use plait_model_topology::diagnostic::Report;
use plait_model_topology::document::Source;
use plait_model_topology::network::Routing;
use plait_model_topology::vocabulary::{Place, Role};
use plait_model_topology::{Network, Vocabulary, json_schema, parse_network, section};
use schemars::JsonSchema;
use serde::Deserialize;

fn read(text: &str) -> Result<Network, Report> {
    parse_network(&Source::new("net.yaml", text), &Vocabulary::core(), &|path| Err(format!("no file {path}")))
}

fn faults(text: &str) -> String {
    read(text).expect_err("the file is faulty").to_string()
}

#[test]
fn the_short_form_is_a_whole_network() {
    let network = read("plait: 1\nnodes: [a, b, c]\nlinks: [a-b, b-c, a-b]\n").unwrap();
    assert_eq!(network.name, "net");
    assert_eq!(network.routing, Routing::Static);
    let names: Vec<_> = network.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["a-b", "b-c", "a-b.2"]);
    assert_eq!(network.port_name(network.links[2].ends[0]), "a:eth1");
    assert_eq!(network.link("c-b"), Some(1), "a link is found from either side");
}

#[test]
fn each_direction_has_its_own_conditions() {
    let network = read(
        "plait: 1\nnodes: {a: {}, r: {kind: router}}\nlinks:\n  - {endpoints: [r:eth1, a:eth0], rate: 10Mbit, delay: 20ms, loss: 1%, queue: 50ms, reverse: {delay: 30ms}}\n",
    )
    .unwrap();
    let [there, back] = &network.links[0].conditions;
    assert_eq!(there.delay.to_string(), "20ms");
    assert_eq!(back.delay.to_string(), "30ms");
    assert_eq!(there.rate, back.rate);
    assert_eq!(network.port_name(network.links[0].ends[0]), "r:eth1");
    assert_eq!(network.nodes[1].role, Role::Router);
}

#[test]
fn nodes_inherit_from_defaults_and_groups_key_by_key() {
    let network = read(
        "plait: 1
defaults: {node: {sysctls: {net.ipv4.tcp_ecn: 1}}, link: {delay: 5ms}}
groups:
  edge: {kind: router, sysctls: {net.ipv4.tcp_ecn: 0, net.ipv4.tcp_sack: 0}}
nodes:
  a: {groups: [edge], sysctls: {net.ipv4.tcp_sack: 1}}
  b: router
links: [a-b]
",
    )
    .unwrap();
    let a = &network.nodes[0];
    assert_eq!(a.role, Role::Router);
    assert_eq!(a.sysctls["net.ipv4.tcp_ecn"].value, "0");
    assert_eq!(a.sysctls["net.ipv4.tcp_sack"].value, "1");
    assert_eq!(network.nodes[1].sysctls["net.ipv4.tcp_ecn"].value, "1");
    assert_eq!(network.links[0].conditions[1].delay.to_string(), "5ms");
}

#[test]
fn groups_inherit_from_groups() {
    let network = read(
        "plait: 1
defaults: {node: {groups: [all]}}
groups:
  edge: {groups: [quick, fair], sysctls: {net.c: 3}}
  fair: {sysctls: {net.a: 2, net.b: 2, net.c: 2}}
  quick: {sysctls: {net.a: 1, net.d: 1}}
  all: router
nodes: {x: {groups: [edge], sysctls: {net.b: 4}}, y: }
",
    )
    .unwrap();
    let x: Vec<(&str, &str)> =
        network.nodes[0].sysctls.iter().map(|(name, value)| (name.as_str(), value.value.as_str())).collect();
    assert_eq!(x, [("net.a", "2"), ("net.d", "1"), ("net.b", "4"), ("net.c", "3")]);
    assert_eq!(network.nodes[0].role, Role::Host, "a node that names groups names all of its groups");
    assert_eq!(network.nodes[1].role, Role::Router);
}

#[test]
fn a_group_cannot_inherit_from_itself_or_from_nobody() {
    let text = faults(
        "plait: 1\ngroups:\n  a: {groups: [b]}\n  b: {groups: [c, d]}\n  c: {groups: [a]}\nnodes: [x]\n",
    );
    assert!(text.contains("group `a` would inherit from itself"), "{text}");
    assert!(text.contains("net.yaml:5:16"), "{text}");
    assert!(text.contains("unknown group `d`") && text.contains("net.yaml:4:19"), "{text}");
    assert_eq!(text.matches("error").count(), 2, "{text}");
    let chain: String = (0..2_000).map(|at| format!("  g{at}: {{groups: [g{}]}}\n", at + 1)).collect();
    assert!(faults(&format!("plait: 1\ngroups:\n{chain}")).contains("at most 32 deep"));
}

#[test]
fn a_fault_names_file_line_column_and_remedy() {
    let text = faults("plait: 1\nnodes: [a, b]\nlinks:\n  - {endpoints: [a, b], rat: 10Mbit}\n");
    assert!(text.contains("unknown key `rat`"), "{text}");
    assert!(text.contains("net.yaml:4:25"), "{text}");
    assert!(text.contains("did you mean `rate`?"), "{text}");
    assert!(text.contains("- {endpoints: [a, b], rat: 10Mbit}"), "{text}");
}

#[test]
fn a_bare_number_is_an_error_where_a_unit_is_due() {
    let text = faults("plait: 1\nnodes: [a, b]\nlinks:\n  - {endpoints: [a, b], delay: 20}\n");
    assert!(text.contains("`20` has no unit") && text.contains("net.yaml:4:32"), "{text}");
}

#[test]
fn all_faults_are_reported_at_once() {
    let report = read(
        "plait: 1\nnodes: {a: {kind: hots}, b: {}, c: {sysctl: {}}}\nlinks: [a-b, b-d, {endpoints: [b, c, a]}]\nlimks: []\n",
    )
    .unwrap_err();
    let text = report.to_string();
    for expected in [
        "unknown kind `hots`",
        "did you mean `host`?",
        "unknown node `d`",
        "unknown key `sysctl`",
        "two endpoints",
        "unknown key `limks`",
    ] {
        assert!(text.contains(expected), "{expected} is missing in\n{text}");
    }
}

#[test]
fn a_newer_format_is_refused_by_name() {
    let text = faults("plait: 2\nnew_section: {}\n");
    assert!(text.contains("this file is of format 2, this plait reads format 1"), "{text}");
    assert!(faults("nodes: [a]\n").contains("add `plait: 1`"));
}

#[test]
fn a_name_that_would_find_another_host_is_refused() {
    for name in ["localhost", "LocalHost", "db.localhost"] {
        let text = faults(&format!("plait: 1\nnodes:\n  a: {{}}\n  {name}: {{}}\n"));
        assert!(text.contains("net.yaml:4:3") && text.contains("another name"), "{text}");
    }
    let text = faults("plait: 1\nnodes: [a, '10.0.0.1']\n");
    assert!(text.contains("for an address") && text.contains("net.yaml:2"), "{text}");
    let text = faults("plait: 1\nnodes: [web, db, Web]\n");
    assert!(text.contains("`web` and `Web` are one name") && text.contains("given here first"), "{text}");
    assert!(read("plait: 1\nnodes: [localhost-1, 1, web2]\n").is_ok());
}

#[test]
fn an_interface_is_plugged_in_once() {
    let text = faults("plait: 1\nnodes: [a, b]\nlinks: ['a:eth0-b', 'a:eth0-b']\n");
    assert!(text.contains("`a:eth0` is plugged in twice"), "{text}");
    let text =
        faults("plait: 1\nnodes: {a: {interfaces: {eth9: {addresses: [10.0.0.1/24]}}}, b: }\nlinks: [a-b]\n");
    assert!(text.contains("`a:eth9` is in no link or LAN"), "{text}");
}

#[test]
fn ipv6_is_refused_where_the_mtu_is_too_small_for_it() {
    let refused = |text: &str, place: &str, remedy: &str| {
        let text = faults(&format!("plait: 1\n{text}"));
        let told = text.contains("IPv6 needs an MTU of 1280B") && text.contains("mtu: 1280B");
        assert!(told && text.contains(place) && text.contains(remedy), "{text}");
        assert_eq!(text.matches("error").count(), 1, "{text}");
    };
    let pool = "`defaults: {ipv6: off}`";
    refused(
        "defaults: {ipv6: on}\nnodes: [a, b]\nlinks:\n  - endpoints: [a, b]\n    mtu: 1000B\n",
        "net.yaml:6:10",
        pool,
    );
    refused(
        "defaults: {ipv6: on, link: {mtu: 1279B}}\nnodes: [a, b, c]\nlinks: [a-b, b-c]\n",
        "net.yaml:2:34",
        pool,
    );
    let given = "no IPv6 prefix or address";
    refused(
        "nodes: [a, b]\nlans: {l: {members: [a, b], mtu: 576B, prefix: 'fd01::/64'}}\n",
        "net.yaml:3",
        given,
    );
    refused(
        "nodes: {a: {interfaces: {eth0: {addresses: ['fd01::1/128']}}}, b: }\nlinks: [{endpoints: ['a:eth0', b], mtu: 576B}]\n",
        "net.yaml:3",
        given,
    );
    let switched = "nodes: {s: switch, a: , b: }\nlinks:\n  - {endpoints: [s, a], prefix: 'fd01::/64'}\n";
    refused(&format!("{switched}  - {{endpoints: [s, b], mtu: 1200B}}\n"), "net.yaml:5", given);
    assert!(read(&format!("plait: 1\n{switched}  - {{endpoints: [s, b], mtu: 1280B}}\n")).is_ok());
    assert!(read("plait: 1\nnodes: [a, b]\nlinks: [{endpoints: [a, b], mtu: 576B}]\n").is_ok());
}

#[test]
fn an_address_stands_once() {
    let text = faults(
        "plait: 1\nnodes: {a: {interfaces: {eth0: {addresses: [10.0.0.1/24]}}}, b: {interfaces: {eth0: {addresses: [10.0.0.1/24]}}}}\nlinks: [a:eth0-b:eth0]\n",
    );
    assert!(text.contains("10.0.0.1 is given to `a` and `b`"), "{text}");
}

#[test]
fn a_hyphen_in_a_name_is_no_obstacle_unless_it_is_ambiguous() {
    let network = read("plait: 1\nnodes: [a-1, b]\nlinks: [a-1-b]\n").unwrap();
    assert_eq!(network.links[0].name, "a-1-b");
    let text = faults("plait: 1\nnodes: [a, a-b, b-c, c]\nlinks: [a-b-c]\n");
    assert!(text.contains("more than one way"), "{text}");
}

#[test]
fn lans_have_members_and_conditions() {
    let network =
        read("plait: 1\nnodes: [a, b, c]\nlans: {office: [a, b], lab: {members: [b, c:eth5], delay: 1ms}}\n")
            .unwrap();
    assert_eq!(network.lans[0].members.len(), 2);
    assert_eq!(network.port_name(network.lans[1].members[0]), "b:eth1");
    assert_eq!(network.lans[1].conditions[0].delay.to_string(), "1ms");
}

#[test]
fn presets_lie_under_what_the_link_says() {
    let network =
        read("plait: 1\nnodes: [a, b]\nlinks: [{endpoints: [a, b], preset: satellite, loss: 0}]\n").unwrap();
    assert!(network.links[0].conditions[0].delay.as_nanos() > 100_000_000);
    assert_eq!(network.links[0].conditions[0].loss, plait_model_link::Loss::None);
    assert!(
        faults("plait: 1\nnodes: [a, b]\nlinks: [{endpoints: [a, b], preset: satelite}]\n")
            .contains("did you mean `satellite`?")
    );
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Weather {
    /// Which node sees it.
    at: String,
}

#[test]
fn a_room_adds_a_kind_and_a_section_without_touching_the_model() {
    let mut vocabulary = Vocabulary::core();
    vocabulary.kind("balloon", Role::Router, "a router that floats");
    vocabulary.key::<u32>(Place::Node, "altitude");
    vocabulary.checked_key::<Weather>(Place::File, "weather", |weather, network| {
        match network.node(&weather.at) {
            Some(_) => Vec::new(),
            None => {
                vec![plait_model_topology::diagnostic::Diagnostic::new(Default::default(), "nobody is there")]
            }
        }
    });
    let parse =
        |text: &str| parse_network(&Source::new("net.yaml", text), &vocabulary, &|_| Err(String::new()));
    let network = parse("plait: 1\nnodes: {a: {kind: balloon, altitude: 9}}\nweather: {at: a}\n").unwrap();
    assert_eq!(network.nodes[0].role, Role::Router);
    assert_eq!(section::<Weather>(&network.sections, "weather").unwrap().unwrap().at, "a");
    assert!(
        parse("plait: 1\nnodes: [a]\nweather: {at: b}\n")
            .unwrap_err()
            .to_string()
            .contains("nobody is there")
    );
    assert!(parse("plait: 1\nnodes: {a: {altitude: high}}\n").unwrap_err().to_string().contains("u32"));
    let schema = json_schema(&vocabulary);
    assert!(schema["properties"]["weather"].is_object());
    assert!(schema["$defs"]["Node"]["properties"]["altitude"].is_object());
}

#[test]
fn hostile_documents_are_refused_in_bounded_time_and_space() {
    for deep in ["[".repeat(5000), format!("{}x{}", "[".repeat(70), "]".repeat(70))] {
        assert!(faults(&format!("plait: 1\nx: {deep}")).contains("net.yaml:2"));
    }
    let mut bomb = String::from("plait: 1\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let alias = format!("*a{}, ", level - 1).repeat(10);
        bomb.push_str(&format!("a{level}: &a{level} [{alias}]\n"));
    }
    assert!(faults(&bomb).contains("too large"));
    assert!(faults("").contains("a network file is a map"));
    assert!(faults("plait: 1\nname: [\n").contains("not YAML"));
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "(plait: 1\n)?(nodes: ?[\\[\\]{}a-c:, ]{0,20}\n)?(links: ?[\\[\\]{}a-c:&*, -]{0,20}\n)?\\PC{0,40}") {
        let _ = read(&text).map_err(|report| report.to_string());
    }
}
