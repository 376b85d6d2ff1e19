//! What a file says of OpenFlow: what it comes to, and what is wrong with it.

use plait_model_topology::address::assign;
use plait_model_topology::document::Source;
use plait_model_topology::{Vocabulary, parse_network};
use plait_testbed_runtime::plan::{OpenFlowState, OpenFlowSwitch, State, Wishes, desired};
use plait_testbed_runtime::section::register;

/// The state of a file, or each fault with the text that it points at.
fn state(text: &str) -> Result<State, Vec<(String, String)>> {
    let mut vocabulary = Vocabulary::core();
    register(&mut vocabulary);
    let source = Source::new("net.yaml", text.to_owned());
    let network = parse_network(&source, &vocabulary, &|_| Err("no files here".to_owned())).unwrap();
    let assignment = assign(&network, None).unwrap();
    desired(&network, &assignment, &Wishes::default(), &|_| Err("no files here".to_owned())).map_err(
        |faults| {
            let told = |fault: &plait_model_topology::diagnostic::Diagnostic| {
                (fault.message.clone(), text[fault.span.start..fault.span.end].to_owned())
            };
            faults.iter().map(told).collect()
        },
    )
}

fn switch(state: &State, name: &str) -> OpenFlowSwitch {
    match &state.nodes[name].openflow {
        Some(OpenFlowState::Switch(switch)) => switch.clone(),
        other => panic!("{name} is {other:?}"),
    }
}

#[test]
fn the_one_controller_of_a_file_is_that_of_every_switch() {
    let text = "plait: 1\nnodes: {a: host, s1: ovs, c0: {kind: controller, app: routing}, s2: {kind: ovs, openflow: 1.0}}\n\
                links: [s1-s2, a-s1]\n";
    let state = state(text).unwrap();
    let (first, second) = (switch(&state, "s1"), switch(&state, "s2"));
    let Some(OpenFlowState::Controller(controller)) = &state.nodes["c0"].openflow else {
        panic!("c0 is none")
    };
    assert_eq!(controller.app, "routing");
    assert_eq!((first.controller, second.controller), (Some(controller.listen), Some(controller.listen)));
    assert_eq!((first.datapath, second.datapath), (1, 2));
    assert_eq!((&first.protocol[..], &second.protocol[..]), ("OpenFlow13", "OpenFlow10"));
    assert_eq!(first.ports, ["eth0", "eth1"], "the way to the controller is no port");
    assert_eq!(first.fail, "secure");
    // They meet in a LAN that is shown nowhere, each with an address of its own, and no route leads there.
    assert!(state.nodes["control:c0"].hidden);
    let at = |node: &str| state.nodes[node].interfaces["control"].addresses[0];
    assert_eq!(
        [at("c0"), at("s1"), at("s2")].map(|net| net.to_string()),
        ["169.254.1.1/16", "169.254.1.2/16", "169.254.1.3/16"]
    );
    assert!(state.nodes.values().all(|node| node.routes.is_empty()));
}

#[test]
fn a_switch_without_a_controller_stands_alone() {
    let state = state("plait: 1\nnodes: {a: host, s1: ovs, b: host}\nlinks: [a-s1, b-s1]\n").unwrap();
    let switch = switch(&state, "s1");
    assert_eq!((switch.controller, &switch.fail[..]), (None, "standalone"));
    assert!(!state.nodes.contains_key("control:c0"));
}

#[test]
fn who_controls_a_switch_is_to_be_chosen_where_several_could() {
    let text = "plait: 1\nnodes: {c0: controller, c1: controller, s1: ovs}\n";
    assert_eq!(state(text).unwrap_err(), [("`s1` has 2 controllers to choose from".into(), "s1".into())]);
    let chosen = state(&text.replace("s1: ovs", "s1: {kind: ovs, controller: c1}")).unwrap();
    assert_eq!(chosen.nodes["control:c1"].interfaces.len(), 2);
    assert_eq!(chosen.nodes["control:c0"].interfaces.len(), 1);
    let own = state(
        &text.replace("s1: ovs", "s1: {kind: ovs, controller: 'tcp:192.0.2.1:6633', fail: standalone}"),
    );
    let own = switch(&own.unwrap(), "s1");
    assert_eq!(own.controller, Some("192.0.2.1:6633".parse().unwrap()));
    assert_eq!(own.fail, "standalone");
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let cases = [
        ("{c0: host, s1: {kind: ovs, controller: c0}}", "`c0` is no node of the kind `controller`", "c0"),
        (
            "{h: {app: routing}}",
            "`app` belongs to nodes of the kind `controller`, and `h` is of the kind `host`",
            "routing",
        ),
        (
            "{h: {openflow: 1.3}}",
            "`openflow` belongs to nodes of the kind `ovs`, and `h` is of the kind `host`",
            "1.3",
        ),
    ];
    for (nodes, message, place) in cases {
        let text = format!("plait: 1\nnodes: {nodes}\n");
        assert_eq!(state(&text).unwrap_err(), [(message.to_owned(), place.to_owned())], "{text}");
    }
    let taken =
        "plait: 1\nnodes: {c0: controller, s1: ovs, h: host}\nlinks: [{endpoints: ['s1:control', h]}]\n";
    assert!(state(taken).unwrap_err()[0].0.contains("`s1:control` is the interface"));
    let met = "plait: 1\ndefaults: {ipv4: 169.254.0.0/16}\nnodes: {c0: controller, s1: ovs, h: host}\nlinks: [c0-s1, s1-h]\n";
    assert!(state(met).unwrap_err()[0].0.contains("where controllers and switches meet"));
}
