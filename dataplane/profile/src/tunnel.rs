//! Tunnels of the kernel's, as it is asked for them.

use netlink_packet_route::link::{InfoData, InfoGre, InfoIpTunnel, InfoKind, InfoVxlan, LinkInfo};
use std::net::Ipv4Addr;

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
}

impl Tunnel {
    /// All, in the order of the thesis's figures.
    pub const ALL: [Self; 4] = [Self::Ipip, Self::Gre, Self::Gretap, Self::Vxlan];

    /// The kernel's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vxlan => "vxlan",
            Self::Ipip => "ipip",
            Self::Gre => "gre",
            Self::Gretap => "gretap",
        }
    }

    /// Whether hosts find each other's hardware addresses in it.
    pub(crate) fn has_frames(self) -> bool {
        matches!(self, Self::Vxlan | Self::Gretap)
    }

    pub(crate) fn info(self, local: Ipv4Addr, remote: Ipv4Addr) -> Vec<LinkInfo> {
        let gre = vec![InfoGre::Local(local), InfoGre::Remote(remote)];
        let (kind, data) = match self {
            Self::Vxlan => (InfoKind::Vxlan, InfoData::Vxlan(to_vxlan(5, local, remote))),
            Self::Ipip => (
                InfoKind::IpIp,
                InfoData::IpTunnel(vec![
                    InfoIpTunnel::Local(local.into()),
                    InfoIpTunnel::Remote(remote.into()),
                ]),
            ),
            Self::Gre => (InfoKind::GreTun, InfoData::GreTun(gre)),
            Self::Gretap => (InfoKind::GreTap, InfoData::GreTap(gre)),
        };
        vec![LinkInfo::Kind(kind), LinkInfo::Data(data)]
    }
}

pub(crate) fn to_vxlan(id: u32, local: Ipv4Addr, remote: Ipv4Addr) -> Vec<InfoVxlan> {
    vec![InfoVxlan::Id(id), InfoVxlan::Local(local), InfoVxlan::Group(remote), InfoVxlan::Port(4789)]
}
