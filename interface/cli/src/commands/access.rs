//! `plait controller access`: access lists as people write them.
//!
//! ```yaml
//! - permit: {ipv4_src: 10.0.0.1, ip_proto: tcp, destination_port: 22}
//! - deny: {eth_type: ipv4, ip_proto: tcp, destination_port: 22}
//! ```
//!
//! The first rule that speaks of a packet decides; of what none speaks, all is permitted.

use crate::output::{Failure, table};
use ipnet::{Ipv4Net, Ipv6Net};
use plait::read_text;
use plait_control_forwarding::access::{Access, AccessList, Rule};
use plait_control_openflow::{Fields, Port};
use plait_control_runtime::Wit;
use plait_model_topology::diagnostic::{Diagnostic, Report};
use plait_model_topology::document::{Source, Spanned, decode, parse};
use plait_model_wire::ethernet::Mac;
use plait_model_wire::number::{ether_type, protocol};
use serde::Deserialize;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// Rules that have priorities of their own.
const MOST: usize = 8192;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRule {
    permit: Option<Written>,
    deny: Option<Written>,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Written {
    in_port: Option<u32>,
    eth_src: Option<Spanned<String>>,
    eth_dst: Option<Spanned<String>>,
    eth_type: Option<Spanned<Number>>,
    vlan_vid: Option<u16>,
    ip_proto: Option<Spanned<Number>>,
    ipv4_src: Option<Spanned<String>>,
    ipv4_dst: Option<Spanned<String>>,
    ipv6_src: Option<Spanned<String>>,
    ipv6_dst: Option<Spanned<String>>,
    source_port: Option<u16>,
    destination_port: Option<u16>,
}

/// A number, or what it is called.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Value(u16),
    Name(String),
}

const ETHER_TYPES: [(&str, u16); 3] =
    [("ipv4", ether_type::IPV4), ("ipv6", ether_type::IPV6), ("arp", ether_type::ARP)];
const PROTOCOLS: [(&str, u16); 5] = [
    ("tcp", protocol::TCP as u16),
    ("udp", protocol::UDP as u16),
    ("sctp", protocol::SCTP as u16),
    ("icmp", protocol::ICMP as u16),
    ("icmpv6", protocol::ICMPV6 as u16),
];

/// The access list of a file.
///
/// # Errors
/// What is wrong with it, by its line.
pub fn read(path: &Path) -> Result<AccessList, Failure> {
    let source = Source::new(path.display().to_string(), read_text(path)?);
    let document = parse(&source)?;
    let fault = |fault: Diagnostic| Report::new(source.clone(), vec![fault]);
    let rules: Vec<Spanned<WrittenRule>> = decode(&document).map_err(fault)?;
    if rules.len() > MOST {
        let span = rules[MOST].span;
        return Err(fault(Diagnostic::new(span, format!("there are at most {MOST} rules"))).into());
    }
    let rule = |(place, written): (usize, &Spanned<WrittenRule>)| {
        let (access, fields) = match (&written.value.permit, &written.value.deny) {
            (Some(fields), None) => (Access::Permit, fields),
            (None, Some(fields)) => (Access::Deny, fields),
            _ => {
                let fault = Diagnostic::new(written.span, "a rule permits or denies");
                return Err(fault.help("write `- deny: {…}` or `- permit: {…}`, each a rule of its own"));
            }
        };
        let fields = fields.fields().and_then(|found| whole(found, written));
        // The first one counts.
        Ok(Rule { priority: (MOST - 1 - place) as u16, access, fields: fields? })
    };
    let rules: Result<_, _> = rules.iter().enumerate().map(rule).collect();
    Ok(AccessList { rules: rules.map_err(fault)? })
}

impl Written {
    fn fields(&self) -> Result<Fields, Diagnostic> {
        let protocol = number(&self.ip_proto, &PROTOCOLS, "protocol")?;
        let too_large = |_| {
            let span = self.ip_proto.as_ref().map(|written| written.span).unwrap_or_default();
            Diagnostic::new(span, "a protocol is at most 255")
        };
        Ok(Fields {
            in_port: self.in_port.map(Port),
            eth_src: station(&self.eth_src)?,
            eth_dst: station(&self.eth_dst)?,
            eth_type: number(&self.eth_type, &ETHER_TYPES, "EtherType")?,
            vlan: self.vlan_vid,
            protocol: protocol.map(u8::try_from).transpose().map_err(too_large)?,
            ipv4_src: network4(&self.ipv4_src)?,
            ipv4_dst: network4(&self.ipv4_dst)?,
            ipv6_src: network6(&self.ipv6_src)?,
            ipv6_dst: network6(&self.ipv6_dst)?,
            source_port: self.source_port,
            destination_port: self.destination_port,
        })
    }
}

