//! Tenants' devices.
//!
//! Each is a VXLAN device without tunnels of its own: it is never asked to send, since the program on it takes every
//! packet before, and what it is good for is the room that the kernel leaves before packets for its headers. Its socket
//! takes no packet either: with a VNI filter that has no VNI nobody outside speaks to it.

use super::underlay::Link;
use crate::config::Carries;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVxlan, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use plait_dataplane_netlink::Netlink;
use plait_model_wire::{ipv6, ovstack, udp};
use std::io;

/// The largest superpacket: one whose outer headers, the longest of which are those of ovstack over IPv6, make it longer than 16
/// bits can say would be dropped, and sent again, and dropped.
const LARGEST: u32 =
    (u16::MAX as usize - ipv6::Header::LENGTH - udp::Header::LENGTH - ovstack::Header::LENGTH) as u32;

/// The ports that the devices' sockets are bound to: nobody speaks to them, but the kernel wants one each.
const PORTS: std::ops::Range<u16> = 61_000..65_000;

/// Makes a device, down. It may be of that name already, from a former life.
pub(super) fn create(netlink: &Netlink, name: &str, mtu: u32, carries: Carries) -> io::Result<()> {
    let first = name.bytes().fold(0u16, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into())) % 4000;
    for step in 0..64 {
        let port = PORTS.start + (first + step * 61) % (PORTS.end - PORTS.start);
        let mut message = LinkMessage::default();
        // Under a label the kernel cannot be told how to cut what already has more headers before it.
        let whole = (carries == Carries::Payload).then_some(LinkAttribute::GsoMaxSegs(1));
        message.attributes = vec![
            LinkAttribute::IfName(name.to_owned()),
            LinkAttribute::Mtu(mtu),
            LinkAttribute::GsoMaxSize(LARGEST),
            LinkAttribute::LinkInfo(vec![
                LinkInfo::Kind(InfoKind::Vxlan),
                LinkInfo::Data(InfoData::Vxlan(vec![
                    InfoVxlan::CollectMetadata(true),
                    InfoVxlan::Vnifilter(true),
                    InfoVxlan::Learning(false),
                    InfoVxlan::Port(port),
                ])),
            ]),
        ];
        message.attributes.extend(whole);
        match netlink.request(RouteNetlinkMessage::NewLink(message), NLM_F_CREATE | NLM_F_EXCL) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_name_taken(netlink, name) => {
                return Err(error);
            }
            // Another device has the port.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error),
        }
        match up(netlink, name, carries) {
            Ok(()) => return Ok(()),
            // The port is somebody's.
            Err(error) if error.raw_os_error() == Some(libc::EADDRINUSE) => remove(netlink, name)?,
            Err(error) => {
                let _ = remove(netlink, name);
                return Err(error);
            }
        }
    }
    Err(io::Error::new(io::ErrorKind::AddrInUse, "no port from 61000 to 64999 is free"))
}

/// Makes a device and takes it away: whether that works.
pub(crate) fn makes_device(netlink: &Netlink) -> io::Result<()> {
    const NAME: &str = "plait-trial";
    create(netlink, NAME, 1280, Carries::Ethernet)?;
    remove(netlink, NAME)
}

fn is_name_taken(netlink: &Netlink, name: &str) -> bool {
    let mut ask = LinkMessage::default();
    ask.attributes.push(LinkAttribute::IfName(name.to_owned()));
    netlink.get(RouteNetlinkMessage::GetLink(ask)).is_ok()
}

/// Turns a device on.
fn up(netlink: &Netlink, name: &str, carries: Carries) -> io::Result<()> {
    let mut message = named(name);
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    if !carries.are_frames() {
        // Nobody is asked for hardware addresses: the overlay finds where packets go without them.
        message.header.flags |= LinkFlags::Noarp;
        message.header.change_mask |= LinkFlags::Noarp;
    }
    netlink.request(RouteNetlinkMessage::SetLink(message), 0)
}

/// Changes a device's largest packet.
pub(super) fn set_mtu(netlink: &Netlink, name: &str, mtu: u32) -> io::Result<()> {
    let mut message = named(name);
    message.attributes.push(LinkAttribute::Mtu(mtu));
    netlink.request(RouteNetlinkMessage::SetLink(message), 0)
}

/// Takes a device away.
pub(super) fn remove(netlink: &Netlink, name: &str) -> io::Result<()> {
    netlink.request(RouteNetlinkMessage::DelLink(named(name)), 0)
}

fn named(name: &str) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.attributes.push(LinkAttribute::IfName(name.to_owned()));
    message
}

/// Whether programs belong on a device of the underlay.
pub(super) fn is_underlay(link: &Link, own: impl Fn(&str) -> bool) -> bool {
    link.is_ethernet && !own(&link.name)
}
