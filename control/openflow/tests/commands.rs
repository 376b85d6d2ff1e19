//! What switches are told: in words, and written.

use plait_control_openflow::{
    Action, Actions, Between, Change, Command, Commands, Fields, Flow, NotSaid, Order, Packet, PacketOut,
    Port, StationFlows, Version,
};
use plait_control_runtime::Wit;
use proptest::prelude::*;
use std::net::Ipv4Addr;

fn version() -> impl Strategy<Value = Version> {
    prop_oneof![Just(Version::V10), Just(Version::V13)]
}

/// Ports that both versions have.
fn port() -> impl Strategy<Value = Port> {
    prop_oneof![(1u32..0xff00).prop_map(Port), Just(Port::LOCAL)]
}

fn between() -> impl Strategy<Value = Between> {
    (port(), any::<[u8; 6]>(), any::<[u8; 6]>(), proptest::option::of(0..u32::MAX), port()).prop_map(
        |(in_port, source, destination, buffer, to)| Between { in_port, source, destination, buffer, to },
    )
}

/// Fields that both versions can say.
fn fields() -> impl Strategy<Value = Fields> {
    let prefix = || {
        let parts = (any::<u32>(), 1u8..=32);
        parts.prop_map(|(address, bits)| (Ipv4Addr::from_bits(address & u32::MAX << (32 - bits)), bits))
    };
    let ip = (prefix(), prefix(), prop_oneof![Just(6u8), Just(17)], any::<[u16; 2]>());
    let stations = (port(), any::<[u8; 6]>(), any::<[u8; 6]>(), proptest::option::of(0u16..4096));
    (stations, proptest::option::of(ip), proptest::option::of(prefix())).prop_map(
        |((in_port, source, destination, vlan), ip, arp)| {
            let stations = Fields {
                in_port: Some(in_port),
                eth_src: Some(source),
                eth_dst: Some(destination),
                vlan,
                ..Fields::ANY
            };
            match (ip, arp) {
                (Some((source, destination, protocol, [from, to])), _) => Fields {
                    eth_type: Some(0x0800),
                    protocol: Some(protocol),
                    ipv4_src: Some(source),
                    ipv4_dst: Some(destination),
                    source_port: Some(from),
                    destination_port: Some(to),
                    ..stations
                },
                (None, Some(asked)) => {
                    let (eth_type, protocol) = (Some(0x0806), Some(1));
                    Fields { eth_type, protocol, ipv4_dst: Some(asked), ..stations }
                }
                (None, None) => stations,
            }
        },
    )
}

fn actions() -> impl Strategy<Value = Actions> {
    let action = prop_oneof![
        port().prop_map(Action::Output),
        any::<u16>().prop_map(Action::Controller),
        any::<[u8; 6]>().prop_map(Action::SetEthSrc),
        any::<[u8; 6]>().prop_map(Action::SetEthDst),
        (0u16..4096).prop_map(Action::SetVlan),
        Just(Action::StripVlan),
    ];
    proptest::collection::vec(action, 0..4).prop_map(|actions| actions.into_iter().collect())
}

fn flow() -> impl Strategy<Value = Flow> {
    let change = prop_oneof![Just(Change::Add), Just(Change::ModifyStrict), Just(Change::Delete)];
    let numbers = (any::<u16>(), any::<u64>(), any::<[u16; 2]>(), any::<bool>());
    (change, numbers, proptest::option::of(0..u32::MAX), fields(), actions()).prop_map(
        |(
            change,
            (priority, cookie, [idle_timeout, hard_timeout], tell_removal),
            buffer,
            fields,
            actions,
        )| {
            let flow = Flow::add(priority, fields, actions);
            Flow { change, cookie, idle_timeout, hard_timeout, tell_removal, buffer, ..flow }
        },
    )
}

