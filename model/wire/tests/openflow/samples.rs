//! A message of every type, with every action, instruction, match field and multipart. No two numbers of a message are the
//! same where they may differ, so that fields that were taken for each other are seen.

use plait_model_wire::ethernet::Mac;
use plait_model_wire::openflow::v10::{self, statistics};
use plait_model_wire::openflow::v13::{
    self, flow_mod, group, meter, multipart, oxm, packet_in, port, role, table,
};
use plait_model_wire::openflow::{Age, BufferId, Hello as Greeting, Message, QueueId, Text, hello, queue};
use std::net::{Ipv4Addr, Ipv6Addr};

/// All of them, of both versions.
pub fn all() -> Vec<Message> {
    of_1_0().into_iter().map(Message::V10).chain(of_1_3().into_iter().map(Message::V13)).collect()
}

pub const AGE: Age = Age { seconds: 77, nanoseconds: 123_000_000 };
/// A frame that carries UDP.
pub const FRAME: &[u8] = &[
    2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 8, 0, 0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0x66, 0xcb, 10, 0, 0, 1,
    10, 0, 0, 2, 0x12, 0x34, 0x00, 0x35, 0, 12, 0, 0, 1, 2, 3, 4,
];

fn mac(last: u8) -> Mac {
    Mac([2, 0, 0, 0, 0, last])
}

fn v4(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, last)
}

fn v6(last: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last)
}

/// A match of 1.0 in which every field counts.
pub fn every_field_of_1_0() -> v10::Match {
    v10::Match {
        wildcards: v10::Wildcards(0).with_source_bits(8).with_destination_bits(4),
        in_port: v10::PortNumber(3),
        ethernet_source: mac(4),
        ethernet_destination: mac(5),
        vlan: 600,
        vlan_priority: 6,
        ether_type: 0x0800,
        type_of_service: 0x28,
        protocol: 6,
        source: Ipv4Addr::new(10, 1, 2, 0),
        destination: Ipv4Addr::new(10, 3, 4, 16),
        source_port: 1001,
        destination_port: 1002,
    }
}

pub fn actions_of_1_0() -> Vec<v10::Action> {
    use v10::Action::*;
    vec![
        SetVlanId { id: 77 },
        SetVlanPriority { priority: 5 },
        StripVlan,
        SetEthernetSource { address: mac(0x11) },
        SetEthernetDestination { address: mac(0x12) },
        SetIpSource { address: v4(0x13) },
        SetIpDestination { address: v4(0x14) },
        SetTypeOfService { tos: 0x48 },
        SetSourcePort { port: 2001 },
        SetDestinationPort { port: 2002 },
        Enqueue { port: v10::PortNumber(9), queue: QueueId(8) },
        Output { port: v10::PortNumber::CONTROLLER, max_length: 99 },
        Output { port: v10::PortNumber(12), max_length: 0 },
        // Nicira's "resubmit".
        Vendor { vendor: 0x2320, data: vec![0, 1, 0, 7, 0, 0, 0, 0] },
    ]
}

fn ports_of_1_0() -> Vec<v10::Port> {
    use v10::port::{PortConfig, PortFeatures, PortState};
    let port = v10::Port {
        number: v10::PortNumber(4),
        address: mac(0x44),
        name: Text::new("eth4"),
        config: PortConfig::PORT_DOWN | PortConfig::NO_FLOOD,
        state: PortState::LINK_DOWN,
        current: PortFeatures::RATE_1GB_FD | PortFeatures::COPPER,
        advertised: PortFeatures::RATE_100MB_FD,
        supported: PortFeatures::RATE_10GB_FD | PortFeatures::FIBER,
        peer: PortFeatures::RATE_10MB_HD | PortFeatures::AUTONEG,
    };
    let local = v10::Port { number: v10::PortNumber::LOCAL, name: Text::new("br0"), ..port.clone() };
    vec![port, local]
}

