//! What messages mean in the words of os_ken's JSON.

use plait_model_wire::openflow::v13::table::Property as Feature;
use plait_model_wire::openflow::v13::{multipart, oxm};
use plait_model_wire::openflow::{Message, Text, hello, queue, v10, v13};
use serde_json::{Value, json};
use std::fmt::Display;

/// A message's meaning. Of types that os_ken has no message of, nothing.
pub fn of(message: &Message) -> Value {
    match message {
        Message::V10(message) => of_1_0(&message.body),
        Message::V13(message) => of_1_3(&message.body),
    }
}

/// Whether a field of that name is in the specification's table.
pub fn knows(field: &str) -> bool {
    oxm::FIELDS.iter().any(|(_, name, _)| *name == field)
}

fn text(value: impl Display) -> Value {
    Value::String(value.to_string())
}

fn name<const N: usize>(value: &Text<N>) -> Value {
    text(value)
}

fn base64(bytes: &[u8]) -> Value {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let at = |index: usize| u32::from(three.get(index).copied().unwrap_or_default());
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for digit in 0..4 {
            match digit <= three.len() {
                true => text.push(char::from(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize])),
                false => text.push('='),
            }
        }
    }
    Value::String(text)
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks(4).map(|word| word.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte))).collect()
}

fn each<T>(all: &[T], one: impl FnMut(&T) -> Value) -> Value {
    all.iter().map(one).collect()
}

fn of_1_0(body: &v10::Body) -> Value {
    use v10::Body::*;
    match body {
        FeaturesRequest => json!({"OFPFeaturesRequest": {}}),
        Features(said) => {
            let port = |port: &v10::Port| {
                let fields = json!({
                    "port_no": port.number.0, "hw_addr": text(port.address), "name": name(&port.name),
                    "config": port.config.0, "state": port.state.0, "curr": port.current.0,
                    "advertised": port.advertised.0, "supported": port.supported.0, "peer": port.peer.0,
                });
                (port.number.0.to_string(), json!({"OFPPhyPort": fields}))
            };
            json!({"OFPSwitchFeatures": {
                "datapath_id": said.datapath, "n_buffers": said.buffers, "n_tables": said.tables,
                "capabilities": said.capabilities.0, "actions": said.actions.0,
                "ports": Value::Object(said.ports.iter().map(port).collect()),
            }})
        }
        PacketIn(said) => json!({"OFPPacketIn": {
            "buffer_id": said.buffer.0, "total_len": said.total_length, "in_port": said.in_port.0,
            "reason": said.reason.0, "data": base64(&said.data),
        }}),
        PacketOut(said) => json!({"OFPPacketOut": {
            "buffer_id": said.buffer.0, "in_port": said.in_port.0, "actions": each(&said.actions, action_of_1_0),
            "data": base64(&said.data),
        }}),
        FlowMod(said) => {
            let m = &said.flow_match;
            let flow_match = json!({"OFPMatch": {
                "wildcards": m.wildcards.0, "in_port": m.in_port.0, "dl_src": text(m.ethernet_source),
                "dl_dst": text(m.ethernet_destination), "dl_vlan": m.vlan, "dl_vlan_pcp": m.vlan_priority,
                "dl_type": m.ether_type, "nw_tos": m.type_of_service, "nw_proto": m.protocol,
                "nw_src": text(m.source), "nw_dst": text(m.destination), "tp_src": m.source_port,
                "tp_dst": m.destination_port,
            }});
            json!({"OFPFlowMod": {
                "match": flow_match, "cookie": said.cookie, "command": said.command.0,
                "idle_timeout": said.idle_timeout, "hard_timeout": said.hard_timeout, "priority": said.priority,
                "buffer_id": said.buffer.0, "out_port": said.out_port.0, "flags": said.flags.0,
                "actions": each(&said.actions, action_of_1_0),
            }})
        }
        _ => Value::Null,
    }
}

fn nicira(data: &[u8]) -> Value {
    json!({"Nicira": u16::from_be_bytes([data[0], data[1]])})
}

