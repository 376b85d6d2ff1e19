//! Neighbour solicitation and advertisement of IPv6, RFC 4861 sections 4.3 and 4.4: the messages of ICMPv6 that resolve
//! addresses on a link.

use crate::checksum::Sum;
use crate::ethernet::Mac;
use crate::layout::{U16, U32, header};
use crate::malformed::split;
use crate::number::protocol;
use crate::{Emit, Fault, Malformed};
use std::net::Ipv6Addr;
use zerocopy::IntoBytes;

const NAME: &str = "neighbour discovery";

header! {
    /// ```text
    ///  0      1      2          4
    /// ┌──────┬──────┬──────────┬───────────────────┐
    /// │ type │  0   │ checksum │ R S O, reserved   │
    /// ├──────┴──────┴──────────┴───────────────────┤
    /// │                  target                    │
    /// ├────────────────────────────────────────────┤
    /// │ options: type, length in eights, a value   │
    /// └────────────────────────────────────────────┘
    /// ```
    pub struct Header as "neighbor_header" {
        /// 135 asks, 136 answers.
        pub kind: u8,
        /// 0.
        pub code: u8,
        /// Checksum of the message, with a pseudo header.
        pub checksum: U16,
        /// Of an answer: from a router, solicited, overrides (the highest three bits).
        pub flags: U32,
        /// Whose hardware address is asked for or told.
        pub target: [u8; 16],
    }
}

/// The type of a solicitation.
pub const SOLICITATION: u8 = 135;
/// The type of an advertisement.
pub const ADVERTISEMENT: u8 = 136;
/// Bytes of a message with the option that names a hardware address.
const LENGTH: usize = Header::LENGTH + 8;

/// What a message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Neighbor {
    /// Who has the target? With the hardware address of who asks, unless that has no address yet.
    Solicitation {
        /// Whose hardware address is asked for.
        target: Ipv6Addr,
        /// That of who asks.
        source: Option<Mac>,
    },
    /// The target has this hardware address.
    Advertisement {
        /// Whose hardware address it is.
        target: Ipv6Addr,
        /// The address; what asked one host alone may leave it out.
        mac: Option<Mac>,
        /// Whether it is a router that answers.
        router: bool,
        /// Whether somebody asked.
        solicited: bool,
        /// Whether it counts more than what is known.
        overrides: bool,
    },
}

impl Neighbor {
    /// What a message of ICMPv6 between these addresses says, if it is one of the two.
    ///
    /// # Errors
    /// Another message; a hop limit other than 255, which says that it comes from another link; a checksum or an option
    /// that does not fit.
    pub fn of(
        bytes: &[u8],
        source: Ipv6Addr,
        destination: Ipv6Addr,
        hop_limit: u8,
    ) -> Result<Self, Malformed> {
        let (header, mut options) = split::<Header>(bytes, NAME)?;
        if !matches!((header.kind, header.code), (SOLICITATION | ADVERTISEMENT, 0)) {
            return Err(Fault::Field("type").of(NAME));
        }
        if hop_limit != 255 {
            return Err(Fault::Field("hop limit").of(NAME));
        }
        let pseudo =
            Sum::new().add_pseudo_header(source.into(), destination.into(), protocol::ICMPV6, bytes.len());
        if pseudo.add(bytes).folded() != 0xffff {
            return Err(Fault::Checksum.of(NAME));
        }
        // Source's hardware address is option 1, target's is option 2.
        let wanted = if header.kind == SOLICITATION { 1 } else { 2 };
        let mut mac = None;
        while !options.is_empty() {
            let [kind, eights, ..] = options else {
                return Err(Fault::Truncated { need: 2, have: options.len() }.of(NAME));
            };
            let length = usize::from(*eights) * 8;
            if length == 0 {
                return Err(Fault::Length(0).of(NAME));
            }
            let Some((option, rest)) = options.split_at_checked(length) else {
                return Err(Fault::Truncated { need: length, have: options.len() }.of(NAME));
            };
            if let (true, [_, _, address @ ..]) = (*kind == wanted, option)
                && let Ok(address) = address.try_into()
            {
                mac = Some(Mac(address));
            }
            options = rest;
        }
        let target = header.target.into();
        let flag = |bit: u32| header.flags.get() >> bit & 1 == 1;
        Ok(match header.kind {
            SOLICITATION => Self::Solicitation { target, source: mac },
            _ => Self::Advertisement {
                target,
                mac,
                router: flag(31),
                solicited: flag(30),
                overrides: flag(29),
            },
        })
    }

    /// The message between these addresses.
    pub fn between(self, source: Ipv6Addr, destination: Ipv6Addr) -> Repr {
        Repr { says: self, source, destination }
    }

    /// Whose hardware address it is about.
    pub fn target(&self) -> Ipv6Addr {
        match self {
            Self::Solicitation { target, .. } | Self::Advertisement { target, .. } => *target,
        }
    }
}

/// A message and the addresses that its checksum covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr {
    /// What it says.
    pub says: Neighbor,
    /// Who sends it.
    pub source: Ipv6Addr,
    /// Whom it is for.
    pub destination: Ipv6Addr,
}

impl Emit for Repr {
    fn length(&self) -> usize {
        match self.says {
            Neighbor::Solicitation { source: None, .. } | Neighbor::Advertisement { mac: None, .. } => {
                Header::LENGTH
            }
            _ => LENGTH,
        }
    }

    fn emit(&self, header: &mut [u8], payload: &[u8]) {
        let (kind, flags, option, mac) = match self.says {
            Neighbor::Solicitation { source, .. } => (SOLICITATION, 0, 1, source),
            Neighbor::Advertisement { mac, router, solicited, overrides, .. } => {
                let flags = u32::from(router) << 31 | u32::from(solicited) << 30 | u32::from(overrides) << 29;
                (ADVERTISEMENT, flags, 2, mac)
            }
        };
        let mut fields = Header {
            kind,
            code: 0,
            checksum: 0.into(),
            flags: flags.into(),
            target: self.says.target().octets(),
        };
        let (first, behind) = header.split_at_mut(Header::LENGTH);
        if let Some(Mac(address)) = mac {
            behind[..2].copy_from_slice(&[option, 1]);
            behind[2..].copy_from_slice(&address);
        }
        let length = Header::LENGTH + behind.len() + payload.len();
        let (source, destination) = (self.source.into(), self.destination.into());
        let pseudo = Sum::new().add_pseudo_header(source, destination, protocol::ICMPV6, length);
        fields.checksum = pseudo.add(fields.as_bytes()).add(behind).add(payload).checksum().into();
        first.copy_from_slice(fields.as_bytes());
    }
}
