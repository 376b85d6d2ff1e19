//! Messages in the words of `ovs-ofctl ofp-parse`, field by field: what of a message is not said here, Open vSwitch does not
//! say either.

use plait_model_wire::openflow::v10::{self, statistics};
use plait_model_wire::openflow::v13::{self, group, meter, multipart, oxm};
use plait_model_wire::openflow::{Age, BufferId, Hello, Message, hello, queue};
use std::fmt::{Display, LowerHex};

/// A message's lines. Nothing, if it is one that Open vSwitch does not read or says in another manner.
pub fn of(message: &Message) -> Option<String> {
    let text = match message {
        Message::V10(message) => {
            format!("{} (xid={:#x}):{}", name_of_1_0(&message.body)?, message.xid, of_1_0(&message.body)?)
        }
        Message::V13(message) => {
            format!(
                "{} (OF1.3) (xid={:#x}):{}",
                name_of_1_3(&message.body)?,
                message.xid,
                of_1_3(&message.body)?
            )
        }
    };
    Some(text)
}

/// An error's first line; nothing of what is none, or of a reason without a name.
pub fn reason_of(message: &Message) -> Option<String> {
    match message {
        Message::V10(v10::Message { xid, body: v10::Body::Error(said) }) => {
            Some(format!("OFPT_ERROR (xid={xid:#x}): {}", said.reason.name()?))
        }
        Message::V13(v13::Message { xid, body: v13::Body::Error(said) }) => {
            Some(format!("OFPT_ERROR (OF1.3) (xid={xid:#x}): {}", said.reason.name()?))
        }
        _ => None,
    }
}

/// The same on one line, with one space wherever there are some.
pub fn on_a_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn name_of_1_0(body: &v10::Body) -> Option<String> {
    const NAMES: [&str; 22] = [
        "HELLO",
        "ERROR",
        "ECHO_REQUEST",
        "ECHO_REPLY",
        "",
        "FEATURES_REQUEST",
        "FEATURES_REPLY",
        "GET_CONFIG_REQUEST",
        "GET_CONFIG_REPLY",
        "SET_CONFIG",
        "PACKET_IN",
        "FLOW_REMOVED",
        "PORT_STATUS",
        "PACKET_OUT",
        "FLOW_MOD",
        "PORT_MOD",
        "",
        "",
        "BARRIER_REQUEST",
        "BARRIER_REPLY",
        "QUEUE_GET_CONFIG_REQUEST",
        "QUEUE_GET_CONFIG_REPLY",
    ];
    const PARTS: [&str; 6] = ["DESC", "FLOW", "AGGREGATE", "TABLE", "PORT", "QUEUE"];
    match body {
        v10::Body::StatisticsRequest(part) => {
            Some(format!("OFPST_{} request", PARTS.get(usize::from(part.body.kind()))?))
        }
        v10::Body::StatisticsReply(part) => {
            Some(format!("OFPST_{} reply", PARTS.get(usize::from(part.body.kind()))?))
        }
        v10::Body::Vendor { .. } => None,
        body => Some(format!("OFPT_{}", NAMES.get(usize::from(body.kind()))?)),
    }
}

fn name_of_1_3(body: &v13::Body) -> Option<String> {
    const NAMES: [&str; 30] = [
        "HELLO",
        "ERROR",
        "ECHO_REQUEST",
        "ECHO_REPLY",
        "",
        "FEATURES_REQUEST",
        "FEATURES_REPLY",
        "GET_CONFIG_REQUEST",
        "GET_CONFIG_REPLY",
        "SET_CONFIG",
        "PACKET_IN",
        "FLOW_REMOVED",
        "PORT_STATUS",
        "PACKET_OUT",
        "FLOW_MOD",
        "GROUP_MOD",
        "PORT_MOD",
        "TABLE_MOD",
        "",
        "",
        "BARRIER_REQUEST",
        "BARRIER_REPLY",
        "QUEUE_GET_CONFIG_REQUEST",
        "QUEUE_GET_CONFIG_REPLY",
        "ROLE_REQUEST",
        "ROLE_REPLY",
        "GET_ASYNC_REQUEST",
        "GET_ASYNC_REPLY",
        "SET_ASYNC",
        "METER_MOD",
    ];
    const PARTS: [&str; 14] = [
        "DESC",
        "FLOW",
        "AGGREGATE",
        "TABLE",
        "PORT",
        "QUEUE",
        "GROUP",
        "GROUP_DESC",
        "GROUP_FEATURES",
        "METER",
        "METER_CONFIG",
        "METER_FEATURES",
        "TABLE_FEATURES",
        "PORT_DESC",
    ];
    match body {
        v13::Body::MultipartRequest(part) => {
            Some(format!("OFPST_{} request", PARTS.get(usize::from(part.body.kind()))?))
        }
        v13::Body::MultipartReply(part) => {
            Some(format!("OFPST_{} reply", PARTS.get(usize::from(part.body.kind()))?))
        }
        v13::Body::Experimenter { .. } => None,
        body => Some(format!("OFPT_{}", NAMES.get(usize::from(body.kind()))?)),
    }
}