fn action_of_1_0(action: &v10::Action) -> Value {
    match action {
        v10::Action::Output { port, max_length } => {
            json!({"OFPActionOutput": {"port": port.0, "max_len": max_length}})
        }
        v10::Action::Vendor { vendor: 0x2320, data } => nicira(data),
        _ => Value::Null,
    }
}

fn of_1_3(body: &v13::Body) -> Value {
    use v13::Body::*;
    match body {
        Hello(said) => json!({"OFPHello": {"elements": each(&said.elements, |element| match element {
            hello::Element::Versions(words) => {
                let spoken: Vec<u8> = (0..32).filter(|version| words[0] >> version & 1 == 1).collect();
                json!({"OFPHelloElemVersionBitmap": {"versions": spoken}})
            }
            hello::Element::Unknown { .. } => Value::Null,
        })}}),
        Error(said) => match said.experimenter() {
            Some((experimenter, data)) => json!({"OFPErrorMsg": {
                "type": said.reason.kind, "exp_type": said.reason.code, "experimenter": experimenter,
                "data": base64(data),
            }}),
            None => json!({"OFPErrorMsg": {
                "type": said.reason.kind, "code": said.reason.code, "data": base64(&said.data),
            }}),
        },
        EchoRequest(data) => json!({"OFPEchoRequest": {"data": base64(data)}}),
        EchoReply(data) => json!({"OFPEchoReply": {"data": base64(data)}}),
        Experimenter { experimenter, kind, data } => json!({"OFPExperimenter": {
            "experimenter": experimenter, "exp_type": kind, "data": base64(data),
        }}),
        FeaturesRequest => json!({"OFPFeaturesRequest": {}}),
        Features(said) => json!({"OFPSwitchFeatures": {
            "datapath_id": said.datapath, "n_buffers": said.buffers, "n_tables": said.tables,
            "auxiliary_id": said.auxiliary, "capabilities": said.capabilities.0,
        }}),
        ConfigRequest => json!({"OFPGetConfigRequest": {}}),
        Config(said) => json!({"OFPGetConfigReply": config(said)}),
        SetConfig(said) => json!({"OFPSetConfig": config(said)}),
        PacketIn(said) => json!({"OFPPacketIn": {
            "buffer_id": said.buffer.0, "total_len": said.total_length, "reason": said.reason.0,
            "table_id": said.table.0, "cookie": said.cookie, "match": flow_match(&said.flow_match),
            "data": base64(&said.data),
        }}),
        FlowRemoved(said) => json!({"OFPFlowRemoved": {
            "cookie": said.cookie, "priority": said.priority, "reason": said.reason.0, "table_id": said.table.0,
            "duration_sec": said.age.seconds, "duration_nsec": said.age.nanoseconds,
            "idle_timeout": said.idle_timeout, "hard_timeout": said.hard_timeout, "packet_count": said.packets,
            "byte_count": said.bytes, "match": flow_match(&said.flow_match),
        }}),
        PortStatus(said) => json!({"OFPPortStatus": {"reason": said.reason.0, "desc": port(&said.port)}}),
        PacketOut(said) => json!({"OFPPacketOut": {
            "buffer_id": said.buffer.0, "in_port": said.in_port.0, "actions": each(&said.actions, action),
            "data": base64(&said.data),
            "actions_len": said.actions.len() * 16,
        }}),
        FlowMod(said) => json!({"OFPFlowMod": {
            "cookie": said.cookie, "cookie_mask": said.cookie_mask, "table_id": said.table.0,
            "command": said.command.0, "idle_timeout": said.idle_timeout, "hard_timeout": said.hard_timeout,
            "priority": said.priority, "buffer_id": said.buffer.0, "out_port": said.out_port.0,
            "out_group": said.out_group.0, "flags": said.flags.0, "match": flow_match(&said.flow_match),
            "instructions": each(&said.instructions, instruction),
        }}),
        GroupMod(said) => json!({"OFPGroupMod": {
            "command": said.command.0, "type": said.kind.0, "group_id": said.group.0,
            "buckets": each(&said.buckets, bucket),
        }}),
        PortMod(said) => json!({"OFPPortMod": {
            "port_no": said.number.0, "hw_addr": text(said.address), "config": said.config.0, "mask": said.mask.0,
            "advertise": said.advertise.0,
        }}),
        TableMod(said) => json!({"OFPTableMod": {"table_id": said.table.0, "config": said.config.0}}),
        MultipartRequest(said) => with_flags(asked(&said.body), said.flags),
        MultipartReply(said) => with_flags(answered(&said.body), said.flags),
        BarrierRequest => json!({"OFPBarrierRequest": {}}),
        BarrierReply => json!({"OFPBarrierReply": {}}),
        QueueConfigRequest(said) => json!({"OFPQueueGetConfigRequest": {"port": said.port.0}}),
        QueueConfig(said) => json!({"OFPQueueGetConfigReply": {
            "port": said.port.0,
            "queues": each(&said.queues, |queue| json!({"OFPPacketQueue": {
                "queue_id": queue.id.0, "port": queue.port.0, "properties": each(&queue.properties, promise),
            }})),
        }}),
        RoleRequest(said) => {
            json!({"OFPRoleRequest": {"role": said.role.0, "generation_id": said.generation}})
        }
        RoleReply(said) => json!({"OFPRoleReply": {"role": said.role.0, "generation_id": said.generation}}),
        AsyncRequest => json!({"OFPGetAsyncRequest": {}}),
        AsyncReply(said) => json!({"OFPGetAsyncReply": asynchronous(said)}),
        SetAsync(said) => json!({"OFPSetAsync": asynchronous(said)}),
        MeterMod(said) => json!({"OFPMeterMod": {
            "command": said.command.0, "flags": said.flags.0, "meter_id": said.meter.0,
            "bands": each(&said.bands, band),
        }}),
        Unknown { .. } => Value::Null,
    }
}