pub fn of_1_0() -> Vec<v10::Message> {
    use statistics::{Answered, Asked, StatisticsFlags};
    use v10::Body::*;
    let every = every_field_of_1_0();
    let filter = statistics::FlowFilter {
        flow_match: every.clone(),
        table: v10::TableId(2),
        out_port: v10::PortNumber(7),
    };
    let ask = |body| StatisticsRequest(v10::StatisticsRequest { flags: StatisticsFlags(0), body });
    let say = |body| StatisticsReply(v10::StatisticsReply { flags: StatisticsFlags(0), body });
    let tcp = v10::Match {
        wildcards: v10::Wildcards(
            v10::Wildcards::ALL.0 & !v10::Wildcards::ETHER_TYPE.0 & !v10::Wildcards::PROTOCOL.0,
        ),
        ether_type: 0x0800,
        protocol: 17,
        ..v10::Match::ANY
    };
    let flow_mod = v10::FlowMod {
        cookie: 0x1122_3344_5566_7788,
        idle_timeout: 11,
        hard_timeout: 12,
        flags: v10::flow_mod::FlowModFlags::SEND_FLOW_REM | v10::flow_mod::FlowModFlags::CHECK_OVERLAP,
        ..v10::FlowMod::add(every.clone(), 1234, actions_of_1_0())
    };
    let config = v10::Config { fragments: v10::switch::Fragments::DROP, miss_send_length: 300 };
    let bodies = [
        Hello(Greeting::default()),
        Error(v10::Error { reason: v10::Reason::FLOW_MOD_OVERLAP, data: vec![1, 18, 0, 8, 0, 0, 0, 1] }),
        EchoRequest(b"ping".to_vec()),
        EchoReply(b"pong".to_vec()),
        // Nicira's request for a role: slave.
        Vendor { vendor: 0x2320, data: vec![0, 0, 0, 10, 0, 0, 0, 2] },
        FeaturesRequest,
        Features(v10::Features {
            datapath: 0x00aa_bbcc_ddee_ff01,
            buffers: 256,
            tables: 254,
            capabilities: v10::switch::Capabilities::FLOW_STATS | v10::switch::Capabilities::ARP_MATCH_IP,
            actions: v10::switch::ActionTypes::OUTPUT | v10::switch::ActionTypes::ENQUEUE,
            ports: ports_of_1_0(),
        }),
        ConfigRequest,
        Config(config.clone()),
        SetConfig(config),
        PacketIn(v10::PacketIn {
            buffer: BufferId(0x111),
            total_length: FRAME.len() as u16,
            in_port: v10::PortNumber(6),
            reason: v10::packet_in::PacketInReason::ACTION,
            data: FRAME.to_vec(),
        }),
        FlowRemoved(v10::FlowRemoved {
            flow_match: every.clone(),
            cookie: 0x99,
            priority: 4321,
            reason: v10::flow_removed::FlowRemovedReason::HARD_TIMEOUT,
            age: AGE,
            idle_timeout: 13,
            packets: 501,
            bytes: 50_101,
        }),
        PortStatus(v10::PortStatus {
            reason: v10::port::PortReason::MODIFY,
            port: ports_of_1_0().swap_remove(0),
        }),
        PacketOut(v10::PacketOut {
            buffer: BufferId::NO_BUFFER,
            in_port: v10::PortNumber(6),
            actions: actions_of_1_0(),
            data: FRAME.to_vec(),
        }),
        FlowMod(flow_mod.clone()),
        FlowMod(v10::FlowMod {
            command: v10::flow_mod::FlowModCommand::DELETE_STRICT,
            out_port: v10::PortNumber(9),
            actions: vec![],
            flags: v10::flow_mod::FlowModFlags(0),
            ..flow_mod
        }),
        PortMod(v10::PortMod {
            number: v10::PortNumber(4),
            address: mac(0x44),
            config: v10::port::PortConfig::NO_FLOOD,
            mask: v10::port::PortConfig::NO_FLOOD | v10::port::PortConfig::NO_RECV,
            advertise: v10::port::PortFeatures::RATE_100MB_FD,
        }),
        ask(Asked::Description),
        ask(Asked::Flows(filter.clone())),
        ask(Asked::Aggregate(filter)),
        ask(Asked::Tables),
        ask(Asked::Ports { port: v10::PortNumber(5) }),
        ask(Asked::Queues { port: v10::PortNumber(5), queue: QueueId(15) }),
        ask(Asked::Vendor { vendor: 0x2320, data: vec![0, 0, 0, 2, 0, 0, 0, 0] }),
        say(Answered::Description(Box::new(statistics::Description {
            manufacturer: Text::new("maker"),
            hardware: Text::new("box"),
            software: Text::new("1.2.3"),
            serial_number: Text::new("serial"),
            datapath: Text::new("rack 3"),
        }))),
        say(Answered::Flows(vec![
            statistics::FlowStatistics {
                table: v10::TableId(3),
                flow_match: every,
                age: AGE,
                priority: 1001,
                idle_timeout: 21,
                hard_timeout: 22,
                cookie: 0xabc,
                packets: 601,
                bytes: 60_101,
                actions: actions_of_1_0(),
            },
            statistics::FlowStatistics {
                table: v10::TableId(4),
                flow_match: tcp,
                age: Age { seconds: 5, nanoseconds: 0 },
                priority: 1002,
                idle_timeout: 0,
                hard_timeout: 0,
                cookie: 0,
                packets: 602,
                bytes: 60_202,
                actions: vec![],
            },
        ])),
        say(Answered::Aggregate(statistics::Aggregate { packets: 701, bytes: 70_101, flows: 7 })),
        say(Answered::Tables(vec![statistics::TableStatistics {
            table: v10::TableId(0),
            name: Text::new("classifier"),
            wildcards: v10::Wildcards::ALL,
            max_entries: 1_000_000,
            active: 3,
            lookups: 801,
            matched: 800,
        }])),
        say(Answered::Ports(vec![statistics::PortStatistics {
            port: v10::PortNumber(5),
            received: 901,
            sent: 902,
            received_bytes: 903,
            sent_bytes: 904,
            received_dropped: 905,
            sent_dropped: 906,
            received_errors: 907,
            sent_errors: 908,
            frame_errors: 909,
            overrun_errors: 910,
            checksum_errors: 911,
            collisions: 912,
        }])),
        say(Answered::Queues(vec![statistics::QueueStatistics {
            port: v10::PortNumber(5),
            queue: QueueId(15),
            sent_bytes: 1001,
            sent: 1002,
            sent_errors: 1003,
        }])),
        say(Answered::Vendor { vendor: 0x2320, data: vec![0, 0, 0, 0, 0, 0, 0, 0] }),
        BarrierRequest,
        BarrierReply,
        QueueConfigRequest(v10::QueueConfigRequest { port: v10::PortNumber(5) }),
        QueueConfig(v10::QueueConfig {
            port: v10::PortNumber(5),
            queues: vec![v10::queue::Queue {
                id: QueueId(15),
                properties: vec![queue::Property::MinRate { rate: queue::Rate(123) }],
            }],
        }),
    ];
    bodies.into_iter().enumerate().map(|(xid, body)| v10::Message { xid: 0x100 + xid as u32, body }).collect()
}

