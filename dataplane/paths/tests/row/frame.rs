//! A frame from a wire, level by level.

use super::SOURCES;
use plait_dataplane_paths::{Encapsulation, Family};
use plait_model_wire::checksum::Sum;
use plait_model_wire::number::{port, protocol};
use plait_model_wire::{gre, gue, ipv4, ipv6, ovstack, relay_list, segment_routing, udp};
use std::net::IpAddr;

/// What an IP header says, and what is behind it.
pub struct Ip<'a> {
    pub family: Family,
    pub source: IpAddr,
    pub destination: IpAddr,
    pub protocol: u8,
    pub hops: u8,
    pub is_fragment: bool,
    pub payload: &'a [u8],
    /// Whether routers may fragment it.
    may_break: bool,
    flow_label: u32,
}

impl<'a> Ip<'a> {
    /// A packet that has all of these bytes. Its length and checksum are right.
    pub fn whole(bytes: &'a [u8]) -> Result<Self, String> {
        match Family::of_packet(bytes).ok_or("a wrong version of IP")? {
            Family::Ipv4 => {
                let ip = ipv4::Packet::parse(bytes).map_err(|error| error.to_string())?;
                if ip.payload().len() + 20 + ip.options().len() != bytes.len() {
                    return Err("a wrong length of IPv4".into());
                }
                if !ip.checksum_fits() {
                    return Err("a wrong checksum of IPv4".into());
                }
                Ok(Self {
                    family: Family::Ipv4,
                    source: ip.source().into(),
                    destination: ip.destination().into(),
                    protocol: ip.protocol(),
                    hops: ip.ttl(),
                    is_fragment: ip.is_fragment(),
                    payload: ip.payload(),
                    may_break: !ip.dont_fragment(),
                    flow_label: 1,
                })
            }
            Family::Ipv6 => {
                let ip = ipv6::Packet::parse(bytes).map_err(|error| error.to_string())?;
                if ip.payload().len() + 40 != bytes.len() {
                    return Err("a wrong length of IPv6".into());
                }
                Ok(Self {
                    family: Family::Ipv6,
                    source: ip.source().into(),
                    destination: ip.destination().into(),
                    protocol: ip.next_header(),
                    hops: ip.hop_limit(),
                    is_fragment: ip.next_header() == 44,
                    payload: ip.payload(),
                    may_break: false,
                    flow_label: ip.flow_label(),
                })
            }
        }
    }
}

/// The packet under a frame's stack, and the relays of the stack. Every length and checksum was looked at, also of the
/// packet itself.
///
/// # Errors
/// What is wrong, and how deep.
pub fn unstacked(frame: &[u8], encapsulation: Encapsulation) -> Result<(Vec<IpAddr>, &[u8]), String> {
    let mut relays = Vec::new();
    let mut rest = &frame[14..];
    let named = Family::of_packet(rest).map(|family| family.ether_type().to_be_bytes());
    if named.as_ref().map(|kind| &kind[..]) != Some(&frame[12..14]) {
        return Err("a wrong EtherType".into());
    }
    loop {
        let level = |what: &str| format!("{what} at level {} of {} bytes", relays.len(), frame.len());
        let ip = Ip::whole(rest).map_err(|what| level(&what))?;
        if ip.source != SOURCES.of(ip.family) {
            check_payload(&ip).map_err(|what| level(&what))?;
            return Ok((relays, rest));
        }
        if ip.hops == 0 || ip.may_break || ip.is_fragment || ip.flow_label == 0 {
            return Err(level("an outer header of no stack"));
        }
        relays.push(ip.destination);
        rest = carried(&ip, encapsulation, &mut relays)?;
    }
}