fn config(said: &v13::Config) -> Value {
    json!({"flags": said.fragments.0, "miss_send_len": said.miss_send_length})
}

fn asynchronous(said: &v13::AsyncConfig) -> Value {
    json!({
        "packet_in_mask": [said.packet_in_master.0, said.packet_in_slave.0],
        "port_status_mask": [said.port_status_master.0, said.port_status_slave.0],
        "flow_removed_mask": [said.flow_removed_master.0, said.flow_removed_slave.0],
    })
}

fn port(port: &v13::Port) -> Value {
    json!({"OFPPort": {
        "port_no": port.number.0, "hw_addr": text(port.address), "name": name(&port.name), "config": port.config.0,
        "state": port.state.0, "curr": port.current.0, "advertised": port.advertised.0,
        "supported": port.supported.0, "peer": port.peer.0, "curr_speed": port.current_speed,
        "max_speed": port.max_speed,
    }})
}

fn promise(property: &queue::Property) -> Value {
    use queue::Property::*;
    match property {
        MinRate { rate } => json!({"OFPQueuePropMinRate": {"rate": rate.0, "property": 1}}),
        MaxRate { rate } => json!({"OFPQueuePropMaxRate": {"rate": rate.0, "property": 2}}),
        Experimenter { experimenter, data } => json!({"OFPQueuePropExperimenter": {
            "experimenter": experimenter, "data": data, "property": 0xffff,
        }}),
        None | Unknown { .. } => Value::Null,
    }
}

fn flow_match(said: &v13::Match) -> Value {
    json!({"OFPMatch": {"oxm_fields": each(said.fields(), field)}})
}

fn masked<T>(value: &oxm::Masked<T>, show: impl Fn(&T) -> Value) -> (Value, Value) {
    (show(&value.value), value.mask.as_ref().map_or(Value::Null, show))
}

