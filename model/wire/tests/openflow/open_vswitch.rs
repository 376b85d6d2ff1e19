//! A conversation with Open vSwitch in each version: as its controller, and as the switch that its tool speaks to.

use crate::samples::{self, FRAME};
use crate::switch::{Connection, Switch};
use crate::{tables, witness, words};
use plait_model_wire::openflow::v10::{self, statistics};
use plait_model_wire::openflow::v13::{self, group, meter, multipart, oxm, role};
use plait_model_wire::openflow::{BufferId, Hello, Message, QueueId};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Command;

/// Each message that came comes out as it came in, and Open vSwitch says the same of it as we do: field by field, and of errors about
/// what it does not read itself for which reason, since what follows is bytes that were sent to it.
fn assert_all_alike(received: &[Vec<u8>]) {
    let messages: Vec<_> = received.iter().map(|bytes| Message::parse(bytes).unwrap()).collect();
    for (bytes, message) in received.iter().zip(&messages) {
        assert_eq!(&message.emit().unwrap(), bytes, "{message:?}");
    }
    let said = witness::say(received).unwrap();
    assert_eq!(said.len(), messages.len());
    for (message, said) in messages.iter().zip(&said) {
        if words::of(message).is_some() {
            witness::assert_same(message, said);
        } else if tables::assert_same(message, said).is_none() {
            let reason =
                words::reason_of(message).unwrap_or_else(|| panic!("no words for {message:?}: {said}"));
            assert_eq!(Some(reason.as_str()), said.lines().next(), "{message:?}");
        }
    }
}

fn skipped(test: &str) {
    println!("skipped: {test}: openvswitch-switch is not installed");
}

