//! The kernel's words about Multipath TCP (linux/mptcp.h, `mptcp_pm` of generic netlink).

use crate::connections::Wanted;
use netlink_packet_core::{
    DecodeError, DefaultNla, Emitable, NLA_F_NESTED, NlasIterator, ParseableParametrized, parse_u8, parse_u32,
};
use netlink_packet_generic::{GenlFamily, GenlHeader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The family, and the group of it that hears events.
pub const FAMILY: &str = "mptcp_pm";
pub const EVENTS: &str = "mptcp_pm_events";

const VERSION: u8 = 1;
/// `AF_INET` and `AF_INET6`, which the kernel has as 16 bits here.
const INET: u16 = 2;
const INET6: u16 = 10;

/// The ends of a connection's first subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    pub local: SocketAddr,
    pub remote: SocketAddr,
}

/// What the kernel tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Both sides have agreed on Multipath TCP: subflows may be opened.
    Established { token: u32, ends: Ends, is_server: bool },
    /// The connection is over.
    Closed { token: u32 },
    /// One more subflow.
    SubflowEstablished { token: u32 },
    /// One less.
    SubflowClosed { token: u32 },
    /// What a manager of ports has no use for.
    Other,
}

/// What is said to the kernel, and heard of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// `MPTCP_PM_CMD_SUBFLOW_CREATE`.
    Create(Vec<DefaultNla>),
    /// An event.
    Heard(Event),
}

impl Message {
    /// Asks for one more subflow between the addresses of the first, from a port that the kernel chooses.
    pub fn create(wanted: &Wanted) -> Self {
        let Ends { local, remote } = wanted.ends;
        Self::Create(vec![
            DefaultNla::new(pm::TOKEN, wanted.token.to_ne_bytes().to_vec()),
            nest(pm::ADDR, &address(local.ip(), None)),
            nest(pm::ADDR_REMOTE, &address(remote.ip(), Some(remote.port()))),
        ])
    }
}

/// An address, with the number that tells this host's subflows' addresses apart: all have one, so one number serves.
fn address(ip: IpAddr, port: Option<u16>) -> Vec<DefaultNla> {
    let (family, kind, octets) = match ip {
        IpAddr::V4(ip) => (INET, pm::address::ADDR4, ip.octets().to_vec()),
        IpAddr::V6(ip) => (INET6, pm::address::ADDR6, ip.octets().to_vec()),
    };
    let mut list = vec![
        DefaultNla::new(pm::address::FAMILY, family.to_ne_bytes().to_vec()),
        DefaultNla::new(kind, octets),
    ];
    match port {
        Some(port) => list.push(DefaultNla::new(pm::address::PORT, port.to_ne_bytes().to_vec())),
        None => list.push(DefaultNla::new(pm::address::ID, vec![1])),
    }
    list
}

fn nest(kind: u16, list: &[DefaultNla]) -> DefaultNla {
    let mut bytes = vec![0; list.buffer_len()];
    list.emit(&mut bytes);
    DefaultNla::new(kind | NLA_F_NESTED, bytes)
}

impl GenlFamily for Message {
    fn family_name() -> &'static str {
        FAMILY
    }

    fn command(&self) -> u8 {
        // Events are only heard.
        pm::SUBFLOW_CREATE
    }

    fn version(&self) -> u8 {
        VERSION
    }
}

impl Emitable for Message {
    fn buffer_len(&self) -> usize {
        match self {
            Self::Create(list) => list.as_slice().buffer_len(),
            Self::Heard(_) => 0,
        }
    }

    fn emit(&self, buffer: &mut [u8]) {
        if let Self::Create(list) = self {
            list.as_slice().emit(buffer);
        }
    }
}

impl ParseableParametrized<[u8], GenlHeader> for Message {
    fn parse_with_param(bytes: &[u8], header: GenlHeader) -> Result<Self, DecodeError> {
        let said = Said::read(bytes)?;
        let event = match (header.cmd, said.token) {
            (event::ESTABLISHED, Some(token)) => match said.ends() {
                Some(ends) => Event::Established { token, ends, is_server: said.is_server },
                None => Event::Other,
            },
            (event::CLOSED, Some(token)) => Event::Closed { token },
            (event::SUB_ESTABLISHED, Some(token)) => Event::SubflowEstablished { token },
            (event::SUB_CLOSED, Some(token)) => Event::SubflowClosed { token },
            _ => Event::Other,
        };
        Ok(Self::Heard(event))
    }
}

/// What an event carries.
#[derive(Default)]
struct Said {
    token: Option<u32>,
    local: Option<IpAddr>,
    remote: Option<IpAddr>,
    local_port: u16,
    remote_port: u16,
    is_server: bool,
}