fn field(field: &v13::Oxm) -> Value {
    use v13::Oxm::*;
    let (value, mask) = match field {
        InPort(said) | InPhyPort(said) => masked(said, |number| json!(number.0)),
        Metadata(said) | TunnelId(said) => masked(said, |number| json!(number)),
        EthDst(said) | EthSrc(said) | ArpSha(said) | ArpTha(said) | Ipv6NdSll(said) | Ipv6NdTll(said) => {
            masked(said, |address| text(address))
        }
        VlanVid(said) => masked(said, |vlan| json!(vlan.0)),
        Ipv6Exthdr(said) => masked(said, |headers| json!(headers.0)),
        PbbIsid(said) => masked(said, |number| json!(number.get())),
        Ipv4Src(said) | Ipv4Dst(said) | ArpSpa(said) | ArpTpa(said) => masked(said, |address| text(address)),
        Ipv6Src(said) | Ipv6Dst(said) | Ipv6NdTarget(said) => masked(said, |address| text(address)),
        Ipv6Flabel(said) | MplsLabel(said) => masked(said, |number| json!(number)),
        EthType(said) | TcpSrc(said) | TcpDst(said) | UdpSrc(said) | UdpDst(said) | SctpSrc(said)
        | SctpDst(said) | ArpOp(said) => masked(said, |number| json!(number)),
        VlanPcp(said) | IpDscp(said) | IpEcn(said) | IpProto(said) | Icmpv4Type(said) | Icmpv4Code(said)
        | Icmpv6Type(said) | Icmpv6Code(said) | MplsTc(said) | MplsBos(said) => {
            masked(said, |number| json!(number))
        }
        Other { .. } => return json!({"another field": true}),
    };
    json!({"OXMTlv": {"field": field.name(), "value": value, "mask": mask}})
}

fn action(action: &v13::Action) -> Value {
    use v13::Action::*;
    match action {
        Output { port, max_length } => json!({"OFPActionOutput": {"port": port.0, "max_len": max_length.0}}),
        CopyTtlOut => json!({"OFPActionCopyTtlOut": {}}),
        CopyTtlIn => json!({"OFPActionCopyTtlIn": {}}),
        SetMplsTtl { ttl } => json!({"OFPActionSetMplsTtl": {"mpls_ttl": ttl}}),
        DecMplsTtl => json!({"OFPActionDecMplsTtl": {}}),
        PushVlan { ether_type } => json!({"OFPActionPushVlan": {"ethertype": ether_type}}),
        PopVlan => json!({"OFPActionPopVlan": {}}),
        PushMpls { ether_type } => json!({"OFPActionPushMpls": {"ethertype": ether_type}}),
        PopMpls { ether_type } => json!({"OFPActionPopMpls": {"ethertype": ether_type}}),
        SetQueue { queue } => json!({"OFPActionSetQueue": {"queue_id": queue.0}}),
        Group { group } => json!({"OFPActionGroup": {"group_id": group.0}}),
        SetNwTtl { ttl } => json!({"OFPActionSetNwTtl": {"nw_ttl": ttl}}),
        DecNwTtl => json!({"OFPActionDecNwTtl": {}}),
        SetField(said) => json!({"OFPActionSetField": {"field": field(said)}}),
        PushPbb { ether_type } => json!({"OFPActionPushPbb": {"ethertype": ether_type}}),
        PopPbb => json!({"OFPActionPopPbb": {}}),
        Experimenter { experimenter: 0x2320, data } => nicira(data),
        Experimenter { experimenter, data } => json!({"OFPActionExperimenterUnknown": {
            "experimenter": experimenter, "data": base64(data),
        }}),
        Unknown { .. } => Value::Null,
    }
}

fn instruction(instruction: &v13::Instruction) -> Value {
    use v13::Instruction::*;
    match instruction {
        GotoTable { table } => json!({"OFPInstructionGotoTable": {"table_id": table.0}}),
        WriteActions(actions) | ApplyActions(actions) => {
            json!({"OFPInstructionActions": {"actions": each(actions, action)}})
        }
        Meter { meter } => json!({"OFPInstructionMeter": {"meter_id": meter.0}}),
        _ => Value::Null,
    }
}

fn bucket(bucket: &v13::Bucket) -> Value {
    json!({"OFPBucket": {
        "weight": bucket.weight, "watch_port": bucket.watch_port.0, "watch_group": bucket.watch_group.0,
        "actions": each(&bucket.actions, action),
    }})
}

fn band(band: &v13::Band) -> Value {
    use v13::Band::*;
    match band {
        Drop { rate, burst } => json!({"OFPMeterBandDrop": {"rate": rate, "burst_size": burst}}),
        DscpRemark { rate, burst, precedence } => json!({"OFPMeterBandDscpRemark": {
            "rate": rate, "burst_size": burst, "prec_level": precedence,
        }}),
        Experimenter { rate, burst, experimenter, .. } => json!({"OFPMeterBandExperimenter": {
            "rate": rate, "burst_size": burst, "experimenter": experimenter,
        }}),
        Unknown { .. } => Value::Null,
    }
}