fn packet_out() -> impl Strategy<Value = PacketOut> {
    let packet = prop_oneof![
        (0..u32::MAX).prop_map(Packet::Kept),
        proptest::collection::vec(any::<u8>(), 0..200).prop_map(Packet::Bytes),
    ];
    (prop_oneof![port(), Just(Port::CONTROLLER)], actions(), packet)
        .prop_map(|(in_port, actions, packet)| PacketOut { in_port, actions, packet })
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![flow().prop_map(Command::Flow), packet_out().prop_map(Command::PacketOut)]
}

fn write(commands: &mut Commands, switch: u64, version: Version, command: &Command) -> Result<(), NotSaid> {
    commands.write(switch, version, |bytes| match command {
        Command::Flow(flow) => flow.emit_into(version, 0, bytes),
        Command::PacketOut(packet) => packet.emit_into(version, 0, bytes),
        Command::Barrier | Command::Raw(_) => panic!("not made here"),
    })
}

proptest! {
    #[test]
    fn what_is_written_says_what_its_words_said(
        all in proptest::collection::vec((0u64..3, version(), command(), any::<bool>()), 0..12)
    ) {
        let mut commands = Commands::default();
        let mut said = Vec::new();
        for (switch, version, command, is_written) in all {
            if is_written {
                write(&mut commands, switch, version, &command).unwrap();
            } else {
                commands.push(switch, command.clone());
            }
            said.push((switch, command));
        }
        prop_assert_eq!(commands.words(), said.clone());
        // A component sees words alone, and so does who replays them.
        let replayed = Commands::from_value(&commands.to_value()).unwrap();
        prop_assert_eq!(replayed.words(), said);
    }

    #[test]
    fn a_flow_between_stations_is_the_flow_that_its_words_make(
        like in flow(), between in between(), version in version()
    ) {
        // What is deleted has no actions that say where it goes.
        let like = Flow { change: Change::Add, ..like };
        let (mut quick, mut slow) = (vec![1, 2, 3], vec![1, 2, 3]);
        StationFlows::like(&like, version).unwrap().emit_into(&between, &mut quick).unwrap();
        between.flow(&like).emit_into(version, 0, &mut slow).unwrap();
        prop_assert_eq!(quick, slow);
    }
}

#[test]
fn ports_that_a_version_has_not_are_not_written() {
    let flows = StationFlows::like(&Flow::add(1, Fields::ANY, Actions::drop()), Version::V10).unwrap();
    let between =
        Between { in_port: Port(1), source: [2; 6], destination: [4; 6], buffer: None, to: Port(0x1_0000) };
    let mut bytes = Vec::new();
    assert_eq!(flows.emit_into(&between, &mut bytes), Err(NotSaid::Version));
    assert_eq!(
        flows.emit_into(&Between { in_port: Port(70_000), to: Port(1), ..between }, &mut bytes),
        Err(NotSaid::Version)
    );
    assert!(bytes.is_empty());
}

#[test]
fn what_is_no_single_message_of_its_version_is_not_taken() {
    let mut commands = Commands::default();
    let flow = Flow::add(1, Fields::ANY, Actions::drop());
    let emit = |version, times| {
        let flow = flow.clone();
        move |bytes: &mut Vec<u8>| (0..times).try_for_each(|_| flow.emit_into(version, 0, bytes))
    };
    commands.write(1, Version::V13, emit(Version::V13, 1)).unwrap();
    for wrong in [emit(Version::V13, 0), emit(Version::V13, 2), emit(Version::V10, 1)] {
        assert_eq!(commands.write(1, Version::V13, wrong), Err(NotSaid::Message));
    }
    commands.write(1, Version::V13, emit(Version::V13, 1)).unwrap();
    commands.write(2, Version::V13, emit(Version::V13, 1)).unwrap();
    let rows: Vec<_> = commands
        .iter()
        .map(|(switch, order)| match order {
            Order::Written(_, bytes) => (switch, bytes.len()),
            Order::Said(_) => (switch, 0),
        })
        .collect();
    let [(1, two), (2, one)] = rows[..] else { panic!("{rows:?}") };
    assert_eq!(two, 2 * one, "what is for one switch lies in a row");
}