impl Said {
    fn read(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut said = Self::default();
        for attribute in NlasIterator::new(bytes) {
            let attribute = attribute?;
            let value = attribute.value();
            match attribute.kind() {
                event::TOKEN => said.token = Some(parse_u32(value)?),
                event::SADDR4 => said.local = Some(ipv4(value)?),
                event::SADDR6 => said.local = Some(ipv6(value)?),
                event::DADDR4 => said.remote = Some(ipv4(value)?),
                event::DADDR6 => said.remote = Some(ipv6(value)?),
                event::SPORT => said.local_port = port(value)?,
                event::DPORT => said.remote_port = port(value)?,
                event::SERVER_SIDE => said.is_server = parse_u8(value)? != 0,
                _ => {}
            }
        }
        Ok(said)
    }

    fn ends(&self) -> Option<Ends> {
        Some(Ends {
            local: SocketAddr::new(self.local?, self.local_port),
            remote: SocketAddr::new(self.remote?, self.remote_port),
        })
    }
}

fn exactly<const N: usize>(value: &[u8]) -> Result<[u8; N], DecodeError> {
    value.try_into().map_err(|_| DecodeError::from(format!("{} bytes in place of {N}", value.len())))
}

fn ipv4(value: &[u8]) -> Result<IpAddr, DecodeError> {
    Ok(Ipv4Addr::from(exactly::<4>(value)?).into())
}

fn ipv6(value: &[u8]) -> Result<IpAddr, DecodeError> {
    Ok(Ipv6Addr::from(exactly::<16>(value)?).into())
}

fn port(value: &[u8]) -> Result<u16, DecodeError> {
    Ok(u16::from_be_bytes(exactly(value)?))
}

/// Commands and their attributes.
mod pm {
    pub const SUBFLOW_CREATE: u8 = 10;
    pub const ADDR: u16 = 1;
    pub const TOKEN: u16 = 4;
    pub const ADDR_REMOTE: u16 = 6;

    pub mod address {
        pub const FAMILY: u16 = 1;
        pub const ID: u16 = 2;
        pub const ADDR4: u16 = 3;
        pub const ADDR6: u16 = 4;
        pub const PORT: u16 = 5;
    }
}

/// Events and their attributes.
mod event {
    pub const ESTABLISHED: u8 = 2;
    pub const CLOSED: u8 = 3;
    pub const SUB_ESTABLISHED: u8 = 10;
    pub const SUB_CLOSED: u8 = 11;
    pub const TOKEN: u16 = 1;
    pub const SADDR4: u16 = 5;
    pub const SADDR6: u16 = 6;
    pub const DADDR4: u16 = 7;
    pub const DADDR6: u16 = 8;
    pub const SPORT: u16 = 9;
    pub const DPORT: u16 = 10;
    pub const SERVER_SIDE: u16 = 18;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(command: u8, attributes: &[(u16, &[u8])]) -> Message {
        let list: Vec<DefaultNla> =
            attributes.iter().map(|(kind, value)| DefaultNla::new(*kind, value.to_vec())).collect();
        let mut bytes = vec![0; list.as_slice().buffer_len()];
        list.as_slice().emit(&mut bytes);
        Message::parse_with_param(&bytes, GenlHeader { cmd: command, version: VERSION }).unwrap()
    }

    #[test]
    fn an_event_names_its_connection_and_both_ends() {
        let token = 9_u32.to_ne_bytes();
        let said = heard(
            event::ESTABLISHED,
            &[
                (event::TOKEN, &token),
                (event::SADDR4, &[10, 0, 0, 1]),
                (event::DADDR4, &[10, 0, 0, 2]),
                (event::SPORT, &[0x10, 0x00]),
                (event::DPORT, &[0, 80]),
                (event::SERVER_SIDE, &[0]),
            ],
        );
        let ends = Ends { local: "10.0.0.1:4096".parse().unwrap(), remote: "10.0.0.2:80".parse().unwrap() };
        assert_eq!(said, Message::Heard(Event::Established { token: 9, ends, is_server: false }));
    }

    #[test]
    fn an_event_without_ends_or_of_an_unknown_kind_says_nothing() {
        let token = 9_u32.to_ne_bytes();
        for command in [event::ESTABLISHED, 99] {
            assert_eq!(heard(command, &[(event::TOKEN, &token)]), Message::Heard(Event::Other));
        }
    }

    #[test]
    fn attributes_of_a_wrong_length_are_refused() {
        let list = [DefaultNla::new(event::SADDR4, vec![10, 0, 0])];
        let mut bytes = vec![0; list.as_slice().buffer_len()];
        list.as_slice().emit(&mut bytes);
        let header = GenlHeader { cmd: event::ESTABLISHED, version: VERSION };
        assert!(Message::parse_with_param(&bytes, header).is_err());
    }
}