/// Puts the flags among the other fields of a message.
fn with_flags((class, mut fields): (&str, Value), flags: multipart::MultipartFlags) -> Value {
    fields["flags"] = json!(flags.0);
    json!({ class: fields })
}

fn filter(said: &multipart::FlowFilter) -> Value {
    json!({
        "table_id": said.table.0, "out_port": said.out_port.0, "out_group": said.out_group.0, "cookie": said.cookie,
        "cookie_mask": said.cookie_mask, "match": flow_match(&said.flow_match),
    })
}

fn asked(said: &multipart::Asked) -> (&'static str, Value) {
    use multipart::Asked::*;
    match said {
        Description => ("OFPDescStatsRequest", json!({})),
        Flows(said) => ("OFPFlowStatsRequest", filter(said)),
        Aggregate(said) => ("OFPAggregateStatsRequest", filter(said)),
        Tables => ("OFPTableStatsRequest", json!({})),
        Ports { port } => ("OFPPortStatsRequest", json!({"port_no": port.0})),
        Queues { port, queue } => ("OFPQueueStatsRequest", json!({"port_no": port.0, "queue_id": queue.0})),
        Groups { group } => ("OFPGroupStatsRequest", json!({"group_id": group.0})),
        GroupDescriptions => ("OFPGroupDescStatsRequest", json!({})),
        GroupFeatures => ("OFPGroupFeaturesStatsRequest", json!({})),
        Meters { meter } => ("OFPMeterStatsRequest", json!({"meter_id": meter.0})),
        MeterConfigs { meter } => ("OFPMeterConfigStatsRequest", json!({"meter_id": meter.0})),
        MeterFeatures => ("OFPMeterFeaturesStatsRequest", json!({})),
        TableFeatures(said) => ("OFPTableFeaturesStatsRequest", json!({"body": each(said, table_features)})),
        PortDescriptions => ("OFPPortDescStatsRequest", json!({})),
        // ONF's flow monitor, of which os_ken knows the inside.
        Experimenter { experimenter: 0x4f4e_4600, kind: 1870, data } => (
            "ONFFlowMonitorStatsRequest",
            json!({
                "experimenter": 0x4f4e_4600, "exp_type": 1870, "body": monitors(data),
            }),
        ),
        Experimenter { experimenter, kind, data } => (
            "OFPExperimenterStatsRequest",
            json!({
                "experimenter": experimenter, "exp_type": kind, "data": base64(data),
            }),
        ),
        Unknown { .. } => ("", Value::Null),
    }
}

/// What ONF's flow monitor asks for: an identity, flags, bytes of match fields, a port, a table, padding, match fields
/// padded to eight bytes.
fn monitors(mut data: &[u8]) -> Value {
    let mut all = Vec::new();
    while let [a, b, c, d, e, f, g, h, i, j, k, l, table, _, _, _, rest @ ..] = data {
        let length = usize::from(u16::from_be_bytes([*g, *h]));
        let mut fields = &rest[..length];
        let mut shown = Vec::new();
        while !fields.is_empty() {
            let (one, after) = fields.split_at(4 + usize::from(fields[3]));
            let (class, payload) = (oxm::Class(u16::from_be_bytes([one[0], one[1]])), &one[4..]);
            shown.push(field(&v13::Oxm::of(oxm::View {
                class,
                field: one[2] >> 1,
                has_mask: one[2] & 1 == 1,
                payload,
            })));
            fields = after;
        }
        all.push(json!({"ONFFlowMonitorRequest": {
            "id": u32::from_be_bytes([*a, *b, *c, *d]), "flags": u16::from_be_bytes([*e, *f]),
            "out_port": u32::from_be_bytes([*i, *j, *k, *l]), "table_id": table,
            "match": {"OFPMatch": {"oxm_fields": shown}},
        }}));
        data = &rest[length.next_multiple_of(8).min(rest.len())..];
    }
    Value::Array(all)
}

