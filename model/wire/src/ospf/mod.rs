//! OSPF version 2, RFC 2328: what routers tell each other of the links between them.
//!
//! [`Packet::parse`] reads what IP carries as [`protocol::OSPF`](crate::number::protocol::OSPF), [`Packet::emit`] writes it. Like messages, packets are read
//! into values whole: nobody forwards them, and what they say is kept.
//!
//! | file | what |
//! |---|---|
//! | `hello` | [`Hello`]: that a router is there, and whom it hears |
//! | `exchange` | [`Description`], [`Request`], and the acknowledgement: how two bring their databases into line |
//! | `lsa` | [`Lsa`], a link state advertisement, with its header and Fletcher's checksum |
//! | `contents` | what is in one: [`RouterLinks`], [`NetworkMembers`]; of all other kinds the bytes |
//! | `authentication` | [`Authentication`]: none, a password, or a digest (RFC 5709), which is read and not looked into |

mod authentication;
mod contents;
mod exchange;
mod hello;
mod lsa;

pub use authentication::Authentication;
pub use contents::{Contents, NetworkMembers, RouterLink, RouterLinks, router_bits};
pub use exchange::{Description, Request, description_flags};
pub use hello::{Hello, options};
pub use lsa::{
    DO_NOT_AGE, INITIAL_SEQUENCE, Lsa, LsaHeader, LsaKey, MAX_AGE, MAX_AGE_DIFFERENCE, MAX_SEQUENCE, lsa_kind,
};

use crate::checksum::Sum;
use crate::malformed::take;
use crate::{Fault, Malformed};
use std::net::Ipv4Addr;

const NAME: &str = "OSPF";

/// All routers of a link.
pub const ALL_ROUTERS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 5);
/// The designated router of a link, and its backup.
pub const ALL_DESIGNATED_ROUTERS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 6);

/// ```text
///  0         1         2                    4
/// ┌─────────┬─────────┬────────────────────┐
/// │ version │  type   │       length       │
/// ├─────────┴─────────┴────────────────────┤
/// │               router ID                │
/// ├────────────────────────────────────────┤
/// │                area ID                 │
/// ├───────────────────┬────────────────────┤
/// │     checksum      │  authentication's  │
/// ├───────────────────┤        type        │
/// │                   └────────────────────┤
/// │             authentication             │
/// └────────────────────────────────────────┘
/// ```
const HEADER: usize = 24;
const VERSION: u8 = 2;

mod kind {
    pub const HELLO: u8 = 1;
    pub const DESCRIPTION: u8 = 2;
    pub const REQUEST: u8 = 3;
    pub const UPDATE: u8 = 4;
    pub const ACKNOWLEDGMENT: u8 = 5;
}

/// A packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Who sends it: its router ID.
    pub router: Ipv4Addr,
    /// The area that it is about.
    pub area: Ipv4Addr,
    /// What shows that it may.
    pub authentication: Authentication,
    /// What it says.
    pub body: Body,
}

/// What a packet says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// That its sender is there.
    Hello(Hello),
    /// What is in its sender's database.
    Description(Description),
    /// What it wants of the receiver's.
    Request(Vec<Request>),
    /// Advertisements.
    Update(Vec<Lsa>),
    /// Advertisements that it received.
    Acknowledgment(Vec<LsaHeader>),
}

impl Packet {
    /// Reads a packet. Bytes behind its length, and behind a digest that says it is there, are none of it. Digests are not
    /// checked: whoever has the key does that.
    ///
    /// # Errors
    /// Another version; lengths that do not fit; a wrong checksum; a body that cannot be.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let (header, _) = take(bytes, HEADER, NAME)?;
        if header[0] != VERSION {
            return Err(Fault::Version(header[0]).of(NAME));
        }
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        if length < HEADER {
            return Err(Fault::Length(length).of(NAME));
        }
        let (packet, behind) = take(bytes, length, NAME)?;
        let authentication = Authentication::parse(header, behind)?;
        let sum = Sum::new().add(&packet[..16]).add(&packet[HEADER..]);
        if authentication.has_checksum() && sum.folded() != 0xffff {
            return Err(Fault::Checksum.of(NAME));
        }
        let mut rest = &packet[HEADER..];
        let body = match header[1] {
            kind::HELLO => Body::Hello(Hello::parse(rest)?),
            kind::DESCRIPTION => Body::Description(Description::parse(rest)?),
            kind::REQUEST => Body::Request(all(&mut rest, Request::parse)?),
            kind::UPDATE => {
                let count = u32::from_be_bytes(array(&mut rest)?);
                // A count that lies ends with the bytes, long before memory does.
                let lsas = (0..count).map(|_| Lsa::take(&mut rest)).collect::<Result<_, _>>()?;
                if !rest.is_empty() {
                    return Err(Fault::Length(length).of(NAME));
                }
                Body::Update(lsas)
            }
            kind::ACKNOWLEDGMENT => Body::Acknowledgment(all(&mut rest, LsaHeader::take)?),
            _ => return Err(Fault::Field("type").of(NAME)),
        };
        let address = |at: usize| Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]);
        Ok(Self { router: address(4), area: address(8), authentication, body })
    }

    /// The packet's bytes, with a digest's behind it.
    ///
    /// # Panics
    /// If it would be longer than 65,535 bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut bytes = vec![0; HEADER];
        let kind = match &self.body {
            Body::Hello(hello) => {
                hello.emit(&mut bytes);
                kind::HELLO
            }
            Body::Description(description) => {
                description.emit(&mut bytes);
                kind::DESCRIPTION
            }
            Body::Request(requests) => {
                requests.iter().for_each(|request| request.emit(&mut bytes));
                kind::REQUEST
            }
            Body::Update(lsas) => {
                bytes.extend((lsas.len() as u32).to_be_bytes());
                lsas.iter().for_each(|lsa| lsa.emit(&mut bytes));
                kind::UPDATE
            }
            Body::Acknowledgment(headers) => {
                headers.iter().for_each(|header| header.emit(&mut bytes));
                kind::ACKNOWLEDGMENT
            }
        };
        let length = u16::try_from(bytes.len()).expect("a packet of at most 65,535 bytes");
        bytes[0] = VERSION;
        bytes[1] = kind;
        bytes[2..4].copy_from_slice(&length.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.router.octets());
        bytes[8..12].copy_from_slice(&self.area.octets());
        self.authentication.emit(&mut bytes);
        if self.authentication.has_checksum() {
            let sum = Sum::new().add(&bytes[..16]).add(&bytes[HEADER..]);
            bytes[12..14].copy_from_slice(&sum.checksum().to_be_bytes());
        }
        bytes
    }
}

/// So many bytes as an array, off the front.
fn array<const COUNT: usize>(bytes: &mut &[u8]) -> Result<[u8; COUNT], Malformed> {
    let (first, rest) =
        bytes.split_first_chunk().ok_or(Fault::Truncated { need: COUNT, have: bytes.len() }.of(NAME))?;
    *bytes = rest;
    Ok(*first)
}

fn address(bytes: &mut &[u8]) -> Result<Ipv4Addr, Malformed> {
    array::<4>(bytes).map(Ipv4Addr::from)
}

/// As many as the bytes are.
fn all<T>(
    bytes: &mut &[u8],
    mut one: impl FnMut(&mut &[u8]) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        found.push(one(bytes)?);
    }
    Ok(found)
}
