//! A switch's flows as JSON, whichever version told them.

use plait_model_wire::openflow::v13::oxm::Oxm;
use plait_model_wire::openflow::{Message, v10, v13};
use serde_json::{Value, json};

/// Every flow of a reply's parts.
pub fn flows(parts: &[Message]) -> Vec<Value> {
    let mut all = Vec::new();
    for part in parts {
        match part {
            Message::V10(v10::Message { body: v10::Body::StatisticsReply(reply), .. }) => {
                if let v10::statistics::Answered::Flows(flows) = &reply.body {
                    all.extend(flows.iter().map(of_v10));
                }
            }
            Message::V13(v13::Message { body: v13::Body::MultipartReply(reply), .. }) => {
                if let v13::multipart::Answered::Flows(flows) = &reply.body {
                    all.extend(flows.iter().map(of_v13));
                }
            }
            _ => {}
        }
    }
    all
}

fn of_v10(flow: &v10::statistics::FlowStatistics) -> Value {
    json!({
        "table": flow.table.0,
        "priority": flow.priority,
        "cookie": format!("{:016x}", flow.cookie),
        "age_seconds": flow.age.duration().as_secs_f64(),
        "idle_timeout": flow.idle_timeout,
        "hard_timeout": flow.hard_timeout,
        "packets": flow.packets,
        "bytes": flow.bytes,
        "match": matched(&flow.flow_match),
        "actions": flow.actions.iter().map(|action| format!("{action:?}")).collect::<Vec<_>>(),
    })
}

fn of_v13(flow: &v13::multipart::FlowStatistics) -> Value {
    let field = |oxm: &Oxm| (oxm.name().unwrap_or("other").to_owned(), json!(said(oxm)));
    json!({
        "table": flow.table.0,
        "priority": flow.priority,
        "cookie": format!("{:016x}", flow.cookie),
        "age_seconds": flow.age.duration().as_secs_f64(),
        "idle_timeout": flow.idle_timeout,
        "hard_timeout": flow.hard_timeout,
        "packets": flow.packets,
        "bytes": flow.bytes,
        "match": flow.flow_match.fields().iter().map(field).collect::<serde_json::Map<_, _>>(),
        "actions": flow.instructions.iter().map(|instruction| format!("{instruction:?}")).collect::<Vec<_>>(),
    })
}

/// What a field must be: what its debug form has between its parentheses.
fn said(oxm: &Oxm) -> String {
    match oxm {
        Oxm::EthDst(field) => field.value.to_string(),
        Oxm::EthSrc(field) => field.value.to_string(),
        Oxm::Ipv4Src(field) | Oxm::Ipv4Dst(field) | Oxm::ArpSpa(field) | Oxm::ArpTpa(field) => {
            field.value.to_string()
        }
        Oxm::Ipv6Src(field) | Oxm::Ipv6Dst(field) => field.value.to_string(),
        Oxm::InPort(field) => field.value.0.to_string(),
        Oxm::EthType(field) => format!("{:#06x}", field.value),
        Oxm::IpProto(field) => field.value.to_string(),
        Oxm::TcpSrc(field)
        | Oxm::TcpDst(field)
        | Oxm::UdpSrc(field)
        | Oxm::UdpDst(field)
        | Oxm::ArpOp(field) => field.value.to_string(),
        other => format!("{other:?}"),
    }
}

fn matched(of: &v10::Match) -> Value {
    use v10::Wildcards as Wild;
    let mut fields = serde_json::Map::new();
    let mut field = |bit: Wild, name: &str, value: String| {
        if !of.wildcards.contains(bit) {
            fields.insert(name.to_owned(), json!(value));
        }
    };
    field(Wild::IN_PORT, "in_port", of.in_port.0.to_string());
    field(Wild::ETHERNET_DESTINATION, "eth_dst", of.ethernet_destination.to_string());
    field(Wild::ETHERNET_SOURCE, "eth_src", of.ethernet_source.to_string());
    field(Wild::ETHER_TYPE, "eth_type", format!("{:#06x}", of.ether_type));
    field(Wild::VLAN, "vlan_vid", of.vlan.to_string());
    field(Wild::PROTOCOL, "ip_proto", of.protocol.to_string());
    field(Wild::SOURCE_PORT, "source_port", of.source_port.to_string());
    field(Wild::DESTINATION_PORT, "destination_port", of.destination_port.to_string());
    for (bits, name, address) in [
        (of.wildcards.source_bits(), "ipv4_src", of.source),
        (of.wildcards.destination_bits(), "ipv4_dst", of.destination),
    ] {
        if bits < 32 {
            fields.insert(name.to_owned(), json!(format!("{address}/{}", 32 - bits)));
        }
    }
    Value::Object(fields)
}