fn answered(said: &multipart::Answered) -> (&'static str, Value) {
    use multipart::Answered::*;
    let all = |all: Value| json!({"body": all});
    match said {
        Description(said) => (
            "OFPDescStatsReply",
            json!({"body": {"OFPDescStats": {
                "mfr_desc": name(&said.manufacturer), "hw_desc": name(&said.hardware), "sw_desc": name(&said.software),
                "serial_num": name(&said.serial_number), "dp_desc": name(&said.datapath),
            }}}),
        ),
        Flows(said) => (
            "OFPFlowStatsReply",
            all(each(said, |flow| {
                json!({"OFPFlowStats": {
                    "table_id": flow.table.0, "duration_sec": flow.age.seconds, "duration_nsec": flow.age.nanoseconds,
                    "priority": flow.priority, "idle_timeout": flow.idle_timeout, "hard_timeout": flow.hard_timeout,
                    "flags": flow.flags.0, "cookie": flow.cookie, "packet_count": flow.packets, "byte_count": flow.bytes,
                    "match": flow_match(&flow.flow_match), "instructions": each(&flow.instructions, instruction),
                }})
            })),
        ),
        Aggregate(said) => (
            "OFPAggregateStatsReply",
            json!({"body": {"OFPAggregateStats": {
                "packet_count": said.packets, "byte_count": said.bytes, "flow_count": said.flows,
            }}}),
        ),
        Tables(said) => (
            "OFPTableStatsReply",
            all(each(said, |table| {
                json!({"OFPTableStats": {
                    "table_id": table.table.0, "active_count": table.active, "lookup_count": table.lookups,
                    "matched_count": table.matched,
                }})
            })),
        ),
        Ports(said) => (
            "OFPPortStatsReply",
            all(each(said, |port| {
                json!({"OFPPortStats": {
                    "port_no": port.port.0, "rx_packets": port.received, "tx_packets": port.sent,
                    "rx_bytes": port.received_bytes, "tx_bytes": port.sent_bytes, "rx_dropped": port.received_dropped,
                    "tx_dropped": port.sent_dropped, "rx_errors": port.received_errors, "tx_errors": port.sent_errors,
                    "rx_frame_err": port.frame_errors, "rx_over_err": port.overrun_errors,
                    "rx_crc_err": port.checksum_errors, "collisions": port.collisions, "duration_sec": port.age.seconds,
                    "duration_nsec": port.age.nanoseconds,
                }})
            })),
        ),
        Queues(said) => (
            "OFPQueueStatsReply",
            all(each(said, |queue| {
                json!({"OFPQueueStats": {
                    "port_no": queue.port.0, "queue_id": queue.queue.0, "tx_bytes": queue.sent_bytes,
                    "tx_packets": queue.sent, "tx_errors": queue.sent_errors, "duration_sec": queue.age.seconds,
                    "duration_nsec": queue.age.nanoseconds,
                }})
            })),
        ),
        Groups(said) => (
            "OFPGroupStatsReply",
            all(each(said, |group| {
                json!({"OFPGroupStats": {
                    "group_id": group.group.0, "ref_count": group.references, "packet_count": group.packets,
                    "byte_count": group.bytes, "duration_sec": group.age.seconds, "duration_nsec": group.age.nanoseconds,
                    "bucket_stats": each(&group.buckets, |bucket| json!({"OFPBucketCounter": {
                        "packet_count": bucket.packets, "byte_count": bucket.bytes,
                    }})),
                }})
            })),
        ),
        GroupDescriptions(said) => (
            "OFPGroupDescStatsReply",
            all(each(said, |group| {
                json!({"OFPGroupDescStats": {
                    "type": group.kind.0, "group_id": group.group.0, "buckets": each(&group.buckets, bucket),
                }})
            })),
        ),
        GroupFeatures(said) => (
            "OFPGroupFeaturesStatsReply",
            json!({"body": {"OFPGroupFeaturesStats": {
                "types": said.types.0, "capabilities": said.capabilities.0,
                "max_groups": [said.max_all, said.max_select, said.max_indirect, said.max_fast_failover],
                "actions": [
                    said.actions_all.0, said.actions_select.0, said.actions_indirect.0, said.actions_fast_failover.0,
                ],
            }}}),
        ),
        Meters(said) => (
            "OFPMeterStatsReply",
            all(each(said, |meter| {
                json!({"OFPMeterStats": {
                    "meter_id": meter.meter.0, "flow_count": meter.flows, "packet_in_count": meter.packets,
                    "byte_in_count": meter.bytes, "duration_sec": meter.age.seconds,
                    "duration_nsec": meter.age.nanoseconds,
                    "band_stats": each(&meter.bands, |band| json!({"OFPMeterBandStats": {
                        "packet_band_count": band.packets, "byte_band_count": band.bytes,
                    }})),
                }})
            })),
        ),
        MeterConfigs(said) => (
            "OFPMeterConfigStatsReply",
            all(each(said, |meter| {
                json!({"OFPMeterConfigStats": {
                    "flags": meter.flags.0, "meter_id": meter.meter.0, "bands": each(&meter.bands, band),
                }})
            })),
        ),
        MeterFeatures(said) => (
            "OFPMeterFeaturesStatsReply",
            json!({"body": [{"OFPMeterFeaturesStats": {
                "max_meter": said.max_meters, "band_types": said.band_types.0, "capabilities": said.capabilities.0,
                "max_bands": said.max_bands, "max_color": said.max_colors,
            }}]}),
        ),
        TableFeatures(said) => ("OFPTableFeaturesStatsReply", all(each(said, table_features))),
        PortDescriptions(said) => ("OFPPortDescStatsReply", all(each(said, port))),
        Experimenter { experimenter, kind, data } => (
            "OFPExperimenterStatsReply",
            json!({"body": {
                "OFPExperimenterMultipart": {"experimenter": experimenter, "exp_type": kind, "data": base64(data)},
            }}),
        ),
        Unknown { .. } => ("", Value::Null),
    }
}

