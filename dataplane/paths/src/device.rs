//! What is asked and set of a device.

use crate::address;
use crate::error::Error;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use plait_dataplane_netlink::Netlink;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv6Addr};

/// An address that a node has for a moment. Choice: of the prefix whose packets are discarded (RFC 6666), beside the usual
/// source of stacks.
const PASSING: IpAddr = IpAddr::V6(Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 2));

/// How long superpackets may be, each with its headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lengths {
    /// Of IPv6; of IPv4 too, before Linux 6.3.
    pub all: u32,
    /// Of IPv4, where the kernel tells it.
    pub ipv4: Option<u32>,
}

impl Lengths {
    /// The same, but no longer than that.
    pub fn at_most(self, most: u32) -> Self {
        Self { all: self.all.min(most), ipv4: self.ipv4.map(|ipv4| ipv4.min(most)) }
    }
}

/// A device of the namespace in which this was opened, whoever calls.
pub struct Device {
    pub index: u32,
    netlink: Netlink,
    /// Written to, it has open connections look at their devices again.
    routes: File,
}

impl Device {
    pub fn open(index: u32) -> Result<Self, Error> {
        let failed = |error| Error::Device(index, error);
        let netlink = Netlink::open().map_err(failed)?;
        let routes = File::options().write(true).open("/proc/sys/net/ipv4/route/flush").map_err(failed)?;
        let device = Self { index, netlink, routes };
        device.segments().map(|_| device)
    }

    /// How many segments its superpackets may have.
    pub fn segments(&self) -> Result<u32, Error> {
        self.asked(|attribute| match attribute {
            LinkAttribute::GsoMaxSegs(segments) => Some(*segments),
            _ => None,
        })
    }

    /// How long its superpackets may be.
    pub fn lengths(&self) -> Result<Lengths, Error> {
        let all = self.asked(|attribute| match attribute {
            LinkAttribute::GsoMaxSize(length) => Some(*length),
            _ => None,
        })?;
        // Older kernels have one length for both.
        let ipv4 = self.asked(|attribute| match attribute {
            LinkAttribute::GsoIpv4MaxSize(length) => Some(*length),
            _ => None,
        });
        Ok(Lengths { all, ipv4: ipv4.ok() })
    }

    /// The longest packet that it takes.
    pub fn mtu(&self) -> Result<u32, Error> {
        self.asked(|attribute| match attribute {
            LinkAttribute::Mtu(mtu) => Some(*mtu),
            _ => None,
        })
    }

    fn asked(&self, wanted: impl Fn(&LinkAttribute) -> Option<u32>) -> Result<u32, Error> {
        let asked = self.netlink.get(RouteNetlinkMessage::GetLink(self.message()));
        let found = asked.and_then(|answer| {
            let RouteNetlinkMessage::NewLink(link) = answer else {
                return Err(io::ErrorKind::InvalidData.into());
            };
            link.attributes.iter().find_map(wanted).ok_or_else(|| io::ErrorKind::InvalidData.into())
        });
        found.map_err(|error| Error::Device(self.index, error))
    }

    /// Says of how many segments superpackets may be made. Choice: one, rather than to switch the device's segmentation
    /// off, of which TCP makes nothing since Linux 4.17: the kernel would cut its superpackets behind the program.
    pub fn set_segments(&self, segments: u32) -> Result<(), Error> {
        self.set(vec![LinkAttribute::GsoMaxSegs(segments)])
    }

    /// Says how long superpackets may be made, to open connections as well.
    pub fn set_lengths(&self, lengths: Lengths) -> Result<(), Error> {
        // What is said of all is said of IPv4, too, up to 65,536 bytes: so that comes last.
        let ipv4 = lengths.ipv4.map(LinkAttribute::GsoIpv4MaxSize);
        self.set([LinkAttribute::GsoMaxSize(lengths.all)].into_iter().chain(ipv4).collect())
    }

    /// Sets what superpackets may be. Open connections look at the device again when their route is no longer true, so that
    /// all of them are told so.
    fn set(&self, attributes: Vec<LinkAttribute>) -> Result<(), Error> {
        let mut link = self.message();
        link.attributes = attributes;
        let set = self.netlink.request(RouteNetlinkMessage::SetLink(link), 0);
        set.and_then(|()| (&self.routes).write_all(b"1"))
            .map_err(|error| Error::Device(self.index, error))?;
        // Of IPv6 a flush takes away what was learnt alone; routes are no longer true when the node has another address. One
        // that does without IPv6 has no connections of it either.
        if address::add(&self.netlink, PASSING).is_ok_and(|is_new| is_new) {
            let _ = address::remove(&self.netlink, PASSING);
        }
        Ok(())
    }

    /// Has it carry packets, and say nothing by itself: it gets no address of its own.
    pub fn bring_up_silent(&self) -> Result<(), Error> {
        self.netlink.bring_up_silent(self.index).map_err(|error| Error::Device(self.index, error))
    }

    fn message(&self) -> LinkMessage {
        let mut message = LinkMessage::default();
        message.header.index = self.index;
        message
    }
}

/// Allows superpackets on a device of the calling thread's namespace, as they were before somebody limited them.
pub fn allow_superpackets(device: u32, segments: Option<u32>, lengths: Option<Lengths>) {
    let allow = |device: Device| {
        segments.map_or(Ok(()), |segments| device.set_segments(segments))?;
        lengths.map_or(Ok(()), |lengths| device.set_lengths(lengths))
    };
    // Where the device is gone, so is its setting.
    if let Err(error) = Device::open(device).and_then(allow) {
        tracing::debug!(device, %error, "superpackets are not allowed again");
    }
}
