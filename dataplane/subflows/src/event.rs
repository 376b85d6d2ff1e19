//! What the kernel tells of Multipath TCP's connections (linux/mptcp.h, the group of events of `mptcp_pm`).

use netlink_packet_core::{DecodeError, NlasIterator, ParseableParametrized, parse_u8, parse_u32};
use netlink_packet_generic::GenlHeader;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The group that hears them.
pub const EVENTS: &str = "mptcp_pm_events";

/// The ends of a connection's first subflow, but for the port that this host has there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    pub local: IpAddr,
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

impl ParseableParametrized<[u8], GenlHeader> for Event {
    fn parse_with_param(bytes: &[u8], header: GenlHeader) -> Result<Self, DecodeError> {
        let said = Said::read(bytes)?;
        Ok(match (header.cmd, said.token) {
            (kind::ESTABLISHED, Some(token)) => match said.ends() {
                Some(ends) => Self::Established { token, ends, is_server: said.is_server },
                None => Self::Other,
            },
            (kind::CLOSED, Some(token)) => Self::Closed { token },
            (kind::SUB_ESTABLISHED, Some(token)) => Self::SubflowEstablished { token },
            (kind::SUB_CLOSED, Some(token)) => Self::SubflowClosed { token },
            _ => Self::Other,
        })
    }
}

/// What an event carries.
#[derive(Default)]
struct Said {
    token: Option<u32>,
    local: Option<IpAddr>,
    remote: Option<IpAddr>,
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
                attribute::TOKEN => said.token = Some(parse_u32(value)?),
                attribute::SADDR4 => said.local = Some(ipv4(value)?),
                attribute::SADDR6 => said.local = Some(ipv6(value)?),
                attribute::DADDR4 => said.remote = Some(ipv4(value)?),
                attribute::DADDR6 => said.remote = Some(ipv6(value)?),
                attribute::DPORT => said.remote_port = port(value)?,
                attribute::SERVER_SIDE => said.is_server = parse_u8(value)? != 0,
                _ => {}
            }
        }
        Ok(said)
    }

    fn ends(&self) -> Option<Ends> {
        Some(Ends { local: self.local?, remote: SocketAddr::new(self.remote?, self.remote_port) })
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

/// `MPTCP_EVENT_…`
mod kind {
    pub const ESTABLISHED: u8 = 2;
    pub const CLOSED: u8 = 3;
    pub const SUB_ESTABLISHED: u8 = 10;
    pub const SUB_CLOSED: u8 = 11;
}

/// `MPTCP_ATTR_…`
mod attribute {
    pub const TOKEN: u16 = 1;
    pub const SADDR4: u16 = 5;
    pub const SADDR6: u16 = 6;
    pub const DADDR4: u16 = 7;
    pub const DADDR6: u16 = 8;
    pub const DPORT: u16 = 10;
    pub const SERVER_SIDE: u16 = 18;
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink_packet_core::{DefaultNla, Emitable};

    fn heard(command: u8, attributes: &[(u16, &[u8])]) -> Event {
        let list: Vec<DefaultNla> =
            attributes.iter().map(|(kind, value)| DefaultNla::new(*kind, value.to_vec())).collect();
        let mut bytes = vec![0; list.as_slice().buffer_len()];
        list.as_slice().emit(&mut bytes);
        Event::parse_with_param(&bytes, GenlHeader { cmd: command, version: 1 }).unwrap()
    }

    #[test]
    fn an_event_names_its_connection_and_both_ends() {
        let token = 9_u32.to_ne_bytes();
        let said = heard(
            kind::ESTABLISHED,
            &[
                (attribute::TOKEN, &token),
                (attribute::SADDR4, &[10, 0, 0, 1]),
                (attribute::DADDR4, &[10, 0, 0, 2]),
                (attribute::DPORT, &[0, 80]),
                (attribute::SERVER_SIDE, &[0]),
            ],
        );
        let ends = Ends { local: "10.0.0.1".parse().unwrap(), remote: "10.0.0.2:80".parse().unwrap() };
        assert_eq!(said, Event::Established { token: 9, ends, is_server: false });
    }

    #[test]
    fn an_event_without_ends_or_of_an_unknown_kind_says_nothing() {
        let token = 9_u32.to_ne_bytes();
        for command in [kind::ESTABLISHED, 99] {
            assert_eq!(heard(command, &[(attribute::TOKEN, &token)]), Event::Other);
        }
    }

    #[test]
    fn attributes_of_a_wrong_length_are_refused() {
        let list = [DefaultNla::new(attribute::SADDR4, vec![10, 0, 0])];
        let mut bytes = vec![0; list.as_slice().buffer_len()];
        list.as_slice().emit(&mut bytes);
        let header = GenlHeader { cmd: kind::ESTABLISHED, version: 1 };
        assert!(Event::parse_with_param(&bytes, header).is_err());
    }
}