fn table_features(said: &v13::table::TableFeatures) -> Value {
    let property = |property: &Feature| {
        let kind = property.kind();
        let ids = |class: &str, ids: &[v13::table::Id]| each(ids, |id| json!({ class: {"type": id.kind} }));
        match property {
            Feature::Instructions(said) | Feature::InstructionsMiss(said) => json!({
                "OFPTableFeaturePropInstructions": {"type": kind, "instruction_ids": ids("OFPInstructionId", said)},
            }),
            Feature::NextTables(said) | Feature::NextTablesMiss(said) => {
                json!({"OFPTableFeaturePropNextTables": {
                    "type": kind, "table_ids": each(said, |table| json!(table.0)),
                }})
            }
            Feature::WriteActions(said)
            | Feature::WriteActionsMiss(said)
            | Feature::ApplyActions(said)
            | Feature::ApplyActionsMiss(said) => json!({
                "OFPTableFeaturePropActions": {"type": kind, "action_ids": ids("OFPActionId", said)},
            }),
            Feature::Match(said)
            | Feature::Wildcards(said)
            | Feature::WriteSetField(said)
            | Feature::WriteSetFieldMiss(said)
            | Feature::ApplySetField(said)
            | Feature::ApplySetFieldMiss(said) => {
                let field = |id: &oxm::Id| {
                    json!({"OFPOxmId": {
                        "type": v13::Oxm::name_of(id.class, id.field), "hasmask": u8::from(id.has_mask),
                    }})
                };
                json!({"OFPTableFeaturePropOxm": {"type": kind, "oxm_ids": each(said, field)}})
            }
            Feature::Experimenter { experimenter, kind: own, data }
            | Feature::ExperimenterMiss { experimenter, kind: own, data } => {
                json!({"OFPTableFeaturePropExperimenter": {
                    "type": kind, "experimenter": experimenter, "exp_type": own, "data": words(data),
                }})
            }
            Feature::Unknown { .. } => Value::Null,
        }
    };
    json!({"OFPTableFeaturesStats": {
        "table_id": said.table.0, "name": name(&said.name), "metadata_match": said.metadata_match,
        "metadata_write": said.metadata_write, "config": said.config.0, "max_entries": said.max_entries,
        "properties": each(&said.properties, property),
    }})
}
