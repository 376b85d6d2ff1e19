//! What is asked and set of a device by netlink.

use crate::error::Error;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use plait_dataplane_netlink::Netlink;
use std::io;

/// A device's MTU, and how many segments a superpacket may have.
pub fn ask(device: u32) -> Result<(u32, u32), Error> {
    let failed = |error| Error::Device(device, error);
    let answer =
        Netlink::open().and_then(|netlink| netlink.get(RouteNetlinkMessage::GetLink(message(device))));
    let RouteNetlinkMessage::NewLink(link) = answer.map_err(failed)? else {
        return Err(failed(io::ErrorKind::InvalidData.into()));
    };
    let mtu = link.attributes.iter().find_map(|attribute| match attribute {
        LinkAttribute::Mtu(mtu) => Some(*mtu),
        _ => None,
    });
    let segments = link.attributes.iter().find_map(|attribute| match attribute {
        LinkAttribute::GsoMaxSegs(segments) => Some(*segments),
        _ => None,
    });
    mtu.zip(segments).ok_or_else(|| failed(io::ErrorKind::InvalidData.into()))
}

/// Says of how many segments superpackets may be made for a device. Choice: one, rather than to switch the device's
/// segmentation off, of which TCP makes nothing since Linux 4.17: the kernel would cut its superpackets behind the program.
pub fn set_segments(device: u32, segments: u32) -> Result<(), Error> {
    let mut link = message(device);
    link.attributes.push(LinkAttribute::GsoMaxSegs(segments));
    let set = Netlink::open().and_then(|netlink| netlink.request(RouteNetlinkMessage::SetLink(link), 0));
    set.map_err(|error| Error::Device(device, error))
}

fn message(device: u32) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = device;
    message
}
