//! What tables can do, as Open vSwitch says it of the same bytes: it shortens names that begin alike, and tables that are alike.

use plait_model_wire::openflow::v13::multipart::Answered;
use plait_model_wire::openflow::v13::oxm::{self, Class};
use plait_model_wire::openflow::v13::table::{Id, Property, TableFeatures};
use plait_model_wire::openflow::{Message, v13};
use std::collections::BTreeSet;

/// The specification's fields by their numbers, as Open vSwitch names them; it has no more of them.
const FIELDS: [(u8, &str); 38] = [
    (0, "in_port_oxm"),
    (2, "metadata"),
    (3, "eth_dst"),
    (4, "eth_src"),
    (5, "eth_type"),
    (6, "vlan_vid"),
    (7, "vlan_pcp"),
    (8, "ip_dscp"),
    (9, "nw_ecn"),
    (10, "nw_proto"),
    (11, "ip_src"),
    (12, "ip_dst"),
    (13, "tcp_src"),
    (14, "tcp_dst"),
    (15, "udp_src"),
    (16, "udp_dst"),
    (17, "sctp_src"),
    (18, "sctp_dst"),
    (19, "icmp_type"),
    (20, "icmp_code"),
    (21, "arp_op"),
    (22, "arp_spa"),
    (23, "arp_tpa"),
    (24, "arp_sha"),
    (25, "arp_tha"),
    (26, "ipv6_src"),
    (27, "ipv6_dst"),
    (28, "ipv6_label"),
    (29, "icmpv6_type"),
    (30, "icmpv6_code"),
    (31, "nd_target"),
    (32, "nd_sll"),
    (33, "nd_tll"),
    (34, "mpls_label"),
    (35, "mpls_tc"),
    (36, "mpls_bos"),
    (37, "pbb_isid"),
    (38, "tun_id"),
];
const INSTRUCTIONS: [(u16, &str); 6] = [
    (1, "goto_table"),
    (2, "write_metadata"),
    (3, "write_actions"),
    (4, "apply_actions"),
    (5, "clear_actions"),
    (6, "meter"),
];
const ACTIONS: [(u16, &str); 12] = [
    (0, "output"),
    (15, "set_mpls_ttl"),
    (16, "dec_mpls_ttl"),
    (17, "push_vlan"),
    (18, "strip_vlan"),
    (19, "push_mpls"),
    (20, "pop_mpls"),
    (21, "set_queue"),
    (22, "group"),
    (23, "mod_nw_ttl"),
    (24, "dec_ttl"),
    (25, "set_field"),
];

/// Fields: those of the specification by name, and how many others there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Fields {
    named: BTreeSet<String>,
    others: usize,
}

/// A table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Table {
    number: u8,
    name: String,
    metadata: (u64, u64),
    max_entries: u32,
    next: BTreeSet<u8>,
    instructions: BTreeSet<String>,
    actions: BTreeSet<String>,
    set_fields: Fields,
    /// What can be matched by any mask, and what is matched whole or not at all.
    masked: Fields,
    whole: Fields,
}

/// Both say the same of each table. How many there were, if the message tells of tables.
pub fn assert_same(message: &Message, said: &str) -> Option<usize> {
    let Message::V13(v13::Message { body: v13::Body::MultipartReply(reply), .. }) = message else {
        return None;
    };
    let Answered::TableFeatures(tables) = &reply.body else { return None };
    let (ours, theirs): (Vec<Table>, _) = (tables.iter().map(of_message).collect(), of_words(said));
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(ours.len(), theirs.len());
    Some(ours.len())
}

fn of_message(features: &TableFeatures) -> Table {
    let mut table = Table {
        number: features.table.0,
        name: features.name.to_string(),
        metadata: (features.metadata_match, features.metadata_write),
        max_entries: features.max_entries,
        ..Table::default()
    };
    let named = |ids: &[Id], names: &[(u16, &str)]| {
        let name =
            |id: &Id| names.iter().find(|(kind, _)| *kind == id.kind).map(|(_, name)| (*name).to_owned());
        ids.iter().filter_map(name).collect::<BTreeSet<_>>()
    };
    let (mut matched, mut wild): (&[oxm::Id], &[oxm::Id]) = (&[], &[]);
    // Open vSwitch says of a packet without a flow, and of actions written and applied, what it says of others.
    let mut apart: [Vec<BTreeSet<String>>; 2] = Default::default();
    let mut sets = Vec::new();
    for property in &features.properties {
        match property {
            Property::Instructions(ids) | Property::InstructionsMiss(ids) => {
                apart[0].push(named(ids, &INSTRUCTIONS));
            }
            Property::WriteActions(ids)
            | Property::WriteActionsMiss(ids)
            | Property::ApplyActions(ids)
            | Property::ApplyActionsMiss(ids) => apart[1].push(named(ids, &ACTIONS)),
            Property::NextTables(next) | Property::NextTablesMiss(next) => {
                table.next.extend(next.iter().map(|table| table.0));
            }
            Property::Match(ids) => matched = ids,
            Property::Wildcards(ids) => wild = ids,
            Property::WriteSetField(ids)
            | Property::WriteSetFieldMiss(ids)
            | Property::ApplySetField(ids)
            | Property::ApplySetFieldMiss(ids) => sets.push(of_ids(ids.iter())),
            other => panic!("{other:?}"),
        }
    }
    let one = |all: &[BTreeSet<String>]| {
        assert!(all.windows(2).all(|two| two[0] == two[1]), "{all:?}");
        all.first().cloned().unwrap_or_default()
    };
    (table.instructions, table.actions) = (one(&apart[0]), one(&apart[1]));
    assert!(sets.windows(2).all(|two| two[0] == two[1]), "{sets:?}");
    table.set_fields = sets.first().cloned().unwrap_or_default();
    let is_wild = |id: &&oxm::Id| {
        wild.iter()
            .any(|wild| (wild.class, wild.field, wild.experimenter) == (id.class, id.field, id.experimenter))
    };
    table.masked = of_ids(matched.iter().filter(|id| id.has_mask));
    table.whole = of_ids(matched.iter().filter(|id| !id.has_mask).filter(is_wild));
    table
}