/// What a header carries. The relays that a list inside leaves are added.
fn carried<'a>(
    ip: &Ip<'a>,
    encapsulation: Encapsulation,
    relays: &mut Vec<IpAddr>,
) -> Result<&'a [u8], String> {
    let of = |is_right, what: &str| if is_right { Ok(()) } else { Err(format!("a wrong {what}")) };
    let named = |payload: &[u8]| Family::of_packet(payload).ok_or("a wrong version inside".to_owned());
    match encapsulation {
        Encapsulation::Srv6 if ip.protocol == protocol::ROUTING => {
            let segments = segment_routing::Packet::parse(ip.payload).map_err(|error| error.to_string())?;
            of(segments.next() == named(segments.payload())?.protocol(), "protocol behind segments")?;
            let all: Vec<IpAddr> = segments.segments().map(IpAddr::from).collect();
            relays.extend(&all[all.len() - usize::from(segments.left())..]);
            Ok(segments.payload())
        }
        Encapsulation::Ovstack => {
            let payload = datagram(ip, port::OVSTACK)?;
            let ovstack = ovstack::Packet::parse(payload).map_err(|error| error.to_string())?;
            of(ovstack.application() == relay_list::APPLICATION && !ovstack.is_control(), "application")?;
            of(
                ovstack.ttl() > 0 && (ovstack.destination().0, ovstack.source().0) == (0, 0),
                "ovstack header",
            )?;
            let list = relay_list::Packet::parse(ovstack.payload()).map_err(|error| error.to_string())?;
            of(list.next() == named(list.payload())?.protocol(), "protocol behind a list")?;
            let all: Vec<IpAddr> = list.relays().collect();
            relays.extend(&all[all.len() - usize::from(list.left())..]);
            Ok(list.payload())
        }
        Encapsulation::Ipip | Encapsulation::Srv6 => {
            of(ip.protocol == named(ip.payload)?.protocol(), "protocol")?;
            Ok(ip.payload)
        }
        Encapsulation::Gre => {
            of(ip.protocol == protocol::GRE, "protocol")?;
            let gre = gre::Packet::parse(ip.payload).map_err(|error| error.to_string())?;
            of(gre.protocol() == named(gre.payload())?.ether_type(), "type in GRE")?;
            Ok(gre.payload())
        }
        Encapsulation::Gue => {
            let gue = gue::Packet::parse(datagram(ip, port::GUE)?).map_err(|error| error.to_string())?;
            let is_right = gue.protocol() == named(gue.payload())?.protocol() && !gue.is_control();
            of(is_right, "protocol in GUE")?;
            Ok(gue.payload())
        }
    }
}

/// What a tunnel's datagram to a port carries.
fn datagram<'a>(ip: &Ip<'a>, port: u16) -> Result<&'a [u8], String> {
    let of = |is_right, what: &str| if is_right { Ok(()) } else { Err(format!("a wrong {what} of UDP")) };
    of(ip.protocol == protocol::UDP, "protocol")?;
    let udp = udp::Datagram::parse(ip.payload).map_err(|error| error.to_string())?;
    of(udp.payload().len() + 8 == ip.payload.len(), "length")?;
    // None at all, over IPv6 too (RFC 6935).
    of(ip.payload[6..8] == [0, 0], "checksum")?;
    of(udp.destination() == port && udp.source() >= 0xc000, "port")?;
    Ok(udp.payload())
}

fn check_payload(ip: &Ip<'_>) -> Result<(), String> {
    let (source, destination, bytes) = (ip.source, ip.destination, ip.payload);
    if ip.is_fragment {
        return Ok(());
    }
    let is_right = match ip.protocol {
        protocol::TCP | protocol::ICMPV6 => {
            let sum = Sum::new().add_pseudo_header(source, destination, ip.protocol, bytes.len());
            sum.add(bytes).folded() == 0xffff
        }
        protocol::UDP => {
            let datagram = udp::Datagram::parse(bytes).map_err(|error| error.to_string())?;
            datagram.payload().len() + 8 == bytes.len() && datagram.checksum_fits(source, destination)
        }
        _ => true,
    };
    if is_right { Ok(()) } else { Err("a wrong length or checksum behind IP".into()) }
}

/// Bytes that a packet of TCP carries behind its header; none of another one.
pub fn stream_bytes(packet: &[u8]) -> usize {
    let ip = Ip::whole(packet).unwrap();
    if ip.protocol != protocol::TCP {
        return 0;
    }
    ip.payload.len() - usize::from(ip.payload[12] >> 4) * 4
}
