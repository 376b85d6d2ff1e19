//! Whether a frame is right at each of its levels.

use super::SHARED;
use plait_dataplane_paths::Encapsulation;
use plait_model_wire::checksum::Sum;
use plait_model_wire::number::{ether_type, protocol};
use plait_model_wire::{gre, gue, ipv4, udp};
use std::net::Ipv4Addr;

/// The port of GUE.
const GUE_PORT: u16 = 6080;

/// The packet under a frame's stack, and the relays of the stack. Every length and checksum was looked at, also of the
/// packet itself.
///
/// # Errors
/// What is wrong, and how deep.
pub fn unstacked(frame: &[u8], encapsulation: Encapsulation) -> Result<(Vec<Ipv4Addr>, &[u8]), String> {
    let mut relays = Vec::new();
    let mut rest = &frame[14..];
    loop {
        let level = |what: &str| format!("{what} at level {} of {} bytes", relays.len(), frame.len());
        let ip = ipv4::Packet::parse(rest).map_err(|error| level(&error.to_string()))?;
        if ip.payload().len() + 20 + ip.options().len() != rest.len() {
            return Err(level("a wrong length of IPv4"));
        }
        if !ip.checksum_fits() {
            return Err(level("a wrong checksum of IPv4"));
        }
        if ip.source() != SHARED {
            check_payload(&ip).map_err(|what| level(&what))?;
            return Ok((relays, rest));
        }
        if ip.ttl() == 0 || !ip.dont_fragment() || ip.is_fragment() {
            return Err(level("an outer header of no stack"));
        }
        rest = carried(&ip, encapsulation).map_err(|what| level(&what))?;
        relays.push(ip.destination());
    }
}

fn carried<'a>(ip: &ipv4::Packet<'a>, encapsulation: Encapsulation) -> Result<&'a [u8], String> {
    let of = |is_right, what: &str| if is_right { Ok(()) } else { Err(format!("a wrong {what}")) };
    match encapsulation {
        Encapsulation::Ipip => {
            of(ip.protocol() == protocol::IPV4, "protocol")?;
            Ok(ip.payload())
        }
        Encapsulation::Gre => {
            of(ip.protocol() == protocol::GRE, "protocol")?;
            let gre = gre::Packet::parse(ip.payload()).map_err(|error| error.to_string())?;
            of(gre.protocol() == ether_type::IPV4, "type in GRE")?;
            Ok(gre.payload())
        }
        Encapsulation::Gue => {
            of(ip.protocol() == protocol::UDP, "protocol")?;
            let udp = udp::Datagram::parse(ip.payload()).map_err(|error| error.to_string())?;
            of(udp.payload().len() + 8 == ip.payload().len(), "length of UDP")?;
            of(udp.checksum_fits(ip.source().into(), ip.destination().into()), "checksum of UDP")?;
            of(udp.destination() == GUE_PORT && udp.source() >= 0xc000, "port")?;
            let gue = gue::Packet::parse(udp.payload()).map_err(|error| error.to_string())?;
            of(gue.protocol() == protocol::IPV4 && !gue.is_control(), "protocol in GUE")?;
            Ok(gue.payload())
        }
    }
}

fn check_payload(ip: &ipv4::Packet<'_>) -> Result<(), String> {
    let (source, destination, bytes) = (ip.source().into(), ip.destination().into(), ip.payload());
    if ip.is_fragment() {
        return Ok(());
    }
    let is_right = match ip.protocol() {
        protocol::TCP => {
            let sum = Sum::new().add_pseudo_header(source, destination, protocol::TCP, bytes.len());
            sum.add(bytes).folded() == 0xffff
        }
        protocol::UDP => {
            let datagram = udp::Datagram::parse(bytes).map_err(|error| error.to_string())?;
            datagram.payload().len() + 8 == bytes.len() && datagram.checksum_fits(source, destination)
        }
        _ => true,
    };
    if is_right { Ok(()) } else { Err("a wrong length or checksum behind IPv4".into()) }
}

/// Bytes that a packet of TCP carries behind its header; none of another one.
pub fn stream_bytes(packet: &[u8]) -> usize {
    let ip = ipv4::Packet::parse(packet).unwrap();
    if ip.protocol() != protocol::TCP {
        return 0;
    }
    ip.payload().len() - usize::from(ip.payload()[12] >> 4) * 4
}