fn of_ids<'a>(ids: impl Iterator<Item = &'a oxm::Id>) -> Fields {
    let mut fields = Fields::default();
    for id in ids {
        let known =
            FIELDS.iter().find(|(number, _)| id.class == Class::OPENFLOW_BASIC && *number == id.field);
        match known {
            Some((_, name)) => drop(fields.named.insert((*name).to_owned())),
            None => fields.others += 1,
        }
    }
    fields
}

/// The tables of a text such as
///
/// ```text
///   table 0:
///     metadata: match=0xffffffffffffffff write=0xffffffffffffffff
///     matching:
///       arbitrary mask: metadata reg0...reg15 eth_{src,dst}
///
///   tables 1...252: ditto
/// ```
fn of_words(said: &str) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<BTreeSet<_>>();
    for line in said.lines().skip(1).map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(rest) = line.strip_prefix("table ") {
            let (head, rest) = rest.split_once(':').unwrap();
            let (number, name) = head.split_once(' ').unwrap_or((head, ""));
            let name = name.trim_matches(['(', ')', '"']).to_owned();
            let number = number.parse().unwrap();
            tables.push(match rest.trim() {
                "ditto" => like(tables.last().unwrap(), number),
                _ => Table { number, name, ..Table::default() },
            });
            continue;
        }
        if let Some(rest) = line.strip_prefix("tables ") {
            let (first, last) = rest.strip_suffix(": ditto").unwrap().split_once("...").unwrap();
            for number in first.parse::<u8>().unwrap()..=last.parse().unwrap() {
                tables.push(like(tables.last().unwrap(), number));
            }
            continue;
        }
        let before = tables.len().checked_sub(2).map(|place| tables[place].clone());
        let table = tables.last_mut().unwrap_or_else(|| panic!("{line}"));
        match line.split_once(": ").unwrap_or((line, "")) {
            ("metadata", rest) => {
                let hex = |text: &str| u64::from_str_radix(text.split_once("=0x").unwrap().1, 16).unwrap();
                let (matched, written) = rest.split_once(' ').unwrap();
                table.metadata = (hex(matched), hex(written));
            }
            ("next tables", rest) => {
                for range in rest.split(',') {
                    let (first, last) = range.split_once('-').unwrap_or((range, range));
                    table.next.extend(first.parse::<u8>().unwrap()..=last.parse().unwrap());
                }
            }
            ("instructions", rest) => table.instructions = words(rest),
            ("actions", rest) => table.actions = words(rest),
            ("supported on Set-Field", rest) => table.set_fields = of_names(rest),
            ("arbitrary mask", rest) => table.masked = of_names(rest),
            ("exact match or wildcard", rest) => table.whole = of_names(rest),
            ("(same actions)", _) => {
                let before = before.unwrap();
                (table.actions, table.set_fields) = (before.actions, before.set_fields);
            }
            ("(same matching)", _) => {
                let before = before.unwrap();
                (table.masked, table.whole) = (before.masked, before.whole);
            }
            (
                "instructions (table miss and others):"
                | "Write-Actions and Apply-Actions features:"
                | "matching:",
                _,
            ) => {}
            _ => match line.strip_prefix("max_entries=") {
                Some(count) => table.max_entries = count.parse().unwrap(),
                None => panic!("{line}"),
            },
        }
    }
    tables
}

/// A table that is like another, and may go on to the same, as far as those come later.
fn like(before: &Table, number: u8) -> Table {
    let next = before.next.iter().copied().filter(|next| *next > number).collect();
    Table { number, next, ..before.clone() }
}

fn of_names(text: &str) -> Fields {
    let all: Vec<String> = text.split_whitespace().flat_map(expanded).collect();
    let (named, others): (Vec<String>, Vec<String>) =
        all.into_iter().partition(|name| FIELDS.iter().any(|(_, known)| known == name));
    Fields { named: named.into_iter().collect(), others: others.len() }
}

/// `ip_{src,dst}` and `reg0...reg15`, one in the other, as names.
fn expanded(text: &str) -> Vec<String> {
    if let Some((prefix, rest)) = text.split_once('{') {
        let inner = rest.strip_suffix('}').unwrap();
        let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
        for (place, byte) in inner.bytes().enumerate() {
            match byte {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                b',' if depth == 0 => {
                    parts.push(&inner[start..place]);
                    start = place + 1;
                }
                _ => {}
            }
        }
        parts.push(&inner[start..]);
        let names = parts.into_iter().flat_map(expanded);
        return names.map(|name| format!("{prefix}{name}")).collect();
    }
    let Some((first, last)) = text.split_once("...") else { return vec![text.to_owned()] };
    let number = |name: &str| -> (String, u32) {
        let base = name.trim_end_matches(|digit: char| digit.is_ascii_digit());
        (base.to_owned(), name[base.len()..].parse().unwrap())
    };
    let ((base, first), (_, last)) = (number(first), number(last));
    (first..=last).map(|number| format!("{base}{number}")).collect()
}

#[test]
fn names_that_begin_alike_are_taken_apart() {
    let names = expanded("tun_{id,gbp_{id,flags},metadata0...metadata2}");
    let all = ["id", "gbp_id", "gbp_flags", "metadata0", "metadata1", "metadata2"];
    assert_eq!(names, all.map(|name| format!("tun_{name}")));
}