/// Fields with what must come before them, where only one thing can.
fn whole(mut fields: Fields, rule: &Spanned<WrittenRule>) -> Result<Fields, Diagnostic> {
    let (four, six) =
        (fields.ipv4_src.or(fields.ipv4_dst).is_some(), fields.ipv6_src.or(fields.ipv6_dst).is_some());
    let family = match (four, six) {
        (true, false) if fields.eth_type != Some(ether_type::ARP) => Some(ether_type::IPV4),
        (false, true) => Some(ether_type::IPV6),
        (true, true) => return Err(Diagnostic::new(rule.span, "no packet is of IPv4 and of IPv6")),
        _ => None,
    };
    if let Some(family) = family {
        if fields.eth_type.is_some_and(|said| said != family) {
            return Err(
                Diagnostic::new(rule.span, "its addresses are of another `eth_type`").help("leave it out")
            );
        }
        fields.eth_type = Some(family);
    }
    let ports = fields.source_port.or(fields.destination_port).is_some();
    if ports && fields.protocol.is_none() {
        let fault = Diagnostic::new(rule.span, "a port is of a protocol");
        return Err(fault.help("add `ip_proto: tcp`, `udp` or another"));
    }
    let inside = [ether_type::IPV4, ether_type::IPV6, ether_type::ARP];
    if fields.protocol.is_some() && !fields.eth_type.is_some_and(|kind| inside.contains(&kind)) {
        let fault = Diagnostic::new(rule.span, "a protocol is of IPv4 or of IPv6");
        return Err(fault.help("add `eth_type: ipv4` or `eth_type: ipv6`, or a rule for each"));
    }
    Ok(fields)
}

fn number(
    written: &Option<Spanned<Number>>,
    names: &[(&str, u16)],
    what: &str,
) -> Result<Option<u16>, Diagnostic> {
    let Some(written) = written else { return Ok(None) };
    let name = match &written.value {
        Number::Value(number) => return Ok(Some(*number)),
        Number::Name(name) => name,
    };
    let known = names.iter().find(|(known, _)| known == name).map(|(_, number)| *number);
    let hexadecimal = name.strip_prefix("0x").and_then(|digits| u16::from_str_radix(digits, 16).ok());
    known.or(hexadecimal).map(Some).ok_or_else(|| {
        let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        let fault = Diagnostic::new(written.span, format!("`{name}` is no {what}"));
        fault.help(format!("write {}, or a number", names.join(", ")))
    })
}

fn station(written: &Option<Spanned<String>>) -> Result<Option<[u8; 6]>, Diagnostic> {
    let Some(written) = written else { return Ok(None) };
    let Mac(address) = written.value.parse().map_err(|_| {
        let fault = Diagnostic::new(written.span, format!("`{}` is no hardware address", written.value));
        fault.help("write one such as \"02:00:00:00:00:01\", in quotes")
    })?;
    Ok(Some(address))
}

fn network4(written: &Option<Spanned<String>>) -> Result<Option<(Ipv4Addr, u8)>, Diagnostic> {
    let Some(written) = written else { return Ok(None) };
    let alone = || written.value.parse::<Ipv4Addr>().map(Ipv4Net::from);
    let network = written.value.parse::<Ipv4Net>().or_else(|_| alone());
    let network = network.map_err(|_: std::net::AddrParseError| no_network(written, "10.0.0.0/24"))?;
    Ok(Some((network.network(), network.prefix_len())))
}

fn network6(written: &Option<Spanned<String>>) -> Result<Option<(Ipv6Addr, u8)>, Diagnostic> {
    let Some(written) = written else { return Ok(None) };
    let alone = || written.value.parse::<Ipv6Addr>().map(Ipv6Net::from);
    let network = written.value.parse::<Ipv6Net>().or_else(|_| alone());
    let network = network.map_err(|_: std::net::AddrParseError| no_network(written, "2001:db8::/32"))?;
    Ok(Some((network.network(), network.prefix_len())))
}