fn of_1_0(body: &v10::Body) -> Option<String> {
    use v10::Body::*;
    let port = |number: &v10::PortNumber| number_of(number.name(), number.0);
    Some(match body {
        Hello(said) => hello(said, 1)?,
        Error(said) => return error(said.reason.name()?, &said.data),
        EchoRequest(data) | EchoReply(data) => echo(data)?,
        FeaturesRequest | ConfigRequest | BarrierRequest | BarrierReply => String::new(),
        Features(said) => {
            const ACTIONS: [&str; 12] = [
                "output",
                "set_vlan_vid",
                "set_vlan_pcp",
                "strip_vlan",
                "mod_dl_src",
                "mod_dl_dst",
                "mod_nw_src",
                "mod_nw_dst",
                "mod_nw_tos",
                "mod_tp_src",
                "mod_tp_dst",
                "enqueue",
            ];
            // Open vSwitch names "enqueue" next to "output".
            let order = [0, 11, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
            let known = order.iter().filter(|bit| said.actions.0 >> **bit & 1 == 1);
            let actions: Vec<_> = known.map(|bit| ACTIONS[*bit]).collect();
            let mut text = format!(
                " dpid:{:016x}\nn_tables:{}, n_buffers:{}\ncapabilities: {}\nactions: {}",
                said.datapath,
                said.tables,
                said.buffers,
                spaced(said.capabilities),
                actions.join(" "),
            );
            let mut ports = said.ports.clone();
            ports.sort_by_key(|port| port.number);
            text += &ports.iter().map(port_of_1_0).collect::<String>();
            text
        }
        Config(said) | SetConfig(said) => {
            format!(" frags={} miss_send_len={}", fragments(said.fragments.0)?, said.miss_send_length)
        }
        PacketIn(said) => format!(
            " total_len={} in_port={} (via {}) data_len={} {}",
            said.total_length,
            port(&said.in_port),
            reason(said.reason.0)?,
            said.data.len(),
            buffer(said.buffer),
        ),
        FlowRemoved(said) => {
            let reason = ["idle", "hard", "delete"].get(usize::from(said.reason.0))?;
            format!(
                " {} reason={reason}{} duration{} idle{} pkts{} bytes{}",
                flow_match_of_1_0(&said.flow_match, Some(said.priority)),
                with(" cookie:", hex(said.cookie)),
                age(&said.age),
                said.idle_timeout,
                said.packets,
                said.bytes,
            )
        }
        PortStatus(said) => {
            format!(" {}:{}", ["ADD", "DEL", "MOD"].get(usize::from(said.reason.0))?, port_of_1_0(&said.port))
        }
        PacketOut(said) => format!(
            " in_port={} actions={} {}",
            port(&said.in_port),
            actions_of_1_0(&said.actions),
            if said.buffer == BufferId::NO_BUFFER {
                format!("data_len={}", said.data.len())
            } else {
                buffer(said.buffer)
            },
        ),
        FlowMod(said) => {
            let mut text = format!(
                " {} {}",
                command(said.command.0)?,
                flow_match_of_1_0(&said.flow_match, Some(said.priority))
            );
            text += &with(" cookie:", hex(said.cookie));
            text += &with(" idle:", decimal(said.idle_timeout));
            text += &with(" hard:", decimal(said.hard_timeout));
            text +=
                &with(" buf:", (said.buffer != BufferId::NO_BUFFER).then(|| format!("{:#x}", said.buffer.0)));
            text +=
                &with(" out_port:", (said.out_port != v10::PortNumber::NONE).then(|| port(&said.out_port)));
            text + &flow_flags(said.flags) + &format!(" actions={}", actions_of_1_0(&said.actions))
        }
        PortMod(said) => format!(
            " port: {}: addr:{}\nconfig: {}\nmask:   {}\nadvertise: {}",
            said.number,
            said.address,
            or_nothing(said.config),
            or_nothing(said.mask),
            unless_unchanged(features_of_1_0(said.advertise)),
        ),
        StatisticsRequest(said) => {
            use statistics::Asked::*;
            let filter = |said: &statistics::FlowFilter| {
                let table = (said.table != v10::TableId::ALL).then(|| said.table.0.to_string());
                let out = (said.out_port != v10::PortNumber::NONE).then(|| port(&said.out_port));
                let flow_match = flow_match_of_1_0(&said.flow_match, None);
                format!(
                    "{}{}{}",
                    with(" table=", table),
                    with(" out_port=", out),
                    with(" ", some(flow_match))
                )
            };
            match &said.body {
                Description | Tables => String::new(),
                Flows(said) | Aggregate(said) => filter(said),
                Ports { port: number } => format!(" port_no={}", port(number)),
                Queues { port: number, queue } => format!(" port={} queue={}", port(number), queue.0),
                Vendor { .. } | Unknown { .. } => return None,
            }
        }
        StatisticsReply(said) => {
            let more = if said.flags == statistics::StatisticsFlags::MORE { " [more]" } else { "" };
            more.to_owned() + &answered_of_1_0(&said.body)?
        }
        QueueConfigRequest(said) => format!(" port={}", port(&said.port)),
        QueueConfig(said) => {
            let queues = said.queues.iter().map(|queue| promise(queue.id.0, &queue.properties));
            format!(" port={}\n{}", port(&said.port), queues.collect::<Option<Vec<_>>>()?.join("\n"))
        }
        Vendor { .. } | Unknown { .. } => return None,
    })
}

fn answered_of_1_0(said: &statistics::Answered) -> Option<String> {
    use statistics::Answered::*;
    let port = |number: &v10::PortNumber| number_of(number.name(), number.0);
    Some(match said {
        Description(said) => format!(
            "\nManufacturer: {}\nHardware: {}\nSoftware: {}\nSerial Num: {}\nDP Description: {}",
            said.manufacturer, said.hardware, said.software, said.serial_number, said.datapath,
        ),
        Flows(all) => lines(all.iter().map(|flow| {
            let mut text = flow_statistics(flow.cookie, &flow.age, flow.table.0, flow.packets, flow.bytes);
            text += &with(", idle_timeout=", decimal(flow.idle_timeout));
            text += &with(", hard_timeout=", decimal(flow.hard_timeout));
            let flow_match = flow_match_of_1_0(&flow.flow_match, Some(flow.priority));
            text + &with(", ", some(flow_match.clone()))
                + if flow_match.is_empty() { ", " } else { " " }
                + &format!("actions={}", actions_of_1_0(&flow.actions))
        })),
        Aggregate(said) => aggregate(said.packets, said.bytes, said.flows),
        Ports(all) => {
            let ports = all.iter().map(|one| {
                port_statistics(
                    &port(&one.port),
                    [
                        one.received,
                        one.received_bytes,
                        one.received_dropped,
                        one.received_errors,
                        one.frame_errors,
                        one.overrun_errors,
                        one.checksum_errors,
                        one.sent,
                        one.sent_bytes,
                        one.sent_dropped,
                        one.sent_errors,
                        one.collisions,
                    ],
                )
            });
            format!(" {} ports{}", all.len(), lines(ports))
        }
        Queues(all) => {
            let queues = all.iter().map(|one| {
                format!(
                    "port {} queue {}: bytes={}, pkts={}, errors={}, duration=?",
                    port(&one.port),
                    one.queue.0,
                    counted(one.sent_bytes),
                    counted(one.sent),
                    counted(one.sent_errors),
                )
            });
            format!(" {} queues{}", all.len(), lines(queues))
        }
        Tables(all) => {
            let tables = all.iter().map(|one| {
                // What an ordinary switch can leave open, it says by fields that it also has under other names.
                let matching = (one.wildcards == v10::Wildcards::ALL).then_some(
                    "exact match or wildcard: in_port eth_{src,dst,type} vlan_{vid,pcp} ip_{src,dst} \
                     nw_{proto,tos} tcp_{src,dst}",
                )?;
                let can = format!("\nmax_entries={}\nmatching:\n{matching}", one.max_entries);
                Some((
                    one.table.0,
                    one.name.to_string(),
                    [u64::from(one.active), one.lookups, one.matched],
                    can,
                ))
            });
            table_statistics(&tables.collect::<Option<Vec<_>>>()?)
        }
        Vendor { .. } | Unknown { .. } => return None,
    })
}

fn of_1_3(body: &v13::Body) -> Option<String> {
    use v13::Body::*;
    Some(match body {
        Hello(said) => hello(said, 4)?,
        Error(said) => return error(said.reason.name()?, &said.data),
        EchoRequest(data) | EchoReply(data) => echo(data)?,
        FeaturesRequest | ConfigRequest | BarrierRequest | BarrierReply | AsyncRequest => String::new(),
        Features(said) => format!(
            " dpid:{:016x}\nn_tables:{}, n_buffers:{}{}\ncapabilities: {}",
            said.datapath,
            said.tables,
            said.buffers,
            with(", auxiliary_id:", decimal(said.auxiliary)),
            spaced(said.capabilities),
        ),
        Config(said) | SetConfig(said) => {
            format!(" frags={} miss_send_len={}", fragments(said.fragments.0)?, said.miss_send_length)
        }
        PacketIn(said) => format!(
            "{} cookie={:#x} total_len={} {} (via {}) data_len={} {}",
            with(" table_id=", decimal(said.table.0)),
            said.cookie,
            said.total_length,
            fields(said.flow_match.fields(), None)?,
            reason(said.reason.0)?,
            said.data.len(),
            buffer(said.buffer),
        ),
        FlowRemoved(said) => {
            let reason = ["idle", "hard", "delete", "group_delete"].get(usize::from(said.reason.0))?;
            let mut text = format!(
                " {} reason={reason} table_id={}{} duration{} idle{}",
                fields(said.flow_match.fields(), Some(said.priority))?,
                said.table.0,
                with(" cookie:", hex(said.cookie)),
                age(&said.age),
                said.idle_timeout,
            );
            text += &with(" hard", decimal(said.hard_timeout));
            text + &format!(" pkts{} bytes{}", said.packets, said.bytes)
        }
        PortStatus(said) => {
            format!(" {}:{}", ["ADD", "DEL", "MOD"].get(usize::from(said.reason.0))?, port_of_1_3(&said.port))
        }
        PacketOut(said) => format!(
            " in_port={} actions={} {}",
            port(said.in_port),
            actions(&said.actions)?,
            if said.buffer == BufferId::NO_BUFFER {
                format!("data_len={}", said.data.len())
            } else {
                buffer(said.buffer)
            },
        ),
        FlowMod(v13::FlowMod { flow_match: v13::Match::Unknown { .. }, .. }) => return None,
        FlowMod(said) => {
            let mut text = format!(" {}", command(said.command.0.into())?);
            text += &with(" table:", decimal(said.table.0));
            text += &with(" ", some(fields(said.flow_match.fields(), Some(said.priority))?));
            let cookie = if said.cookie_mask == 0 {
                hex(said.cookie)
            } else {
                Some(format!("{:#x}/{:#x}", said.cookie, said.cookie_mask))
            };
            text += &with(" cookie:", cookie);
            text += &with(" idle:", decimal(said.idle_timeout));
            text += &with(" hard:", decimal(said.hard_timeout));
            text +=
                &with(" buf:", (said.buffer != BufferId::NO_BUFFER).then(|| format!("{:#x}", said.buffer.0)));
            text += &with(" out_port:", (said.out_port != v13::PortNumber::ANY).then(|| port(said.out_port)));
            text + &flow_flags(said.flags) + &format!(" actions={}", instructions(&said.instructions)?)
        }
        GroupMod(said) => format!(
            "\n{} {}",
            ["ADD", "MOD", "DEL"].get(usize::from(said.command.0))?,
            group(said.group, said.kind, &said.buckets)?,
        ),
        PortMod(said) => format!(
            " port: {}: addr:{}\nconfig: {}\nmask:   {}\nadvertise: {}",
            said.number,
            said.address,
            or_nothing(said.config),
            or_nothing(said.mask),
            unless_unchanged(features(said.advertise)),
        ),
        TableMod(said) => format!(" table_id={}", said.table.0),
        MultipartRequest(said) => asked(&said.body)?,
        MultipartReply(said) => {
            let more = if said.flags == multipart::MultipartFlags::MORE { " [more]" } else { "" };
            more.to_owned() + &answered(&said.body)?
        }
        QueueConfigRequest(said) => format!(" port={}", port(said.port)),
        QueueConfig(said) => {
            let queues = said.queues.iter().map(|queue| promise(queue.id.0, &queue.properties));
            format!(" port={}\n{}", port(said.port), queues.collect::<Option<Vec<_>>>()?.join("\n"))
        }
        RoleRequest(said) | RoleReply(said) => format!(
            " role={}{}",
            ["nochange", "equal", "primary", "secondary"].get(said.role.0 as usize)?,
            with(" generation_id=", (said.generation != u64::MAX).then(|| said.generation.to_string())),
        ),
        AsyncReply(said) | SetAsync(said) => {
            let none = "ROLE_STATUS: (off)\nTABLE_STATUS: (off)\nREQUESTFORWARD: (off)";
            let of = |packets: String, ports: String, flows: String| {
                let flows = flows.replace("idle_timeout", "idle").replace("hard_timeout", "hard");
                format!("PACKET_IN: {packets}\nPORT_STATUS: {ports}\nFLOW_REMOVED: {flows}\n{none}")
            };
            let primary = of(
                small(said.packet_in_master),
                small(said.port_status_master),
                small(said.flow_removed_master),
            );
            let secondary = of(
                small(said.packet_in_slave),
                small(said.port_status_slave),
                small(said.flow_removed_slave),
            );
            format!("\nprimary:\n{primary}\nsecondary:\n{secondary}")
        }
        MeterMod(said) => format!(
            " {} {}",
            ["ADD", "MOD", "DEL"].get(usize::from(said.command.0))?,
            meter(said.meter, said.flags, &said.bands, "\n")?,
        ),
        Experimenter { .. } | Unknown { .. } => return None,
    })
}

fn asked(said: &multipart::Asked) -> Option<String> {
    use multipart::Asked::*;
    let group_of = |group: &v13::GroupId| {
        if *group == v13::GroupId::ALL { "ALL".to_owned() } else { group.0.to_string() }
    };
    let meter_of = |meter: &v13::MeterId| {
        if *meter == v13::MeterId::ALL { "all".to_owned() } else { meter.0.to_string() }
    };
    Some(match said {
        Description | Tables | GroupFeatures | MeterFeatures => String::new(),
        Flows(said) | Aggregate(said) => {
            let table = (said.table != v13::TableId::ALL).then(|| said.table.0.to_string());
            let out = (said.out_port != v13::PortNumber::ANY).then(|| port(said.out_port));
            let flow_match = some(fields(said.flow_match.fields(), None)?);
            format!("{}{}{}", with(" table=", table), with(" out_port=", out), with(" ", flow_match))
        }
        Ports { port: number } => format!(" port_no={}", port(*number)),
        Queues { port: number, queue } => format!(" port={} queue={}", port(*number), queue.0),
        Groups { group } => format!(" group_id={}", group_of(group)),
        GroupDescriptions => " group_id=ALL".to_owned(),
        Meters { meter } | MeterConfigs { meter } => format!(" meter={}", meter_of(meter)),
        PortDescriptions => " port=ANY".to_owned(),
        TableFeatures(said) if said.is_empty() => String::new(),
        TableFeatures(_) | Experimenter { .. } | Unknown { .. } => return None,
    })
}

fn answered(said: &multipart::Answered) -> Option<String> {
    use multipart::Answered::*;
    Some(match said {
        Description(said) => format!(
            "\nManufacturer: {}\nHardware: {}\nSoftware: {}\nSerial Num: {}\nDP Description: {}",
            said.manufacturer, said.hardware, said.software, said.serial_number, said.datapath,
        ),
        Flows(all) => {
            let flows = all.iter().map(|flow| {
                let mut text =
                    flow_statistics(flow.cookie, &flow.age, flow.table.0, flow.packets, flow.bytes);
                text += &with(", idle_timeout=", decimal(flow.idle_timeout));
                text += &with(", hard_timeout=", decimal(flow.hard_timeout));
                let flags = flow_flags(flow.flags);
                let flow_match = fields(flow.flow_match.fields(), Some(flow.priority))?;
                let between = match (flags.is_empty(), flow_match.is_empty()) {
                    (true, true) => ", ".to_owned(),
                    (true, false) => format!(", {flow_match} "),
                    (false, true) => format!(",{flags} "),
                    (false, false) => format!(",{flags} {flow_match} "),
                };
                Some(format!("{text}{between}actions={}", instructions(&flow.instructions)?))
            });
            lines(flows.collect::<Option<Vec<_>>>()?.into_iter())
        }
        Aggregate(said) => aggregate(said.packets, said.bytes, said.flows),
        Ports(all) => {
            let ports = all.iter().map(|one| {
                let counts = port_statistics(
                    &port(one.port),
                    [
                        one.received,
                        one.received_bytes,
                        one.received_dropped,
                        one.received_errors,
                        one.frame_errors,
                        one.overrun_errors,
                        one.checksum_errors,
                        one.sent,
                        one.sent_bytes,
                        one.sent_dropped,
                        one.sent_errors,
                        one.collisions,
                    ],
                );
                format!("{counts}\nduration={}", age(&one.age))
            });
            format!(" {} ports{}", all.len(), lines(ports))
        }
        Queues(all) => {
            let queues = all.iter().map(|one| {
                format!(
                    "port {} queue {}: bytes={}, pkts={}, errors={}, duration={}",
                    port(one.port),
                    one.queue.0,
                    counted(one.sent_bytes),
                    counted(one.sent),
                    counted(one.sent_errors),
                    age(&one.age),
                )
            });
            format!(" {} queues{}", all.len(), lines(queues))
        }
        Groups(all) => lines(all.iter().map(|one| {
            let buckets = one.buckets.iter().enumerate().map(|(at, bucket)| {
                format!(",bucket{at}:packet_count={},byte_count={}", bucket.packets, bucket.bytes)
            });
            format!(
                "group_id={},duration={},ref_count={},packet_count={},byte_count={}{}",
                one.group,
                age(&one.age),
                one.references,
                one.packets,
                one.bytes,
                buckets.collect::<String>(),
            )
        })),
        GroupDescriptions(all) => {
            let groups = all.iter().map(|one| group(one.group, one.kind, &one.buckets));
            lines(groups.collect::<Option<Vec<_>>>()?.into_iter())
        }
        GroupFeatures(said) => {
            let mut text = format!(
                "\nGroup table:\nTypes:  {:#x}\nCapabilities:  {:#x}",
                said.types.0, said.capabilities.0
            );
            let each = [
                ("all", said.max_all, said.actions_all),
                ("select", said.max_select, said.actions_select),
                ("indirect", said.max_indirect, said.actions_indirect),
                ("fast failover", said.max_fast_failover, said.actions_fast_failover),
            ];
            for (at, (name, max, actions)) in each.into_iter().enumerate() {
                if said.types.0 >> at & 1 == 1 {
                    text +=
                        &format!("\n{name} group:\nmax_groups={max:#x}\nactions: {}", action_types(actions));
                }
            }
            text
        }
        Meters(all) => lines(all.iter().map(|one| {
            let bands =
                one.bands.iter().enumerate().map(|(at, band)| {
                    format!("\n{at}: packet_count:{} byte_count:{}", band.packets, band.bytes)
                });
            format!(
                "meter:{} flow_count:{} packet_in_count:{} byte_in_count:{} duration:{} bands:{}",
                one.meter.0,
                one.flows,
                one.packets,
                one.bytes,
                age(&one.age),
                bands.collect::<String>(),
            )
        })),
        MeterConfigs(all) => {
            let meters = all.iter().map(|one| meter(one.meter, one.flags, &one.bands, "\n"));
            lines(meters.collect::<Option<Vec<_>>>()?.into_iter())
        }
        MeterFeatures(said) => format!(
            "\nmax_meter:{} max_bands:{} max_color:{}\nband_types: {}\ncapabilities: {}",
            said.max_meters,
            said.max_bands,
            said.max_colors,
            or_nothing_small(said.band_types),
            or_nothing_small(said.capabilities),
        ),
        PortDescriptions(all) => {
            let mut ports = all.clone();
            ports.sort_by_key(|port| port.number);
            ports.iter().map(port_of_1_3).collect()
        }
        Tables(all) => {
            let tables = all.iter().map(|one| {
                let counts = [u64::from(one.active), one.lookups, one.matched];
                (one.table.0, String::new(), counts, String::new())
            });
            table_statistics(&tables.collect::<Vec<_>>())
        }
        // Said in a manner of its own: `tables`.
        TableFeatures(_) | Experimenter { .. } | Unknown { .. } => return None,
    })
}

/// Tables, each with its number, its name, how many flows, look-ups and matches there were, and what it can do. What is like the one
/// before is not said again.
fn table_statistics(all: &[(u8, String, [u64; 3], String)]) -> String {
    let mut text = String::new();
    let mut ditto: Option<(u8, u8)> = None;
    let end = |text: &mut String, ditto: Option<(u8, u8)>| match ditto {
        Some((first, last)) if first == last => *text += &format!("\ntable {first}: ditto"),
        Some((first, last)) => *text += &format!("\ntables {first}...{last}: ditto"),
        None => {}
    };
    for (place, (number, name, counts, can)) in all.iter().enumerate() {
        let before = place.checked_sub(1).map(|before| &all[before]);
        let is_as_able = before.is_some_and(|(_, _, _, before)| before == can);
        let is_same = is_as_able && before.is_some_and(|(_, _, before, _)| before == counts);
        if is_same && name.is_empty() {
            ditto = Some((ditto.map_or(*number, |(first, _)| first), *number));
            continue;
        }
        end(&mut text, ditto.take());
        text += &format!(
            "\ntable {number}{}:",
            with(" ", some(name.clone()).map(|name| format!("(\"{name}\")")))
        );
        if is_same {
            text += " ditto";
            continue;
        }
        let [active, lookups, matched] = counts;
        text += &format!("\nactive={active}, lookup={lookups}, matched={matched}");
        text += if is_as_able && !can.is_empty() { "\n(same features)" } else { can };
    }
    end(&mut text, ditto);
    text
}

fn hello(said: &Hello, version: u8) -> Option<String> {
    let spoken: Vec<String> = match said.elements.first() {
        Some(hello::Element::Versions(words)) => {
            let words = words.first().copied()?;
            (1..32)
                .filter(|version| words >> version & 1 == 1)
                .map(|version| format!("{version:#04x}"))
                .collect()
        }
        Some(hello::Element::Unknown { .. }) => return None,
        None => (1..=version).map(|version| format!("{version:#04x}")).collect(),
    };
    (said.elements.len() <= 1 && said.rest.is_empty())
        .then(|| format!("\nversion bitmap: {}", spoken.join(", ")))
}

/// Of what was refused Open vSwitch says what it says of any message.
fn error(name: &str, refused: &[u8]) -> Option<String> {
    let inner = Message::parse(refused).ok()?;
    Some(format!(" {name}\n{}", of(&inner)?))
}

fn echo(data: &[u8]) -> Option<String> {
    let text = |byte: &u8| if (0x20..0x7f).contains(byte) { char::from(*byte) } else { '.' };
    let shown = || {
        let digits: Vec<String> = data.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("\n00000000  {:<47} |{:<16}|", digits.join(" "), data.iter().map(text).collect::<String>())
    };
    // Longer ones take several lines, which nothing here needs.
    (data.len() <= 8).then(|| {
        format!(" {} bytes of payload{}", data.len(), if data.is_empty() { String::new() } else { shown() })
    })
}

fn fragments(number: u16) -> Option<&'static str> {
    ["normal", "drop", "reassemble"].get(usize::from(number)).copied()
}

