//! Open vSwitch that is away, and what it is told when it is there again.

mod support;
#[allow(dead_code, reason = "there it is spoken to by hand")]
#[path = "../../../model/wire/tests/openflow/switch.rs"]
mod switch;

use plait_control_openflow::{Actions, Command, Commands, Fields, Flow, Mark, PacketIns, Port, Version};
use plait_dataplane_openflow::{Config, Controller};
use plait_model_wire::openflow::BufferId;
use std::sync::Arc;
use support::{Client, frame, hub, runtime_of, start_with, until};
use switch::Switch;

/// A controller that has switch 2 do what packets of switch 1 say by the number of their buffer: get flows, lose one, lose all of its
/// mark.
fn controller(version: Version, name: &str) -> Controller {
    let mark = Mark::of(name);
    let of = |port| Fields { in_port: Some(Port(port)), ..Fields::ANY };
    let add = move |port| {
        let flow = Flow::add(100, of(port), Actions::output(Port(1)));
        Command::Flow(Flow { cookie: mark.cookie(port as u8), ..flow })
    };
    let does = move |packets: Arc<PacketIns>| {
        let (mut commands,) = hub((packets.clone(),))?;
        for packet in packets.iter().filter(|packet| packet.switch == 1) {
            let said = match packet.buffer {
                Some(1) => vec![add(4), add(5)],
                Some(4) => vec![add(6), add(7)],
                Some(2 | 5) => vec![Command::Flow(Flow::delete(of(4)))],
                _ => vec![Command::delete_own(version, mark)],
            };
            commands.extend(said.into_iter().map(|command| (2, command)));
        }
        Ok((commands,)) as Result<(Commands,), _>
    };
    let config = Config { workers: 2, mark, ..Config::default() };
    start_with(config, runtime_of(move |(packets,)| does(packets)))
}

#[test]
fn open_vswitch_loses_what_it_should_have_lost_while_it_was_away_and_keeps_the_rest() {
    for (version, protocol) in [(Version::V10, "OpenFlow10"), (Version::V13, "OpenFlow13")] {
        let Some(switch) = Switch::speaking(protocol) else {
            return println!("skipped: openvswitch-switch is not installed");
        };
        let controller = controller(version, "one");
        let mut asks = Client::connect(&controller, Version::V13, 1);
        let mut ask = |number| {
            asks.packet_in(BufferId(number), &frame(1));
            asks.packet_out();
        };
        let own = ["other-config:disable-in-band=true", "other-config:datapath-id=0000000000000002"];
        switch.configure(&[&["set", "bridge", "br0"][..], &own].concat());
        let is_there = || controller.switches().get(&2).is_some_and(|info| info.connected);
        let here = format!("tcp:{}", controller.address().unwrap());
        let back = || {
            switch.configure(&["set-controller", "br0", &here]);
            until("it is there", is_there);
        };
        let away = || {
            switch.configure(&["set-controller", "br0", "tcp:127.0.0.1:1"]);
            until("it is away", || !is_there());
        };
        let has = |port: u32| {
            let flows = switch.flows(protocol);
            flows.iter().any(|flow| flow.contains(&format!("in_port={port} ")))
        };
        let owed = || controller.statistics().iter().map(|worker| worker.owed).sum::<u64>();
        back();
        ask(1);
        until("it has its flows", || has(4) && has(5));
        let bridge = switch.path("br0.mgmt");
        let others = ["add-flow", &bridge, "cookie=7,priority=9,in_port=6,actions=output:2"];
        switch.run("ovs-ofctl", &[&["-O", protocol][..], &others].concat());
        // One flow is to go.
        away();
        ask(2);
        until("it is kept", || owed() == 1);
        assert!(has(4) && has(5) && has(6), "nobody can tell it");
        back();
        until("the flow is gone", || !has(4));
        assert!(has(5) && has(6), "{:?}", switch.flows(protocol));
        // All of the controller's own are to go: 1.0 cannot tell whose they are.
        away();
        ask(3);
        until("it is kept", || owed() == 2);
        assert!(has(5) && has(6), "nobody can tell it");
        back();
        until("its own are gone", || !has(5));
        assert_eq!(has(6), version == Version::V13, "{:?}", switch.flows(protocol));
    }
}

/// Whoever is equal commands beside others. Only 1.3 deletes by cookie.
#[test]
fn of_two_equal_controllers_of_open_vswitch_one_deletes_its_own_flows_and_those_of_the_others_stay() {
    let Some(switch) = Switch::speaking("OpenFlow13") else {
        return println!("skipped: openvswitch-switch is not installed");
    };
    let own = ["other-config:disable-in-band=true", "other-config:datapath-id=0000000000000002"];
    switch.configure(&[&["set", "bridge", "br0"][..], &own].concat());
    let connect = |controllers: &[&Controller]| {
        let there = controllers.iter().map(|one| format!("tcp:{}", one.address().unwrap()));
        let there: Vec<String> = there.collect();
        let words = [&["set-controller", "br0"][..], &there.iter().map(|one| &**one).collect::<Vec<_>>()];
        switch.configure(&words.concat());
        let is_there = |one: &&Controller| one.switches().get(&2).is_some_and(|info| info.connected);
        until("all have it", || controllers.iter().all(is_there));
    };
    let ask = |controller: &Controller, number| {
        let is_there = || controller.switches().get(&1).is_some_and(|info| info.connected);
        // Whoever asked before has the datapath until it is known that he has gone.
        until("nobody asks", || !is_there());
        let mut asks = Client::connect(controller, Version::V13, 1);
        until("it is known", is_there);
        asks.packet_in(BufferId(number), &frame(1));
        asks.packet_out();
    };
    // How many flows have a mark, of those that are for a port.
    let flows = |name: &str| {
        let mark = format!("cookie=0x{:x}", Mark::of(name).cookie(0) >> 8);
        switch.flows("OpenFlow13").iter().filter(|flow| flow.contains(&mark)).count()
    };
    let both = || (flows("one"), flows("two"));
    let (one, two) = (controller(Version::V13, "one"), controller(Version::V13, "two"));
    connect(&[&one, &two]);
    // The same flows would be one's in the end: each has its own.
    ask(&one, 1);
    until("it has those of the one", || both() == (2, 0));
    ask(&two, 4);
    until("it has those of both", || both() == (2, 2));
    ask(&two, 3);
    until("the other's are gone", || both() == (2, 0));
    ask(&two, 4);
    until("it has those of both", || both() == (2, 2));
    // The one is killed. Who takes its place under its name takes nothing away, and has its flows go when they should.
    drop(one);
    let one = controller(Version::V13, "one");
    connect(&[&one, &two]);
    ask(&one, 5);
    until("it deletes those of the one before", || both() == (1, 2));
    ask(&one, 3);
    until("all of them", || both() == (0, 2));
}