/// Match fields of 1.3 in groups of such as may stand together.
pub fn fields_of_1_3() -> Vec<Vec<v13::Oxm>> {
    use v13::Oxm::*;
    let ip = || EthType(0x0800.into());
    let ip6 = || EthType(0x86dd.into());
    vec![
        vec![],
        vec![
            InPort(v13::PortNumber(3).into()),
            Metadata(oxm::Masked::with_mask(0x1_0000_0002, 0xf_0000_000f)),
            EthDst(oxm::Masked::with_mask(Mac([1, 0, 0, 0, 0, 0]), Mac([1, 0, 0, 0, 0, 0]))),
            EthSrc(mac(4).into()),
            EthType(0x88cc.into()),
            VlanVid(oxm::VlanId::of(600).into()),
            VlanPcp(6.into()),
        ],
        vec![VlanVid(oxm::Masked::with_mask(oxm::VlanId::PRESENT, oxm::VlanId::PRESENT))],
        vec![VlanVid(oxm::VlanId::NONE.into())],
        vec![
            ip(),
            IpDscp(10.into()),
            IpEcn(2.into()),
            IpProto(6.into()),
            Ipv4Src(oxm::Masked::with_mask(Ipv4Addr::new(10, 1, 2, 0), Ipv4Addr::new(255, 255, 255, 0))),
            Ipv4Dst(v4(9).into()),
            TcpSrc(1001.into()),
            TcpDst(oxm::Masked::with_mask(0x1000, 0xf000)),
        ],
        vec![ip(), IpProto(17.into()), UdpSrc(1003.into()), UdpDst(1004.into())],
        vec![ip(), IpProto(132.into()), SctpSrc(1005.into()), SctpDst(1006.into())],
        vec![ip(), IpProto(1.into()), Icmpv4Type(3.into()), Icmpv4Code(4.into())],
        vec![
            EthType(0x0806.into()),
            ArpOp(1.into()),
            ArpSpa(v4(21).into()),
            ArpTpa(v4(22).into()),
            ArpSha(mac(23).into()),
            ArpTha(mac(24).into()),
        ],
        vec![
            ip6(),
            IpProto(58.into()),
            Ipv6Src(v6(25).into()),
            Ipv6Dst(oxm::Masked::with_mask(v6(0), Ipv6Addr::new(0xffff, 0xffff, 0xffff, 0xffff, 0, 0, 0, 0))),
            Ipv6Flabel(oxm::Masked::with_mask(0x12340, 0xffff0)),
            Icmpv6Type(135.into()),
            Icmpv6Code(0.into()),
            Ipv6NdTarget(v6(26).into()),
            Ipv6NdSll(mac(27).into()),
        ],
        vec![
            ip6(),
            IpProto(58.into()),
            Icmpv6Type(136.into()),
            Icmpv6Code(0.into()),
            Ipv6NdTll(mac(28).into()),
        ],
        vec![EthType(0x8847.into()), MplsLabel(1029.into()), MplsTc(5.into()), MplsBos(1.into())],
        vec![TunnelId(oxm::Masked::with_mask(0x30, 0xf0))],
    ]
}