fn reason(number: u8) -> Option<&'static str> {
    ["no_match", "action", "invalid_ttl"].get(usize::from(number)).copied()
}

fn command(number: u16) -> Option<&'static str> {
    ["ADD", "MOD", "MOD_STRICT", "DEL", "DEL_STRICT"].get(usize::from(number)).copied()
}

fn buffer(buffer: BufferId) -> String {
    if buffer == BufferId::NO_BUFFER {
        "(unbuffered)".to_owned()
    } else {
        format!("buffer={:#010x}", buffer.0)
    }
}

/// `before` and a text, if there is one.
fn with(before: &str, text: Option<String>) -> String {
    text.map_or_else(String::new, |text| format!("{before}{text}"))
}

fn some(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

fn hex<T: LowerHex + Default + PartialEq>(number: T) -> Option<String> {
    (number != T::default()).then(|| format!("{number:#x}"))
}

fn decimal<T: Display + Default + PartialEq>(number: T) -> Option<String> {
    (number != T::default()).then(|| number.to_string())
}

fn number_of(name: Option<&'static str>, number: impl Display) -> String {
    name.map_or_else(|| number.to_string(), str::to_owned)
}

fn port(number: v13::PortNumber) -> String {
    number_of(number.name(), number.0)
}

/// Names of flags with spaces between them.
fn spaced(flags: impl Display) -> String {
    flags.to_string().replace('|', " ")
}

fn or_nothing(flags: impl Display) -> String {
    spaced(flags).replace("RATE_", "")
}

/// In small letters.
fn small(flags: impl Display) -> String {
    match spaced(flags).to_lowercase().as_str() {
        "0" => "(off)".to_owned(),
        names => names.to_owned(),
    }
}

fn or_nothing_small(flags: impl Display) -> String {
    small(flags).replace("(off)", "0")
}

fn flow_flags(flags: impl Display) -> String {
    let names = spaced(flags)
        .to_lowercase()
        .replace("pkt_counts", "packet_counts")
        .replace("byt_counts", "byte_counts");
    with(" ", some(names).filter(|names| names != "0"))
}

fn lines(all: impl Iterator<Item = String>) -> String {
    all.map(|line| format!("\n{line}")).collect()
}

/// Seconds, with three decimals, six or nine, whatever it takes.
fn age(age: &Age) -> String {
    let whole = age.seconds;
    match age.nanoseconds {
        u32::MAX => "?".to_owned(),
        0 => format!("{whole}s"),
        part if part % 1_000_000 == 0 => format!("{whole}.{:03}s", part / 1_000_000),
        part if part % 1000 == 0 => format!("{whole}.{:06}s", part / 1000),
        part => format!("{whole}.{part:09}s"),
    }
}

fn flow_statistics(cookie: u64, existed: &Age, table: u8, packets: u64, bytes: u64) -> String {
    format!(
        "cookie={cookie:#x}, duration={}, table={table}, n_packets={packets}, n_bytes={bytes}",
        age(existed)
    )
}

fn aggregate(packets: u64, bytes: u64, flows: u32) -> String {
    format!(" packet_count={packets} byte_count={bytes} flow_count={flows}")
}

fn port_statistics(port: &str, counts: [u64; 12]) -> String {
    let [a, b, c, d, e, f, g, h, i, j, k, l] = counts.map(counted);
    format!(
        "port {port:>2}: rx pkts={a}, bytes={b}, drop={c}, errs={d}, frame={e}, over={f}, crc={g}\n\
         tx pkts={h}, bytes={i}, drop={j}, errs={k}, coll={l}"
    )
}

fn counted(count: u64) -> String {
    if count == u64::MAX { "?".to_owned() } else { count.to_string() }
}

fn promise(id: u32, properties: &[queue::Property]) -> Option<String> {
    let percent = |rate: &queue::Rate| format!("{}.{}%", rate.0 / 10, rate.0 % 10);
    let each = properties.iter().map(|property| match property {
        queue::Property::MinRate { rate } => Some(format!("min_rate:{}", percent(rate))),
        queue::Property::MaxRate { rate } => Some(format!("max_rate:{}", percent(rate))),
        _ => None,
    });
    Some(format!("queue {id}: {}", each.collect::<Option<Vec<_>>>()?.join(" ")))
}

fn features_of_1_0(features: v10::port::PortFeatures) -> String {
    link(features.to_string())
}

fn features(features: v13::port::PortFeatures) -> String {
    link(features.to_string())
}

fn unless_unchanged(names: String) -> String {
    if names == "0" { "UNCHANGED".to_owned() } else { names }
}

fn link(names: String) -> String {
    let names =
        names.replace("RATE_", "").replace("_HD", "-HD").replace("_FD", "-FD").replace("AUTONEG", "AUTO_NEG");
    names.replace("PAUSE_ASYM", "AUTO_PAUSE_ASYM").replace('|', " ")
}

/// The fastest of the rates of a link, in Mbit/s.
fn speed(names: &str) -> u64 {
    let rates = [("10GB", 10_000), ("1GB", 1000), ("100MB", 100), ("10MB", 10)];
    rates
        .iter()
        .find(|(name, _)| names.split(['|', ' ']).any(|own| own.contains(&format!("RATE_{name}_"))))
        .map_or(0, |(_, rate)| *rate)
}

fn port_lines(number: &str, address: impl Display, name: impl Display, rest: [String; 6]) -> String {
    let [config, state, current, advertised, supported, peer] = rest;
    let mut text = format!("\n{number}({name}): addr:{address}\nconfig:     {config}\nstate:      {state}");
    let lines = [
        ("current:    ", current),
        ("advertised: ", advertised),
        ("supported:  ", supported),
        ("peer:       ", peer),
    ];
    for (key, value) in lines.iter().filter(|(_, value)| value != "0") {
        text += &format!("\n{key}{value}");
    }
    text
}

fn port_of_1_0(port: &v10::Port) -> String {
    let v10::Port { current, advertised, supported, peer, .. } = *port;
    let links = [current, advertised, supported, peer].map(features_of_1_0);
    let [current_link, advertised, supported_link, peer] = links;
    let number = number_of(port.number.name(), port.number.0);
    let rest =
        [or_nothing(port.config), or_nothing(port.state), current_link, advertised, supported_link, peer];
    let (now, most) = (speed(&current.to_string()), speed(&supported.to_string()));
    format!("{}\nspeed: {now} Mbps now, {most} Mbps max", port_lines(&number, port.address, port.name, rest))
}

fn port_of_1_3(of: &v13::Port) -> String {
    let [current, advertised, supported, peer] =
        [of.current, of.advertised, of.supported, of.peer].map(features);
    let rest = [or_nothing(of.config), or_nothing(of.state), current, advertised, supported, peer];
    let (now, most) = (of.current_speed / 1000, of.max_speed / 1000);
    format!(
        "{}\nspeed: {now} Mbps now, {most} Mbps max",
        port_lines(&port(of.number), of.address, of.name, rest)
    )
}

fn group(group: v13::GroupId, kind: group::GroupType, buckets: &[v13::Bucket]) -> Option<String> {
    let mut text = format!(
        "group_id={},type={}",
        group.0,
        ["all", "select", "indirect", "ff"].get(usize::from(kind.0))?
    );
    for bucket in buckets {
        let mut parts = Vec::new();
        parts.extend(
            (kind == group::GroupType::SELECT && bucket.weight != 1)
                .then(|| format!("weight:{}", bucket.weight)),
        );
        parts.extend(
            (bucket.watch_port != v13::PortNumber::ANY)
                .then(|| format!("watch_port:{}", port(bucket.watch_port))),
        );
        parts.extend(
            (bucket.watch_group != v13::GroupId::ANY)
                .then(|| format!("watch_group:{}", bucket.watch_group.0)),
        );
        parts.push(format!("actions={}", actions(&bucket.actions)?));
        text += &format!(",bucket={}", parts.join(","));
    }
    Some(text)
}

fn meter(
    meter: v13::MeterId,
    flags: meter::MeterFlags,
    bands: &[v13::Band],
    between: &str,
) -> Option<String> {
    let mut text = format!("meter={} {} bands=", meter.0, spaced(flags).to_lowercase());
    for band in bands {
        let burst = |burst: &u32| {
            with(" burst_size=", flags.contains(meter::MeterFlags::BURST).then(|| burst.to_string()))
        };
        text += &match band {
            v13::Band::Drop { rate, burst: most } => format!("{between}type=drop rate={rate}{}", burst(most)),
            v13::Band::DscpRemark { rate, burst: most, precedence } => {
                format!("{between}type=dscp_remark rate={rate}{} prec_level={precedence}", burst(most))
            }
            v13::Band::Experimenter { .. } | v13::Band::Unknown { .. } => return None,
        };
    }
    Some(text)
}

fn action_types(types: v13::switch::ActionTypes) -> String {
    // In its order, not in that of the numbers.
    let known = [
        (0, "output"),
        (22, "group"),
        (25, "set_field"),
        (18, "strip_vlan"),
        (17, "push_vlan"),
        (23, "mod_nw_ttl"),
        (24, "dec_ttl"),
        (15, "set_mpls_ttl"),
        (16, "dec_mpls_ttl"),
        (19, "push_mpls"),
        (20, "pop_mpls"),
        (21, "set_queue"),
    ];
    let names = known.iter().filter(|(bit, _)| types.0 >> bit & 1 == 1).map(|(_, name)| *name);
    names.collect::<Vec<_>>().join(" ")
}

fn controller(port: &str, max_length: u16) -> String {
    match port {
        "CONTROLLER" => format!("CONTROLLER:{max_length}"),
        name if name.chars().all(|digit| digit.is_ascii_digit()) => format!("output:{name}"),
        name => name.to_owned(),
    }
}

fn or_drop(actions: Vec<String>) -> String {
    if actions.is_empty() { "drop".to_owned() } else { actions.join(",") }
}

fn actions_of_1_0(actions: &[v10::Action]) -> String {
    use v10::Action::*;
    let each = actions.iter().map(|action| match action {
        Output { port, max_length } => controller(&number_of(port.name(), port.0), *max_length),
        SetVlanId { id } => format!("mod_vlan_vid:{id}"),
        SetVlanPriority { priority } => format!("mod_vlan_pcp:{priority}"),
        StripVlan => "strip_vlan".to_owned(),
        SetEthernetSource { address } => format!("mod_dl_src:{address}"),
        SetEthernetDestination { address } => format!("mod_dl_dst:{address}"),
        SetIpSource { address } => format!("mod_nw_src:{address}"),
        SetIpDestination { address } => format!("mod_nw_dst:{address}"),
        SetTypeOfService { tos } => format!("mod_nw_tos:{tos}"),
        SetSourcePort { port } => format!("mod_tp_src:{port}"),
        SetDestinationPort { port } => format!("mod_tp_dst:{port}"),
        Enqueue { port, queue } => format!("enqueue:{}:{}", number_of(port.name(), port.0), queue.0),
        Vendor { vendor: 0x2320, data } => resubmit(data),
        other => panic!("{other:?} is none of Open vSwitch's"),
    });
    or_drop(each.collect())
}

/// Nicira's first action, the only one of theirs that is used here.
fn resubmit(data: &[u8]) -> String {
    match data {
        [0, 1, high, low, ..] => format!("resubmit:{}", u16::from_be_bytes([*high, *low])),
        other => panic!("{other:?} is another of Nicira's actions"),
    }
}

fn action_list(actions: &[v13::Action]) -> Option<Vec<String>> {
    use v13::Action::*;
    let each = actions.iter().map(|action| {
        Some(match action {
            Output { port: number, max_length } => controller(&port(*number), max_length.0),
            SetMplsTtl { ttl } => format!("set_mpls_ttl({ttl})"),
            DecMplsTtl => "dec_mpls_ttl".to_owned(),
            PushVlan { ether_type } => format!("push_vlan:{ether_type:#06x}"),
            PopVlan => "pop_vlan".to_owned(),
            PushMpls { ether_type } => format!("push_mpls:{ether_type:#06x}"),
            PopMpls { ether_type } => format!("pop_mpls:{ether_type:#06x}"),
            SetQueue { queue } => format!("set_queue:{}", queue.0),
            Group { group } => format!("group:{}", group.0),
            SetNwTtl { ttl } => format!("mod_nw_ttl:{ttl}"),
            DecNwTtl => "dec_ttl".to_owned(),
            SetField(field) => set_field(field)?,
            Experimenter { experimenter: 0x2320, data } => resubmit(data),
            CopyTtlOut | CopyTtlIn | PushPbb { .. } | PopPbb | Experimenter { .. } | Unknown { .. } => {
                return None;
            }
        })
    });
    each.collect()
}

fn set_field(field: &v13::Oxm) -> Option<String> {
    use v13::Oxm::*;
    let value = match field {
        VlanVid(vlan) => vlan.value.0.to_string(),
        VlanPcp(number) | IpEcn(number) | MplsTc(number) | IpDscp(number) => number.value.to_string(),
        EthSrc(address) | EthDst(address) | ArpSha(address) | ArpTha(address) => address.value.to_string(),
        Ipv4Src(address) | Ipv4Dst(address) | ArpSpa(address) | ArpTpa(address) => address.value.to_string(),
        Ipv6Src(address) | Ipv6Dst(address) => address.value.to_string(),
        TcpSrc(port) | TcpDst(port) | UdpSrc(port) | UdpDst(port) => port.value.to_string(),
        MplsLabel(number) => number.value.to_string(),
        TunnelId(number) | Metadata(number) => format!("{:#x}", number.value),
        _ => return None,
    };
    let name = field.name()?.replace("ipv4_", "ip_");
    let name = if name == "tunnel_id" { "tun_id" } else { &name };
    Some(format!("set_field:{value}->{name}"))
}

fn actions(actions: &[v13::Action]) -> Option<String> {
    action_list(actions).map(or_drop)
}

fn instructions(instructions: &[v13::Instruction]) -> Option<String> {
    use v13::Instruction::*;
    let mut parts = Vec::new();
    for instruction in instructions {
        match instruction {
            GotoTable { table } => parts.push(format!("goto_table:{}", table.0)),
            WriteMetadata { metadata, mask: u64::MAX } => parts.push(format!("write_metadata:{metadata:#x}")),
            WriteMetadata { metadata, mask } => parts.push(format!("write_metadata:{metadata:#x}/{mask:#x}")),
            WriteActions(all) => parts.push(format!("write_actions({})", actions(all)?)),
            ApplyActions(all) => parts.extend(action_list(all)?),
            ClearActions => parts.push("clear_actions".to_owned()),
            Meter { meter } => parts.push(format!("meter:{}", meter.0)),
            Experimenter { .. } | Unknown { .. } => return None,
        }
    }
    Some(or_drop(parts))
}

/// Fields by the place that Open vSwitch gives them.
struct Shown(Vec<(u8, String)>);

impl Shown {
    fn new(priority: Option<u16>) -> Self {
        // The default is not said.
        let priority = priority.filter(|priority| *priority != v13::flow_mod::DEFAULT_PRIORITY);
        Self(priority.map(|priority| (0, format!("priority={priority}"))).into_iter().collect())
    }

    fn text(mut self) -> String {
        self.0.sort_by_key(|(place, _)| *place);
        self.0.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(",")
    }
}

/// The name of EtherType and protocol together, and whether the protocol is named with it.
fn shorthand(ether_type: u16, protocol: Option<u8>) -> (Option<&'static str>, bool) {
    let (whole, known): (_, &[(u8, &str)]) = match ether_type {
        0x0800 => ("ip", &[(6, "tcp"), (17, "udp"), (132, "sctp"), (1, "icmp")]),
        0x86dd => ("ipv6", &[(6, "tcp6"), (17, "udp6"), (132, "sctp6"), (58, "icmp6")]),
        0x0806 => ("arp", &[]),
        0x8847 => ("mpls", &[]),
        _ => return (None, false),
    };
    match known.iter().find(|(number, _)| Some(*number) == protocol) {
        Some((_, name)) => (Some(name), true),
        None => (Some(whole), false),
    }
}

fn flow_match_of_1_0(said: &v10::Match, priority: Option<u16>) -> String {
    use v10::Wildcards;
    let wild = |flag| said.wildcards.contains(flag);
    let mut shown = Shown::new(priority);
    let protocol = (!wild(Wildcards::PROTOCOL)).then_some(said.protocol);
    let (name, with_protocol) =
        if wild(Wildcards::ETHER_TYPE) { (None, false) } else { shorthand(said.ether_type, protocol) };
    let arp = name == Some("arp");
    let icmp = name == Some("icmp");
    let mut put = |there: bool, place: u8, text: String| shown.0.extend(there.then_some((place, text)));
    put(name.is_some(), 1, name.unwrap_or_default().to_owned());
    put(!wild(Wildcards::IN_PORT), 4, format!("in_port={}", number_of(said.in_port.name(), said.in_port.0)));
    put(!wild(Wildcards::VLAN), 5, format!("dl_vlan={}", said.vlan));
    put(!wild(Wildcards::VLAN_PRIORITY), 6, format!("dl_vlan_pcp={}", said.vlan_priority));
    put(!wild(Wildcards::ETHERNET_SOURCE), 7, format!("dl_src={}", said.ethernet_source));
    put(!wild(Wildcards::ETHERNET_DESTINATION), 8, format!("dl_dst={}", said.ethernet_destination));
    put(!wild(Wildcards::ETHER_TYPE) && name.is_none(), 9, format!("dl_type={:#06x}", said.ether_type));
    let prefix = |wild: u32| if wild == 0 { String::new() } else { format!("/{}", 32 - wild) };
    let keys = if arp { ["arp_spa", "arp_tpa"] } else { ["nw_src", "nw_dst"] };
    let (from, to) = (said.wildcards.source_bits(), said.wildcards.destination_bits());
    put(from < 32, 10, format!("{}={}{}", keys[0], said.source, prefix(from)));
    put(to < 32, 11, format!("{}={}{}", keys[1], said.destination, prefix(to)));
    put(arp && protocol.is_some(), 12, format!("arp_op={}", said.protocol));
    put(!arp && !with_protocol && protocol.is_some(), 12, format!("nw_proto={}", said.protocol));
    put(!wild(Wildcards::TYPE_OF_SERVICE), 16, format!("nw_tos={}", said.type_of_service));
    let keys = if icmp { ["icmp_type", "icmp_code"] } else { ["tp_src", "tp_dst"] };
    put(!wild(Wildcards::SOURCE_PORT), 21, format!("{}={}", keys[0], said.source_port));
    put(!wild(Wildcards::DESTINATION_PORT), 22, format!("{}={}", keys[1], said.destination_port));
    shown.text()
}

fn fields(all: &[v13::Oxm], priority: Option<u16>) -> Option<String> {
    use v13::Oxm::*;
    let ether_type =
        all.iter().find_map(|field| if let EthType(said) = field { Some(said.value) } else { None });
    let protocol =
        all.iter().find_map(|field| if let IpProto(said) = field { Some(said.value) } else { None });
    let (name, with_protocol) =
        ether_type.map_or((None, false), |ether_type| shorthand(ether_type, protocol));
    let has_vlan = all.iter().any(
        |field| matches!(field, VlanVid(said) if said.mask.is_none() && said.value != oxm::VlanId::NONE),
    );
    let mut shown = Shown::new(priority);
    for field in all {
        let one = match field {
            TunnelId(said) => (2, format!("tun_id={}", in_hex(said))),
            Metadata(said) => (3, format!("metadata={}", in_hex(said))),
            InPort(said) => (4, format!("in_port={}", port(said.value))),
            VlanVid(said) if has_vlan => (5, format!("dl_vlan={}", said.value.0 & 0xfff)),
            VlanVid(said) => {
                let mask = said.mask.map_or(0x1fff, |mask| mask.0);
                (5, format!("vlan_tci={:#06x}/{mask:#06x}", said.value.0))
            }
            VlanPcp(said) => (6, format!("dl_vlan_pcp={}", said.value)),
            EthSrc(said) => (7, format!("dl_src={}", plainly(said))),
            EthDst(said) => (8, format!("dl_dst={}", plainly(said))),
            EthType(_) if name.is_some() => (1, name.unwrap_or_default().to_owned()),
            EthType(said) => (9, format!("dl_type={:#06x}", said.value)),
            Ipv4Src(said) => (10, format!("nw_src={}", prefix(said))),
            Ipv4Dst(said) => (11, format!("nw_dst={}", prefix(said))),
            ArpSpa(said) => (10, format!("arp_spa={}", prefix(said))),
            ArpTpa(said) => (11, format!("arp_tpa={}", prefix(said))),
            Ipv6Src(said) => (10, format!("ipv6_src={}", prefix6(said))),
            Ipv6Dst(said) => (11, format!("ipv6_dst={}", prefix6(said))),
            Ipv6Flabel(said) => (12, format!("ipv6_label={}", in_hex5(said))),
            IpProto(_) if with_protocol => continue,
            IpProto(said) => (13, format!("nw_proto={}", said.value)),
            ArpOp(said) => (13, format!("arp_op={}", said.value)),
            ArpSha(said) => (14, format!("arp_sha={}", plainly(said))),
            ArpTha(said) => (15, format!("arp_tha={}", plainly(said))),
            IpDscp(said) => (16, format!("nw_tos={}", said.value << 2)),
            IpEcn(said) => (17, format!("nw_ecn={}", said.value)),
            MplsLabel(said) => (18, format!("mpls_label={}", said.value)),
            MplsTc(said) => (19, format!("mpls_tc={}", said.value)),
            MplsBos(said) => (20, format!("mpls_bos={}", said.value)),
            TcpSrc(said) | UdpSrc(said) | SctpSrc(said) => (21, format!("tp_src={}", of_port(said))),
            TcpDst(said) | UdpDst(said) | SctpDst(said) => (22, format!("tp_dst={}", of_port(said))),
            Icmpv4Type(said) | Icmpv6Type(said) => (21, format!("icmp_type={}", said.value)),
            Icmpv4Code(said) | Icmpv6Code(said) => (22, format!("icmp_code={}", said.value)),
            Ipv6NdTarget(said) => (23, format!("nd_target={}", prefix6(said))),
            Ipv6NdSll(said) => (24, format!("nd_sll={}", plainly(said))),
            Ipv6NdTll(said) => (25, format!("nd_tll={}", plainly(said))),
            InPhyPort(_) | PbbIsid(_) | Ipv6Exthdr(_) | Other { .. } => return None,
        };
        shown.0.push(one);
    }
    Some(shown.text())
}

fn plainly<T: Display>(said: &oxm::Masked<T>) -> String {
    with("", Some(said.value.to_string())) + &with("/", said.mask.as_ref().map(ToString::to_string))
}

fn in_hex(said: &oxm::Masked<u64>) -> String {
    format!("{:#x}{}", said.value, with("/", said.mask.map(|mask| format!("{mask:#x}"))))
}

fn in_hex5(said: &oxm::Masked<u32>) -> String {
    format!("{:#07x}{}", said.value, with("/", said.mask.map(|mask| format!("{mask:#07x}"))))
}

fn of_port(said: &oxm::Masked<u16>) -> String {
    match said.mask {
        None => said.value.to_string(),
        Some(mask) => format!("{:#x}/{mask:#x}", said.value),
    }
}

fn prefix(said: &oxm::Masked<std::net::Ipv4Addr>) -> String {
    format!("{}{}", said.value, with("/", said.mask.map(|mask| u32::from(mask).leading_ones().to_string())))
}

fn prefix6(said: &oxm::Masked<std::net::Ipv6Addr>) -> String {
    format!("{}{}", said.value, with("/", said.mask.map(|mask| u128::from(mask).leading_ones().to_string())))
}

/// A flow as `ovs-ofctl dump-flows` lists it, without counts.
pub fn flow_of_1_0(flow: &v10::FlowMod) -> String {
    let flow_match = flow_match_of_1_0(&flow.flow_match, Some(flow.priority));
    format!("cookie={:#x}, {flow_match} actions={}", flow.cookie, actions_of_1_0(&flow.actions))
}

/// The same of 1.3.
pub fn flow_of_1_3(flow: &v13::FlowMod) -> Option<String> {
    let table = with(" table=", decimal(flow.table.0).map(|table| table + ","));
    let flow_match = fields(flow.flow_match.fields(), Some(flow.priority))?;
    Some(format!(
        "cookie={:#x},{table} {flow_match} actions={}",
        flow.cookie,
        instructions(&flow.instructions)?
    ))
}
