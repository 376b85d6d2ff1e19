//! What is asked of the kernel's path manager (`mptcp_pm` of generic netlink, linux/mptcp_pm.h).

use crate::connections::Wanted;
use crate::event::Ends;
use netlink_packet_core::{DefaultNla, Emitable};
use netlink_packet_generic::GenlFamily;
use plait_dataplane_netlink::nest;
use std::net::IpAddr;

/// The family.
pub const FAMILY: &str = "mptcp_pm";

const VERSION: u8 = 1;
/// `AF_INET` and `AF_INET6`, which the kernel has as 16 bits here.
const INET: u16 = 2;
const INET6: u16 = 10;

/// `MPTCP_PM_CMD_SUBFLOW_CREATE`: one more subflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Create(Vec<DefaultNla>);

impl Create {
    /// One between the addresses of the first, from a port that the kernel chooses.
    pub fn new(wanted: &Wanted) -> Self {
        let Ends { local, remote } = wanted.ends;
        Self(vec![
            DefaultNla::new(attribute::TOKEN, wanted.token.to_ne_bytes().to_vec()),
            nest(attribute::ADDR, &address(local, None)),
            nest(attribute::ADDR_REMOTE, &address(remote.ip(), Some(remote.port()))),
        ])
    }
}

/// An address, with the number that tells this host's subflows' addresses apart: all have one, so one number serves.
fn address(ip: IpAddr, port: Option<u16>) -> Vec<DefaultNla> {
    let (family, kind, octets) = match ip {
        IpAddr::V4(ip) => (INET, attribute::address::ADDR4, ip.octets().to_vec()),
        IpAddr::V6(ip) => (INET6, attribute::address::ADDR6, ip.octets().to_vec()),
    };
    let mut list = vec![
        DefaultNla::new(attribute::address::FAMILY, family.to_ne_bytes().to_vec()),
        DefaultNla::new(kind, octets),
    ];
    match port {
        Some(port) => list.push(DefaultNla::new(attribute::address::PORT, port.to_ne_bytes().to_vec())),
        None => list.push(DefaultNla::new(attribute::address::ID, vec![1])),
    }
    list
}

impl GenlFamily for Create {
    fn family_name() -> &'static str {
        FAMILY
    }

    fn command(&self) -> u8 {
        SUBFLOW_CREATE
    }

    fn version(&self) -> u8 {
        VERSION
    }
}

impl Emitable for Create {
    fn buffer_len(&self) -> usize {
        self.0.as_slice().buffer_len()
    }

    fn emit(&self, buffer: &mut [u8]) {
        self.0.as_slice().emit(buffer);
    }
}

const SUBFLOW_CREATE: u8 = 10;

/// `MPTCP_PM_ATTR_…`
mod attribute {
    pub const ADDR: u16 = 1;
    pub const TOKEN: u16 = 4;
    pub const ADDR_REMOTE: u16 = 6;

    /// `MPTCP_PM_ADDR_ATTR_…`
    pub mod address {
        pub const FAMILY: u16 = 1;
        pub const ID: u16 = 2;
        pub const ADDR4: u16 = 3;
        pub const ADDR6: u16 = 4;
        pub const PORT: u16 = 5;
    }
}