/// Match fields that Open vSwitch does not know, or not in a flow.
pub fn fields_unknown_to_open_vswitch() -> Vec<v13::Oxm> {
    use v13::Oxm::*;
    let exthdr = oxm::ExtensionHeaders::FRAG | oxm::ExtensionHeaders::DEST;
    vec![
        InPhyPort(v13::PortNumber(8).into()),
        PbbIsid(oxm::Masked::with_mask(
            plait_model_wire::layout::U24::new(0x12_3456),
            plait_model_wire::layout::U24::new(0xff_ff00),
        )),
        Ipv6Exthdr(oxm::Masked::with_mask(exthdr, exthdr)),
        // ONF's TCP flags, a field of nobody's, and one of ours with another length than the table says.
        Other {
            class: oxm::Class::EXPERIMENTER,
            field: 42,
            has_mask: false,
            payload: vec![0x4f, 0x4e, 0x46, 0, 0, 2],
        },
        Other { class: oxm::Class(0x1234), field: 127, has_mask: true, payload: vec![9; 6] },
        Other { class: oxm::Class::OPENFLOW_BASIC, field: 0, has_mask: false, payload: vec![1, 2] },
    ]
}

pub fn actions_of_1_3() -> Vec<v13::Action> {
    use v13::Action::*;
    let set = |field| SetField(field);
    vec![
        PushVlan { ether_type: 0x8100 },
        set(v13::Oxm::VlanVid(oxm::VlanId::of(77).into())),
        PopVlan,
        set(v13::Oxm::EthSrc(mac(0x11).into())),
        set(v13::Oxm::Ipv4Dst(v4(0x14).into())),
        set(v13::Oxm::TcpDst(2002.into())),
        SetNwTtl { ttl: 33 },
        DecNwTtl,
        SetQueue { queue: QueueId(8) },
        Group { group: v13::GroupId(55) },
        Output { port: v13::PortNumber::CONTROLLER, max_length: v13::action::ControllerLength(99) },
        Output { port: v13::PortNumber(12), max_length: v13::action::ControllerLength(0) },
        // Nicira's "resubmit".
        Experimenter { experimenter: 0x2320, data: vec![0, 1, 0, 7, 0, 0, 0, 0] },
    ]
}

/// Actions of MPLS, and those that Open vSwitch does not know.
fn other_actions_of_1_3() -> Vec<v13::Action> {
    use v13::Action::*;
    vec![
        PushMpls { ether_type: 0x8847 },
        SetMplsTtl { ttl: 44 },
        DecMplsTtl,
        PopMpls { ether_type: 0x0800 },
        CopyTtlOut,
        CopyTtlIn,
        PushPbb { ether_type: 0x88e7 },
        PopPbb,
        Unknown { kind: 999, body: vec![1, 2, 3, 4] },
    ]
}