fn no_network(written: &Spanned<String>, such_as: &str) -> Diagnostic {
    let fault = Diagnostic::new(written.span, format!("`{}` is no network of this family", written.value));
    fault.help(format!("write an address, or a network such as {such_as}"))
}

/// The list as JSON, as its view has it.
pub fn json(list: &AccessList) -> serde_json::Value {
    plait_interface_daemon::json::json(&AccessList::schema(), &list.to_value())
}

/// The list that a view holds, for people.
pub fn text(found: &serde_json::Value) -> String {
    let Some(rules) = found["rules"].as_array().filter(|rules| !rules.is_empty()) else {
        return "everything is permitted\n".to_owned();
    };
    let mut rules: Vec<&serde_json::Value> = rules.iter().collect();
    rules.sort_by_key(|rule| std::cmp::Reverse(rule["priority"].as_u64()));
    let head = ["PRIORITY", "ACCESS", "OF"].map(str::to_owned).to_vec();
    let line = |rule: &&serde_json::Value| {
        let given = rule["fields"].as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        let given: Vec<String> = given.map(|(name, value)| format!("{name}={value}")).collect();
        let of = if given.is_empty() { "any".to_owned() } else { given.join(" ").replace('"', "") };
        vec![rule["priority"].to_string(), rule["access"].as_str().unwrap_or_default().to_owned(), of]
    };
    table(&std::iter::once(head).chain(rules.iter().map(line)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<AccessList, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        read(file.path()).map_err(|why| why.message)
    }

    #[test]
    fn rules_count_in_their_order_and_say_what_comes_before_their_fields() {
        let list = read_text(
            "- permit: {ipv4_src: 10.0.0.1, ip_proto: tcp, destination_port: 22}\n\
             - deny: {ipv6_dst: '2001:db8::1:0/112', ip_proto: 17}\n\
             - deny: {eth_src: '02:00:00:00:00:01', eth_type: arp, vlan_vid: 7, in_port: 3}\n",
        );
        let rules = list.unwrap().rules;
        let source = Some((Ipv4Addr::new(10, 0, 0, 1), 32));
        let first = Fields { ipv4_src: source, eth_type: Some(0x800), protocol: Some(6), ..Fields::ANY };
        let first = Fields { destination_port: Some(22), ..first };
        assert_eq!(rules[0], Rule { priority: 8191, access: Access::Permit, fields: first });
        assert_eq!(
            (rules[1].priority, rules[1].fields.eth_type, rules[1].fields.protocol),
            (8190, Some(0x86dd), Some(17))
        );
        assert_eq!(rules[1].fields.ipv6_dst.map(|(_, bits)| bits), Some(112));
        assert_eq!((rules[2].fields.in_port, rules[2].fields.vlan), (Some(Port(3)), Some(7)));
        assert_eq!(read_text("[]").unwrap(), AccessList::default());
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line_and_a_remedy() {
        for (rule, said) in [
            ("allow: {}", "allow"),
            ("{permit: {}, deny: {}}", "a rule permits or denies"),
            ("deny: {ipv4_src: 10.0.0.1/33}", "10.0.0.0/24"),
            ("deny: {ipv4_src: 10.0.0.1, ipv6_dst: '::1'}", "no packet is of IPv4 and of IPv6"),
            ("deny: {ipv4_src: 10.0.0.1, eth_type: ipv6}", "leave it out"),
            ("deny: {destination_port: 22}", "ip_proto: tcp"),
            ("deny: {ip_proto: tcp, destination_port: 22}", "eth_type: ipv4"),
            ("deny: {eth_type: ipv4, ip_proto: tpc}", "write tcp"),
            ("deny: {eth_type: ipv4, ip_proto: 300}", "255"),
            ("deny: {eth_src: 7}", "eth_src"),
            ("deny: {eth_src: 'x'}", "02:00:00:00:00:01"),
        ] {
            let refused = read_text(&format!("- permit: {{in_port: 1}}\n- {rule}\n")).unwrap_err();
            assert!(refused.contains(said) && refused.contains(":2:"), "{refused}");
        }
    }
}
