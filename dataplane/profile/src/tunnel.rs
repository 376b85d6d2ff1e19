//! Tunnels of the kernel's, as it is asked for them.

use netlink_packet_route::link::{InfoData, InfoGre, InfoIpTunnel, InfoKind, InfoVxlan, LinkInfo};
use std::net::Ipv4Addr;

/// The network's number in tunnels that have one.
pub(crate) const VNI: u32 = 5;

/// A tunnel of the kernel's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tunnel {
    /// Frames in UDP, RFC 7348.
    Vxlan,
    /// Packets in IP, RFC 2003.
    Ipip,
    /// Packets in GRE, RFC 2784.
    Gre,
    /// Frames in GRE.
    Gretap,
    /// Frames in NSH, RFC 8300, in VXLAN-GPE, by the kernel's Open vSwitch.
    Nsh,
}

impl Tunnel {
    /// All, in the order of the thesis's figures.
    pub const ALL: [Self; 5] = [Self::Ipip, Self::Gre, Self::Gretap, Self::Vxlan, Self::Nsh];

    /// The kernel's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vxlan => "vxlan",
            Self::Ipip => "ipip",
            Self::Gre => "gre",
            Self::Gretap => "gretap",
            Self::Nsh => "nsh",
        }
    }

    /// Whether hosts find each other's hardware addresses in it.
    pub(crate) fn has_frames(self) -> bool {
        matches!(self, Self::Vxlan | Self::Gretap | Self::Nsh)
    }

    /// Its device's kind, as the kernel is asked for it. None of the tunnel that no device alone makes.
    pub(crate) fn info(self, (local, remote): (Ipv4Addr, Ipv4Addr)) -> Option<Vec<LinkInfo>> {
        let gre = vec![InfoGre::Local(local), InfoGre::Remote(remote)];
        let (kind, data) = match self {
            Self::Vxlan => (InfoKind::Vxlan, InfoData::Vxlan(to_vxlan(VNI, local, remote))),
            Self::Ipip => (
                InfoKind::IpIp,
                InfoData::IpTunnel(vec![
                    InfoIpTunnel::Local(local.into()),
                    InfoIpTunnel::Remote(remote.into()),
                ]),
            ),
            Self::Gre => (InfoKind::GreTun, InfoData::GreTun(gre)),
            Self::Gretap => (InfoKind::GreTap, InfoData::GreTap(gre)),
            Self::Nsh => return None,
        };
        Some(vec![LinkInfo::Kind(kind), LinkInfo::Data(data)])
    }
}

pub(crate) fn to_vxlan(id: u32, local: Ipv4Addr, remote: Ipv4Addr) -> Vec<InfoVxlan> {
    vec![InfoVxlan::Id(id), InfoVxlan::Local(local), InfoVxlan::Group(remote), InfoVxlan::Port(4789)]
}