pub fn instructions_of_1_3() -> Vec<v13::Instruction> {
    use v13::Instruction::*;
    vec![
        Meter { meter: v13::MeterId(66) },
        ApplyActions(actions_of_1_3()),
        ClearActions,
        WriteActions(vec![v13::Action::Output {
            port: v13::PortNumber(13),
            max_length: v13::action::ControllerLength(0),
        }]),
        WriteMetadata { metadata: 0x1234, mask: 0xffff },
        GotoTable { table: v13::TableId(9) },
    ]
}

fn ports_of_1_3() -> Vec<v13::Port> {
    use port::{PortConfig, PortFeatures, PortState};
    let port = v13::Port {
        number: v13::PortNumber(4),
        address: mac(0x44),
        name: Text::new("eth4"),
        config: PortConfig::PORT_DOWN | PortConfig::NO_PACKET_IN,
        state: PortState::LIVE,
        current: PortFeatures::RATE_1GB_FD | PortFeatures::COPPER,
        advertised: PortFeatures::RATE_100MB_FD,
        supported: PortFeatures::RATE_10GB_FD | PortFeatures::FIBER,
        peer: PortFeatures::RATE_10MB_HD | PortFeatures::AUTONEG,
        current_speed: 1_000_000,
        max_speed: 10_000_000,
    };
    let local = v13::Port { number: v13::PortNumber::LOCAL, name: Text::new("br0"), ..port.clone() };
    vec![port, local]
}

fn buckets() -> Vec<v13::Bucket> {
    let bucket = |port: u32| v13::Bucket {
        weight: 100 + port as u16,
        watch_port: v13::PortNumber(port),
        watch_group: v13::GroupId::ANY,
        actions: vec![v13::Action::Output {
            port: v13::PortNumber(port + 20),
            max_length: v13::action::ControllerLength(0),
        }],
    };
    vec![bucket(1), bucket(2)]
}

fn bands() -> Vec<v13::Band> {
    vec![
        v13::Band::Drop { rate: 1001, burst: 1002 },
        v13::Band::DscpRemark { rate: 2001, burst: 2002, precedence: 3 },
    ]
}

fn table_features() -> Vec<table::TableFeatures> {
    let id = |kind| table::Id { kind, data: vec![] };
    let field = |field, length, has_mask| oxm::Id {
        class: oxm::Class::OPENFLOW_BASIC,
        field,
        has_mask,
        length,
        experimenter: None,
    };
    let theirs =
        oxm::Id { class: oxm::Class::EXPERIMENTER, experimenter: Some(0x4f4e_4600), ..field(42, 6, false) };
    use table::Property::*;
    vec![table::TableFeatures {
        table: v13::TableId(7),
        name: Text::new("seventh"),
        metadata_match: 0xffff_ffff_ffff_fff0,
        metadata_write: 0xffff_ffff_ffff_ff00,
        config: table::TableConfig(3),
        max_entries: 1_000_000,
        properties: vec![
            Instructions(vec![id(1), id(4)]),
            InstructionsMiss(vec![id(1)]),
            NextTables(vec![v13::TableId(8), v13::TableId(9), v13::TableId(10)]),
            NextTablesMiss(vec![]),
            WriteActions(vec![id(0), id(22)]),
            WriteActionsMiss(vec![id(0)]),
            ApplyActions(vec![id(0), id(25)]),
            ApplyActionsMiss(vec![id(0)]),
            Match(vec![field(0, 4, false), field(3, 12, true), theirs]),
            Wildcards(vec![field(0, 4, false)]),
            WriteSetField(vec![field(4, 6, false)]),
            WriteSetFieldMiss(vec![field(4, 6, false)]),
            ApplySetField(vec![field(4, 6, false)]),
            ApplySetFieldMiss(vec![field(4, 6, false)]),
        ],
    }]
}