#[test]
fn open_vswitch_is_controlled_by_1_0() {
    let Some(switch) = Switch::speaking("OpenFlow10") else {
        return skipped("open_vswitch_is_controlled_by_1_0");
    };
    let mut control = switch.accept();
    assert!(control.greet(v10::VERSION));
    use v10::Body;

    let [Body::Features(features)] = &control.ask_1_0(Body::FeaturesRequest)[..] else {
        panic!("no features")
    };
    let name = |number| features.ports.iter().find(|port| port.number == number).unwrap().name.to_string();
    assert_eq!((name(v10::PortNumber(1)), name(v10::PortNumber::LOCAL)), ("p1".to_owned(), "br0".to_owned()));
    let config = v10::Config { fragments: v10::switch::Fragments::NORMAL, miss_send_length: 300 };
    assert_eq!(control.ask_1_0(Body::SetConfig(config.clone())), []);
    assert_eq!(control.ask_1_0(Body::ConfigRequest), [Body::Config(config)]);

    // Flows with every field and action are there as they were sent.
    let wild_but = |flags: &[v10::Wildcards]| {
        v10::Wildcards(flags.iter().fold(v10::Wildcards::ALL.0, |all, flag| all & !flag.0))
    };
    let arp = v10::Match {
        wildcards: wild_but(&[v10::Wildcards::ETHER_TYPE, v10::Wildcards::PROTOCOL]).with_destination_bits(0),
        ether_type: 0x0806,
        protocol: 1,
        destination: [10, 0, 0, 7].into(),
        ..v10::Match::ANY
    };
    let icmp = v10::Match {
        wildcards: wild_but(&[
            v10::Wildcards::ETHER_TYPE,
            v10::Wildcards::PROTOCOL,
            v10::Wildcards::SOURCE_PORT,
            v10::Wildcards::DESTINATION_PORT,
        ]),
        ether_type: 0x0800,
        protocol: 1,
        source_port: 3,
        destination_port: 4,
        ..v10::Match::ANY
    };
    let from_p1 = v10::Match {
        wildcards: wild_but(&[v10::Wildcards::IN_PORT]),
        in_port: v10::PortNumber(1),
        ..v10::Match::ANY
    };
    let to_controller = v10::Action::Output { port: v10::PortNumber::CONTROLLER, max_length: 99 };
    let cases = [
        (samples::every_field_of_1_0(), samples::actions_of_1_0()),
        (arp, vec![v10::Action::Output { port: v10::PortNumber::FLOOD, max_length: 0 }]),
        (icmp, vec![]),
        (from_p1.clone(), vec![to_controller]),
    ];
    let mut expected = Vec::new();
    for (index, (flow_match, actions)) in cases.into_iter().enumerate() {
        let priority = 100 + index as u16;
        let flow =
            v10::FlowMod { cookie: 7 + index as u64, ..v10::FlowMod::add(flow_match, priority, actions) };
        expected.push(words::flow_of_1_0(&flow));
        assert_eq!(control.ask_1_0(Body::FlowMod(flow)), [], "flow {index}");
    }
    assert_eq!(switch.flows("OpenFlow10"), expected);

    // A packet comes, and another is sent.
    switch.receive("p1", FRAME);
    let Body::PacketIn(packet) = control.next_of_1_0().body else { panic!("no packet came") };
    assert_eq!(
        (packet.in_port, packet.total_length, &packet.data[..]),
        (v10::PortNumber(1), FRAME.len() as u16, FRAME)
    );
    let out = v10::PacketOut {
        buffer: BufferId::NO_BUFFER,
        in_port: v10::PortNumber::NONE,
        actions: vec![v10::Action::Output { port: v10::PortNumber(2), max_length: 0 }],
        data: FRAME.to_vec(),
    };
    assert_eq!(control.ask_1_0(Body::PacketOut(out)), []);

    // What it has counted.
    let filter = || statistics::FlowFilter {
        flow_match: v10::Match::ANY,
        table: v10::TableId::ALL,
        out_port: v10::PortNumber::NONE,
    };
    let mut ask = |body| {
        let request = v10::StatisticsRequest { flags: statistics::StatisticsFlags(0), body };
        match control.ask_1_0(Body::StatisticsRequest(request)).pop() {
            Some(Body::StatisticsReply(reply)) => reply.body,
            other => panic!("{other:?}"),
        }
    };
    use statistics::{Answered, Asked};
    let Answered::Flows(flows) = ask(Asked::Flows(filter())) else { panic!("no flows") };
    let met = flows.iter().find(|flow| flow.flow_match.in_port == v10::PortNumber(1)).unwrap();
    assert_eq!((flows.len(), met.packets, met.bytes, met.priority), (4, 1, FRAME.len() as u64, 103));
    let Answered::Aggregate(all) = ask(Asked::Aggregate(filter())) else { panic!("no sum") };
    assert_eq!((all.flows, all.packets), (4, 1));
    let Answered::Ports(ports) = ask(Asked::Ports { port: v10::PortNumber(2) }) else { panic!("no port") };
    assert_eq!((ports[0].sent, ports[0].sent_bytes), (1, FRAME.len() as u64));
    let Answered::Description(said) = ask(Asked::Description) else { panic!("no description") };
    assert_eq!(said.hardware.to_string(), "Open vSwitch");
    let Answered::Tables(tables) = ask(Asked::Tables) else { panic!("no tables") };
    assert_eq!((tables[0].active, tables.len()), (4, usize::from(features.tables)));
    let queues = ask(Asked::Queues { port: v10::PortNumber::ALL, queue: QueueId::ALL });
    let Answered::Queues(queues) = queues else { panic!("no queues") };
    assert_eq!(queues.iter().map(|queue| queue.queue.0).collect::<Vec<_>>(), [0, 0, 0], "each port has one");
    let asked = v10::QueueConfigRequest { port: v10::PortNumber(1) };
    let queues = control.ask_1_0(Body::QueueConfigRequest(asked));
    let queue = v10::queue::Queue { id: QueueId(0), properties: vec![] };
    assert_eq!(
        queues,
        [Body::QueueConfig(v10::QueueConfig { port: v10::PortNumber(1), queues: vec![queue] })]
    );

    // A port changes; a flow goes; what cannot be is refused by name.
    let port = features.ports.iter().find(|port| port.number == v10::PortNumber(1)).unwrap();
    let change = v10::PortMod {
        number: port.number,
        address: port.address,
        config: v10::port::PortConfig::NO_FLOOD,
        mask: v10::port::PortConfig::NO_FLOOD,
        advertise: v10::port::PortFeatures(0),
    };
    assert_eq!(control.ask_1_0(Body::PortMod(change.clone())), []);
    let [Body::Features(changed)] = &control.ask_1_0(Body::FeaturesRequest)[..] else {
        panic!("no features")
    };
    let changed = changed.ports.iter().find(|other| other.number == port.number).unwrap();
    assert_eq!((changed.config, changed.address), (v10::port::PortConfig::NO_FLOOD, port.address));
    switch.set_down("OpenFlow10", "p2");
    let status = loop {
        // It may tell of the configuration first, and then of what follows from it.
        let Body::PortStatus(status) = control.next_of_1_0().body else { panic!("no status") };
        if status.port.state.contains(v10::port::PortState::LINK_DOWN) {
            break status;
        }
    };
    assert_eq!((status.reason, status.port.number), (v10::port::PortReason::MODIFY, v10::PortNumber(2)));
    assert!(status.port.config.contains(v10::port::PortConfig::PORT_DOWN));
    let leaving = v10::FlowMod {
        flags: v10::flow_mod::FlowModFlags::SEND_FLOW_REM,
        cookie: 99,
        ..v10::FlowMod::add(from_p1, 500, vec![])
    };
    assert_eq!(control.ask_1_0(Body::FlowMod(leaving.clone())), []);
    let delete = v10::FlowMod { command: v10::flow_mod::FlowModCommand::DELETE_STRICT, ..leaving };
    // It may tell of what follows from a change only after the barrier.
    let told = control.ask_1_0(Body::FlowMod(delete)).pop();
    let told = told.unwrap_or_else(|| control.next_of_1_0().body);
    let Body::FlowRemoved(gone) = told else { panic!("{told:?}") };
    assert_eq!((gone.cookie, gone.reason), (99, v10::flow_removed::FlowRemovedReason::DELETE));
    let refused = |answers: Vec<Body>, reason| match &answers[..] {
        [Body::Error(error)] => assert_eq!(error.reason, reason),
        other => panic!("{other:?}"),
    };
    let nowhere = v10::PortMod { number: v10::PortNumber(77), ..change };
    refused(control.ask_1_0(Body::PortMod(nowhere)), v10::Reason::PORT_MOD_BAD_PORT);
    refused(control.ask_1_0(Body::Unknown { kind: 99, body: vec![] }), v10::Reason::REQUEST_BAD_TYPE);
    refused(
        control.ask_1_0(Body::Vendor { vendor: 0x1234, data: vec![0; 4] }),
        v10::Reason::REQUEST_BAD_VENDOR,
    );
    assert_eq!(control.ask_1_0(Body::EchoRequest(b"there?".to_vec())), [Body::EchoReply(b"there?".to_vec())]);

    assert_all_alike(&control.received);
}