pub fn of_1_3() -> Vec<v13::Message> {
    use multipart::{Answered, Asked, MultipartFlags};
    use v13::Body::*;
    let fields = || fields_of_1_3().swap_remove(4);
    let filter = || multipart::FlowFilter {
        table: v13::TableId(2),
        out_port: v13::PortNumber(7),
        out_group: v13::GroupId(8),
        cookie: 0x55,
        cookie_mask: 0xff,
        flow_match: v13::Match::Oxm(fields()),
    };
    let ask = |body| MultipartRequest(v13::MultipartRequest { flags: MultipartFlags(0), body });
    let say = |body| MultipartReply(v13::MultipartReply { flags: MultipartFlags(0), body });
    let config = v13::Config { fragments: v13::switch::Fragments::DROP, miss_send_length: 300 };
    let asynchronous = v13::AsyncConfig {
        packet_in_master: role::PacketInReasons::NO_MATCH | role::PacketInReasons::ACTION,
        packet_in_slave: role::PacketInReasons::INVALID_TTL,
        port_status_master: role::PortReasons::ADD | role::PortReasons::DELETE,
        port_status_slave: role::PortReasons::MODIFY,
        flow_removed_master: role::FlowRemovedReasons::IDLE_TIMEOUT | role::FlowRemovedReasons::GROUP_DELETE,
        flow_removed_slave: role::FlowRemovedReasons::HARD_TIMEOUT,
    };
    let flow_mod = v13::FlowMod {
        cookie: 0x1122_3344_5566_7788,
        table: v13::TableId(4),
        idle_timeout: 11,
        hard_timeout: 12,
        flags: flow_mod::FlowModFlags::SEND_FLOW_REM | flow_mod::FlowModFlags::RESET_COUNTS,
        ..v13::FlowMod::add(fields(), 1234, instructions_of_1_3())
    };
    let simple = |fields| FlowMod(v13::FlowMod::add(fields, 4000, vec![]));
    let flow = |fields, instructions| multipart::FlowStatistics {
        table: v13::TableId(3),
        age: AGE,
        priority: 1001,
        idle_timeout: 21,
        hard_timeout: 22,
        flags: flow_mod::FlowModFlags::SEND_FLOW_REM,
        cookie: 0xabc,
        packets: 601,
        bytes: 60_101,
        flow_match: v13::Match::Oxm(fields),
        instructions,
    };
    let mut bodies = vec![
        Hello(Greeting::speaking(&[1, 4])),
        Hello(Greeting {
            elements: vec![hello::Element::Unknown { kind: 9, body: vec![1, 2, 3] }],
            rest: vec![7],
        }),
        Error(v13::Error { reason: v13::Reason::MATCH_BAD_PREREQ, data: vec![4, 20, 0, 8, 0, 0, 0, 1] }),
        Error(v13::Error {
            reason: v13::Reason { kind: v13::error::EXPERIMENTER, code: 2300 },
            data: vec![0x4f, 0x4e, 0x46, 0, 1, 2],
        }),
        EchoRequest(b"ping".to_vec()),
        EchoReply(vec![]),
        Experimenter { experimenter: 0x4f4e_4600, kind: 2300, data: vec![0, 0, 0, 5, 0, 0, 0, 1] },
        FeaturesRequest,
        Features(v13::Features {
            datapath: 0x00aa_bbcc_ddee_ff01,
            buffers: 256,
            tables: 254,
            auxiliary: 3,
            capabilities: v13::switch::Capabilities::FLOW_STATS | v13::switch::Capabilities::PORT_BLOCKED,
            reserved: 0,
        }),
        ConfigRequest,
        Config(config.clone()),
        SetConfig(config),
        PacketIn(v13::PacketIn {
            buffer: BufferId(0x111),
            total_length: FRAME.len() as u16,
            reason: packet_in::PacketInReason::ACTION,
            table: v13::TableId(5),
            cookie: 0xfeed,
            flow_match: v13::Match::Oxm(vec![
                v13::Oxm::InPort(v13::PortNumber(6).into()),
                v13::Oxm::Metadata(0x5a.into()),
                v13::Oxm::TunnelId(0x17.into()),
            ]),
            data: FRAME.to_vec(),
        }),
        FlowRemoved(v13::FlowRemoved {
            cookie: 0x99,
            priority: 4321,
            reason: v13::flow_removed::FlowRemovedReason::HARD_TIMEOUT,
            table: v13::TableId(6),
            age: AGE,
            idle_timeout: 13,
            hard_timeout: 14,
            packets: 501,
            bytes: 50_101,
            flow_match: v13::Match::Oxm(fields()),
        }),
        PortStatus(v13::PortStatus { reason: port::PortReason::MODIFY, port: ports_of_1_3().swap_remove(0) }),
        PacketOut(v13::PacketOut {
            buffer: BufferId::NO_BUFFER,
            in_port: v13::PortNumber(6),
            actions: actions_of_1_3(),
            data: FRAME.to_vec(),
        }),
        FlowMod(flow_mod.clone()),
        FlowMod(v13::FlowMod {
            command: flow_mod::FlowModCommand::DELETE_STRICT,
            cookie_mask: 0xffff,
            out_port: v13::PortNumber(9),
            out_group: v13::GroupId(10),
            instructions: vec![],
            flags: flow_mod::FlowModFlags(0),
            ..flow_mod
        }),
        FlowMod(v13::FlowMod::add(
            fields_unknown_to_open_vswitch(),
            1,
            vec![
                v13::Instruction::WriteActions(other_actions_of_1_3()),
                v13::Instruction::Experimenter {
                    experimenter: 0x1234_5678,
                    data: vec![1, 2, 3, 4, 5, 6, 7, 8],
                },
                v13::Instruction::Unknown { kind: 99, body: vec![8, 7, 6, 5] },
            ],
        )),
        FlowMod(v13::FlowMod {
            flow_match: v13::Match::Unknown { kind: 0, body: vec![1, 2, 3, 4] },
            ..v13::FlowMod::add(vec![], 1, vec![])
        }),
        GroupMod(v13::GroupMod {
            command: group::GroupModCommand::ADD,
            kind: group::GroupType::SELECT,
            group: v13::GroupId(55),
            buckets: buckets(),
        }),
        PortMod(v13::PortMod {
            number: v13::PortNumber(4),
            address: mac(0x44),
            config: port::PortConfig::NO_FWD,
            mask: port::PortConfig::NO_FWD | port::PortConfig::NO_RECV,
            advertise: port::PortFeatures::RATE_100MB_FD,
        }),
        TableMod(v13::TableMod { table: v13::TableId(3), config: table::TableConfig(1) }),
        BarrierRequest,
        BarrierReply,
        QueueConfigRequest(v13::QueueConfigRequest { port: v13::PortNumber(5) }),
        QueueConfig(v13::QueueConfig {
            port: v13::PortNumber(5),
            queues: vec![v13::queue::Queue {
                id: QueueId(15),
                port: v13::PortNumber(5),
                properties: vec![
                    queue::Property::MinRate { rate: queue::Rate(123) },
                    queue::Property::MaxRate { rate: queue::Rate(456) },
                ],
            }],
        }),
        QueueConfig(v13::QueueConfig {
            port: v13::PortNumber(5),
            queues: vec![v13::queue::Queue {
                id: QueueId(16),
                port: v13::PortNumber(5),
                properties: vec![
                    queue::Property::Experimenter { experimenter: 99, data: vec![1, 2, 3] },
                    queue::Property::Unknown { kind: 77, body: vec![0, 0, 0, 0, 5] },
                    queue::Property::None,
                ],
            }],
        }),
        RoleRequest(v13::Role { role: role::ControllerRole::MASTER, generation: 12_345 }),
        RoleReply(v13::Role { role: role::ControllerRole::EQUAL, generation: 12_346 }),
        AsyncRequest,
        AsyncReply(asynchronous.clone()),
        SetAsync(asynchronous),
        MeterMod(v13::MeterMod {
            command: meter::MeterModCommand::ADD,
            flags: meter::MeterFlags::KBPS | meter::MeterFlags::BURST,
            meter: v13::MeterId(66),
            bands: bands(),
        }),
        MeterMod(v13::MeterMod {
            command: meter::MeterModCommand::MODIFY,
            flags: meter::MeterFlags::PKTPS,
            meter: v13::MeterId(67),
            bands: vec![
                v13::Band::Experimenter { rate: 1, burst: 2, experimenter: 3, data: vec![4; 4] },
                v13::Band::Unknown { kind: 88, body: vec![5; 12] },
            ],
        }),
        ask(Asked::Description),
        ask(Asked::Flows(filter())),
        ask(Asked::Aggregate(filter())),
        ask(Asked::Tables),
        ask(Asked::Ports { port: v13::PortNumber(5) }),
        ask(Asked::Queues { port: v13::PortNumber(5), queue: QueueId(15) }),
        ask(Asked::Groups { group: v13::GroupId(55) }),
        ask(Asked::GroupDescriptions),
        ask(Asked::GroupFeatures),
        ask(Asked::Meters { meter: v13::MeterId(66) }),
        ask(Asked::MeterConfigs { meter: v13::MeterId(66) }),
        ask(Asked::MeterFeatures),
        ask(Asked::TableFeatures(vec![])),
        ask(Asked::PortDescriptions),
        ask(Asked::Experimenter { experimenter: 0x4f4e_4600, kind: 1870, data: vec![0; 16] }),
        say(Answered::Description(Box::new(multipart::Description {
            manufacturer: Text::new("maker"),
            hardware: Text::new("box"),
            software: Text::new("1.2.3"),
            serial_number: Text::new("serial"),
            datapath: Text::new("rack 3"),
        }))),
        say(Answered::Flows(vec![flow(fields(), instructions_of_1_3()), flow(vec![], vec![])])),
        say(Answered::Aggregate(multipart::Aggregate { packets: 701, bytes: 70_101, flows: 7 })),
        say(Answered::Tables(vec![table::TableStatistics {
            table: v13::TableId(0),
            active: 3,
            lookups: 801,
            matched: 800,
        }])),
        say(Answered::Ports(vec![port::PortStatistics {
            port: v13::PortNumber(5),
            received: 901,
            sent: 902,
            received_bytes: 903,
            sent_bytes: 904,
            received_dropped: 905,
            sent_dropped: 906,
            received_errors: 907,
            sent_errors: 908,
            frame_errors: 909,
            overrun_errors: 910,
            checksum_errors: 911,
            collisions: 912,
            age: AGE,
        }])),
        say(Answered::Queues(vec![v13::queue::QueueStatistics {
            port: v13::PortNumber(5),
            queue: QueueId(15),
            sent_bytes: 1001,
            sent: 1002,
            sent_errors: 1003,
            age: AGE,
        }])),
        say(Answered::Groups(vec![group::GroupStatistics {
            group: v13::GroupId(55),
            references: 2,
            packets: 1101,
            bytes: 110_101,
            age: AGE,
            buckets: vec![
                group::BucketStatistics { packets: 1102, bytes: 110_202 },
                group::BucketStatistics { packets: 1103, bytes: 110_303 },
            ],
        }])),
        say(Answered::GroupDescriptions(vec![group::GroupDescription {
            kind: group::GroupType::SELECT,
            group: v13::GroupId(55),
            buckets: buckets(),
        }])),
        say(Answered::GroupFeatures(group::GroupFeatures {
            types: group::GroupTypes::ALL | group::GroupTypes::FF,
            capabilities: group::GroupCapabilities::SELECT_WEIGHT | group::GroupCapabilities::CHAINING,
            max_all: 1201,
            max_select: 1202,
            max_indirect: 1203,
            max_fast_failover: 1204,
            actions_all: v13::switch::ActionTypes::OUTPUT,
            actions_select: v13::switch::ActionTypes::GROUP,
            actions_indirect: v13::switch::ActionTypes::SET_QUEUE,
            actions_fast_failover: v13::switch::ActionTypes::PUSH_MPLS | v13::switch::ActionTypes::POP_MPLS,
        })),
        say(Answered::Meters(vec![meter::MeterStatistics {
            meter: v13::MeterId(66),
            flows: 4,
            packets: 1301,
            bytes: 130_101,
            age: AGE,
            bands: vec![meter::BandStatistics { packets: 1302, bytes: 130_202 }],
        }])),
        say(Answered::MeterConfigs(vec![meter::MeterConfig {
            flags: meter::MeterFlags::KBPS | meter::MeterFlags::BURST,
            meter: v13::MeterId(66),
            bands: bands(),
        }])),
        say(Answered::MeterFeatures(meter::MeterFeatures {
            max_meters: 1401,
            band_types: meter::BandTypes::DROP | meter::BandTypes::DSCP_REMARK,
            capabilities: meter::MeterCapabilities::KBPS | meter::MeterCapabilities::STATS,
            max_bands: 14,
            max_colors: 15,
        })),
        say(Answered::TableFeatures(table_features())),
        say(Answered::PortDescriptions(ports_of_1_3())),
        say(Answered::Experimenter { experimenter: 0x4f4e_4600, kind: 1870, data: vec![0; 4] }),
        say(Answered::Unknown { kind: 999, body: vec![1, 2, 3] }),
        Unknown { kind: 200, body: b"from later".to_vec() },
    ];
    bodies.extend(fields_of_1_3().into_iter().map(simple));
    bodies.into_iter().enumerate().map(|(xid, body)| v13::Message { xid: 0x200 + xid as u32, body }).collect()
}