#[test]
fn open_vswitch_is_controlled_by_1_3() {
    let Some(switch) = Switch::speaking("OpenFlow13") else {
        return skipped("open_vswitch_is_controlled_by_1_3");
    };
    let mut control = switch.accept();
    assert!(control.greet(v13::VERSION));
    use v13::Body;

    let [Body::Features(features)] = &control.ask_1_3(Body::FeaturesRequest)[..] else {
        panic!("no features")
    };
    assert_eq!((features.tables, features.auxiliary), (254, 0));
    let config = v13::Config { fragments: v13::switch::Fragments::NORMAL, miss_send_length: 300 };
    assert_eq!(control.ask_1_3(Body::SetConfig(config.clone())), []);
    assert_eq!(control.ask_1_3(Body::ConfigRequest), [Body::Config(config)]);

    // Groups and meters, which flows then use.
    let out = |port| v13::Action::Output {
        port: v13::PortNumber(port),
        max_length: v13::action::ControllerLength(0),
    };
    let bucket = |port| v13::Bucket {
        weight: 100,
        watch_port: v13::PortNumber::ANY,
        watch_group: v13::GroupId::ANY,
        actions: vec![out(port)],
    };
    let add = v13::GroupMod {
        command: group::GroupModCommand::ADD,
        kind: group::GroupType::SELECT,
        group: v13::GroupId(55),
        buckets: vec![bucket(1), bucket(2)],
    };
    assert_eq!(control.ask_1_3(Body::GroupMod(add.clone())), []);
    let meter_add = v13::MeterMod {
        command: meter::MeterModCommand::ADD,
        flags: meter::MeterFlags::KBPS | meter::MeterFlags::BURST,
        meter: v13::MeterId(66),
        bands: vec![v13::Band::Drop { rate: 1001, burst: 1002 }],
    };
    assert_eq!(control.ask_1_3(Body::MeterMod(meter_add.clone())), []);

    // Flows with every field, action and instruction are there as they were sent.
    let mut expected = Vec::new();
    for (index, fields) in samples::fields_of_1_3().into_iter().enumerate() {
        let instructions = match index {
            // The fields of TCP allow for every action.
            4 => samples::instructions_of_1_3(),
            _ => vec![v13::Instruction::ApplyActions(vec![out(2)])],
        };
        let flow = v13::FlowMod {
            cookie: 0x10 + index as u64,
            table: v13::TableId(3),
            ..v13::FlowMod::add(fields, 100 + index as u16, instructions)
        };
        expected.push(words::flow_of_1_3(&flow).unwrap());
        assert_eq!(control.ask_1_3(Body::FlowMod(flow)), [], "flow {index}");
    }
    assert_eq!(switch.flows("OpenFlow13"), expected);

    // A packet comes, and another is sent.
    let all_of_it = v13::action::ControllerLength::NO_BUFFER;
    let to_controller = v13::Action::Output { port: v13::PortNumber::CONTROLLER, max_length: all_of_it };
    let from_p1 = || vec![v13::Oxm::InPort(v13::PortNumber(1).into())];
    let flow = v13::FlowMod {
        cookie: 0xfeed,
        flags: v13::flow_mod::FlowModFlags::SEND_FLOW_REM,
        ..v13::FlowMod::add(from_p1(), 200, vec![v13::Instruction::ApplyActions(vec![to_controller])])
    };
    assert_eq!(control.ask_1_3(Body::FlowMod(flow.clone())), []);
    switch.receive("p1", FRAME);
    let Body::PacketIn(packet) = control.next_of_1_3().body else { panic!("no packet came") };
    assert_eq!((packet.cookie, packet.total_length, &packet.data[..]), (0xfeed, FRAME.len() as u16, FRAME));
    assert_eq!(packet.flow_match.fields(), from_p1());
    let packet_out = v13::PacketOut {
        buffer: BufferId::NO_BUFFER,
        in_port: v13::PortNumber::CONTROLLER,
        actions: vec![out(2)],
        data: FRAME.to_vec(),
    };
    assert_eq!(control.ask_1_3(Body::PacketOut(packet_out)), []);

    // What it tells when asked.
    let filter = || multipart::FlowFilter {
        table: v13::TableId::ALL,
        out_port: v13::PortNumber::ANY,
        out_group: v13::GroupId::ANY,
        cookie: 0,
        cookie_mask: 0,
        flow_match: v13::Match::ANY,
    };
    let mut ask = |body| {
        let request = v13::MultipartRequest { flags: multipart::MultipartFlags(0), body };
        let replies = control.ask_1_3(Body::MultipartRequest(request)).into_iter();
        let body = |reply| match reply {
            Body::MultipartReply(reply) => reply.body,
            other => panic!("{other:?}"),
        };
        replies.map(body).collect::<Vec<_>>()
    };
    use multipart::{Answered, Asked};
    let [Answered::Flows(flows)] = &ask(Asked::Flows(filter()))[..] else { panic!("no flows") };
    let met = flows.iter().find(|flow| flow.cookie == 0xfeed).unwrap();
    assert_eq!((flows.len(), met.packets, met.bytes, met.priority), (14, 1, FRAME.len() as u64, 200));
    let [Answered::Aggregate(all)] = &ask(Asked::Aggregate(filter()))[..] else { panic!("no sum") };
    assert_eq!((all.flows, all.packets), (14, 1));
    let [Answered::Ports(ports)] = &ask(Asked::Ports { port: v13::PortNumber(2) })[..] else {
        panic!("no port")
    };
    assert_eq!((ports[0].sent, ports[0].sent_bytes), (1, FRAME.len() as u64));
    let [Answered::PortDescriptions(ports)] = &ask(Asked::PortDescriptions)[..] else { panic!("no ports") };
    assert_eq!(ports.len(), 3);
    let [Answered::Description(said)] = &ask(Asked::Description)[..] else { panic!("no description") };
    assert_eq!(said.hardware.to_string(), "Open vSwitch");
    let [Answered::Tables(tables)] = &ask(Asked::Tables)[..] else { panic!("no tables") };
    assert_eq!((tables[0].active, tables[3].active), (1, 13));
    let queues = ask(Asked::Queues { port: v13::PortNumber::ANY, queue: QueueId::ALL });
    let [Answered::Queues(queues)] = &queues[..] else { panic!("no queues") };
    assert_eq!(queues.iter().map(|queue| queue.queue.0).collect::<Vec<_>>(), [0, 0, 0], "each port has one");
    let [Answered::Groups(groups)] = &ask(Asked::Groups { group: v13::GroupId::ALL })[..] else {
        panic!("no group")
    };
    assert_eq!((groups[0].group, groups[0].references, groups[0].buckets.len()), (v13::GroupId(55), 1, 2));
    let [Answered::GroupDescriptions(groups)] = &ask(Asked::GroupDescriptions)[..] else {
        panic!("no group")
    };
    assert_eq!((groups[0].kind, &groups[0].buckets), (add.kind, &add.buckets));
    assert!(matches!(&ask(Asked::GroupFeatures)[..], [Answered::GroupFeatures(said)] if said.types.0 == 15));
    let [Answered::Meters(meters)] = &ask(Asked::Meters { meter: v13::MeterId::ALL })[..] else {
        panic!("no meter")
    };
    assert_eq!((meters[0].meter, meters[0].flows, meters[0].bands.len()), (v13::MeterId(66), 1, 1));
    let [Answered::MeterConfigs(meters)] = &ask(Asked::MeterConfigs { meter: v13::MeterId(66) })[..] else {
        panic!("no meter")
    };
    assert_eq!((meters[0].flags, &meters[0].bands), (meter_add.flags, &meter_add.bands));
    assert!(matches!(&ask(Asked::MeterFeatures)[..], [Answered::MeterFeatures(said)] if said.max_meters > 0));
    let tables = ask(Asked::TableFeatures(vec![]));
    assert!(tables.len() > 1, "254 tables take more than one message");
    let tables: Vec<_> = tables
        .into_iter()
        .flat_map(|reply| match reply {
            Answered::TableFeatures(tables) => tables,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(tables.len(), 254);
    let in_port = tables[0].properties.iter().any(|property| match property {
        v13::table::Property::Match(fields) => {
            fields.iter().any(|id| (id.class, id.field) == (oxm::Class::OPENFLOW_BASIC, 0))
        }
        _ => false,
    });
    assert!(in_port, "what can be matched begins with the port");
    let asked = v13::QueueConfigRequest { port: v13::PortNumber(1) };
    let queues = control.ask_1_3(Body::QueueConfigRequest(asked));
    let queue = v13::queue::Queue { id: QueueId(0), port: v13::PortNumber(1), properties: vec![] };
    assert_eq!(
        queues,
        [Body::QueueConfig(v13::QueueConfig { port: v13::PortNumber(1), queues: vec![queue] })]
    );

    // Roles, and what is told unasked.
    let role = |role, generation| v13::Role { role, generation };
    let master = role(role::ControllerRole::MASTER, 1);
    assert_eq!(control.ask_1_3(Body::RoleRequest(master.clone())), [Body::RoleReply(master)]);
    let wanted = v13::AsyncConfig {
        packet_in_master: role::PacketInReasons::NO_MATCH | role::PacketInReasons::ACTION,
        packet_in_slave: role::PacketInReasons(0),
        port_status_master: role::PortReasons::ADD | role::PortReasons::MODIFY,
        port_status_slave: role::PortReasons::MODIFY,
        flow_removed_master: role::FlowRemovedReasons::DELETE,
        flow_removed_slave: role::FlowRemovedReasons(0),
    };
    assert_eq!(control.ask_1_3(Body::SetAsync(wanted.clone())), []);
    assert_eq!(control.ask_1_3(Body::AsyncRequest), [Body::AsyncReply(wanted)]);

    // A port changes; a flow goes; what cannot be is refused by name.
    let port = ports.iter().find(|port| port.number == v13::PortNumber(1)).unwrap();
    let change = v13::PortMod {
        number: port.number,
        address: port.address,
        config: v13::port::PortConfig::NO_FWD,
        mask: v13::port::PortConfig::NO_FWD,
        advertise: v13::port::PortFeatures(0),
    };
    assert_eq!(control.ask_1_3(Body::PortMod(change.clone())), []);
    let request =
        v13::MultipartRequest { flags: multipart::MultipartFlags(0), body: Asked::PortDescriptions };
    let answers = control.ask_1_3(Body::MultipartRequest(request));
    let [Body::MultipartReply(v13::MultipartReply { body: Answered::PortDescriptions(changed), .. })] =
        &answers[..]
    else {
        panic!("{answers:?}")
    };
    let changed = changed.iter().find(|other| other.number == port.number).unwrap();
    assert_eq!((changed.config, changed.address), (v13::port::PortConfig::NO_FWD, port.address));
    switch.set_down("OpenFlow13", "p2");
    let status = loop {
        // It may tell of the configuration first, and then of what follows from it.
        let Body::PortStatus(status) = control.next_of_1_3().body else { panic!("no status") };
        if status.port.state.contains(v13::port::PortState::LINK_DOWN) {
            break status;
        }
    };
    assert_eq!((status.reason, status.port.number), (v13::port::PortReason::MODIFY, v13::PortNumber(2)));
    assert!(status.port.config.contains(v13::port::PortConfig::PORT_DOWN));
    let delete = v13::FlowMod { command: v13::flow_mod::FlowModCommand::DELETE_STRICT, ..flow };
    // It may tell of what follows from a change only after the barrier.
    let told = control.ask_1_3(Body::FlowMod(delete)).pop();
    let told = told.unwrap_or_else(|| control.next_of_1_3().body);
    let Body::FlowRemoved(gone) = told else { panic!("{told:?}") };
    assert_eq!((gone.cookie, gone.packets, gone.flow_match.fields()), (0xfeed, 1, &from_p1()[..]));
    let refused = |answers: Vec<Body>, reason| match &answers[..] {
        [Body::Error(error)] => assert_eq!(error.reason, reason),
        other => panic!("{other:?}"),
    };
    let nowhere = v13::PortMod { number: v13::PortNumber(77), ..change };
    refused(control.ask_1_3(Body::PortMod(nowhere)), v13::Reason::PORT_MOD_BAD_PORT);
    refused(control.ask_1_3(Body::GroupMod(add)), v13::Reason::GROUP_MOD_GROUP_EXISTS);
    refused(control.ask_1_3(Body::MeterMod(meter_add)), v13::Reason::METER_MOD_METER_EXISTS);
    let older = role(role::ControllerRole::MASTER, 0);
    refused(control.ask_1_3(Body::RoleRequest(older)), v13::Reason::ROLE_REQUEST_STALE);
    for field in samples::fields_unknown_to_open_vswitch() {
        let answers = control.ask_1_3(Body::FlowMod(v13::FlowMod::add(vec![field.clone()], 1, vec![])));
        let [Body::Error(error)] = &answers[..] else { panic!("{field:?}: {answers:?}") };
        assert_eq!(error.reason.type_name(), Some("OFPET_BAD_MATCH"), "{field:?}");
    }
    let lone = vec![v13::Oxm::TcpDst(80.into())];
    refused(
        control.ask_1_3(Body::FlowMod(v13::FlowMod::add(lone, 1, vec![]))),
        v13::Reason::MATCH_BAD_PREREQ,
    );

    assert_all_alike(&control.received);
}

/// What `ovs-ofctl` sends when it is asked to do this: a switch of ours listens, and answers no more than it must.
fn sent_by_ofctl(protocol: &str, version: u8, command: &str, arguments: &[&str]) -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("switch");
    let listener = UnixListener::bind(&path).unwrap();
    let target = format!("unix:{}", path.display());
    let mut ofctl = Command::new("ovs-ofctl");
    ofctl.args(["-O", protocol, "--timeout=30", command, &target]).args(arguments);
    let running = std::thread::spawn(move || {
        let done = ofctl.output().unwrap();
        // One who says nothing tells the listener that nobody more will come.
        drop(UnixStream::connect(path).unwrap());
        done
    });
    let mut received = Vec::new();
    loop {
        let mut tool = Connection::new(listener.accept().unwrap().0);
        if !tool.greet(version) {
            break;
        }
        answer_as_a_switch(&mut tool);
        received.append(&mut tool.received);
    }
    let done = running.join().unwrap();
    assert!(done.status.success(), "{command} {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    received
}

/// Answers no more than must be, until the other side has gone.
fn answer_as_a_switch(tool: &mut Connection) {
    while let Some(bytes) = tool.next_bytes() {
        let answer = match Message::parse(&bytes).unwrap() {
            Message::V10(v10::Message { xid, body }) => {
                let body = match body {
                    v10::Body::BarrierRequest => Some(v10::Body::BarrierReply),
                    body => sample_of_1_0(&body),
                };
                body.map(|body| Message::V10(v10::Message { xid, body }))
            }
            Message::V13(v13::Message { xid, body }) => {
                let body = match body {
                    v13::Body::BarrierRequest => Some(v13::Body::BarrierReply),
                    body => sample_of_1_3(&body),
                };
                body.map(|body| Message::V13(v13::Message { xid, body }))
            }
        };
        if let Some(answer) = answer {
            tool.write(&answer.emit().unwrap());
        }
    }
}

/// What a switch may answer.
fn sample_of_1_0(asked: &v10::Body) -> Option<v10::Body> {
    samples::of_1_0().into_iter().map(|message| message.body).find(|body| match (asked, body) {
        (v10::Body::FeaturesRequest, v10::Body::Features(_)) => true,
        (v10::Body::StatisticsRequest(asked), v10::Body::StatisticsReply(reply)) => {
            asked.body.kind() == reply.body.kind()
        }
        _ => false,
    })
}

fn sample_of_1_3(asked: &v13::Body) -> Option<v13::Body> {
    samples::of_1_3().into_iter().map(|message| message.body).find(|body| match (asked, body) {
        (v13::Body::MultipartRequest(asked), v13::Body::MultipartReply(reply)) => {
            asked.body.kind() == reply.body.kind()
        }
        _ => false,
    })
}

#[test]
fn what_open_vswitchs_tool_writes_is_read() {
    if Command::new("ovs-ofctl").arg("--version").output().is_err() {
        return skipped("what_open_vswitchs_tool_writes_is_read");
    }
    let flows = [
        "priority=7,ip,nw_src=10.1.0.0/16,actions=mod_nw_dst:10.0.0.9,output:3",
        "table=0,idle_timeout=5,hard_timeout=6,cookie=0x99,send_flow_rem,tcp,tp_dst=80,actions=mod_tp_dst:8080,NORMAL",
        "in_port=2,dl_vlan=5,dl_vlan_pcp=3,actions=strip_vlan,FLOOD",
        "arp,arp_tpa=10.0.0.1,arp_op=1,actions=CONTROLLER:77",
        "dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02,dl_type=0x88cc,actions=LOCAL",
        "icmp,icmp_type=8,icmp_code=0,nw_tos=16,actions=drop",
    ];
    let newer = [
        "table=4,ipv6,ipv6_dst=2001:db8::/32,ipv6_label=5,actions=dec_ttl,set_field:2001:db8::1->ipv6_dst,goto_table:7",
        "metadata=0x5/0xf,udp,actions=clear_actions,write_actions(output:4),write_metadata:0x1/0x3",
        "sctp,tp_src=9,actions=meter:6,set_queue:3,group:5",
        "mpls,mpls_label=77,mpls_tc=2,mpls_bos=1,actions=set_mpls_ttl(9),dec_mpls_ttl,pop_mpls:0x0800,output:1",
        "icmp6,icmp_type=135,icmp_code=0,nd_target=2001:db8::5,nd_sll=02:00:00:00:00:05,actions=push_vlan:0x8100,output:1",
        "tun_id=0x30/0xf0,actions=push_mpls:0x8847,set_field:99->mpls_label,output:1",
        "dl_dst=01:00:00:00:00:00/01:00:00:00:00:00,actions=ALL",
    ];
    let (mut sent, mut count) = (Vec::new(), 0);
    let mut ask = |protocol: &str, version, command: &str, arguments: &[&str], kind: u8| {
        let messages = sent_by_ofctl(protocol, version, command, arguments);
        assert!(messages.iter().any(|message| message[1] == kind), "{command} {arguments:?}");
        sent.extend(messages.into_iter().filter(|message| message[1] == kind));
        count += 1;
    };
    for (protocol, version) in [("OpenFlow10", v10::VERSION), ("OpenFlow13", v13::VERSION)] {
        let both: &[&str] = if version == v13::VERSION { &newer } else { &[] };
        for flow in flows.iter().chain(both) {
            ask(protocol, version, "add-flow", &[flow], 14);
        }
        ask(protocol, version, "mod-flows", &["tcp,actions=drop"], 14);
        ask(protocol, version, "del-flows", &["--strict", "priority=7,udp"], 14);
        ask(protocol, version, "mod-port", &["eth4", "down"], if version == 1 { 15 } else { 16 });
        ask(
            protocol,
            version,
            "packet-out",
            &["in_port=6,packet=0200000000090200000000080800,actions=output:3"],
            13,
        );
    }
    ask("OpenFlow13", 4, "add-group", &["group_id=5,type=ff,bucket=watch_port:1,actions=output:1"], 15);
    ask("OpenFlow13", 4, "add-meter", &["meter=6,pktps,burst,bands=type=drop,rate=10,burst_size=5"], 29);
    assert!(sent.len() >= count);
    assert!(Hello::of(&sent_by_ofctl("OpenFlow13", 4, "del-flows", &[])[0][8..]).speaks(4, 4));
    assert_all_alike(&sent);
}
