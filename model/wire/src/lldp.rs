//! Link layer discovery, IEEE 802.1AB-2016 chapter 8: who is at the other end of a link.

use crate::ethernet::Mac;
use crate::{Emit, Fault, Malformed};

const NAME: &str = "LLDP";

/// The nearest bridge: no bridge passes it on (section 7.1).
pub const NEAREST_BRIDGE: Mac = Mac([0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e]);

/// Subtype of a chassis or a port: of the sender's own making, "locally assigned".
pub const LOCAL: u8 = 7;

/// ```text
///  0       7        16
/// ┌───────┬────────┬───────────┐
/// │ type  │ length │   value   │
/// │ 7 bit │  9 bit │           │
/// └───────┴────────┴───────────┘
/// ```
const LENGTH_BITS: u16 = 9;
const LONGEST: usize = (1 << LENGTH_BITS) - 1;

mod kind {
    pub const END: u16 = 0;
    pub const CHASSIS: u16 = 1;
    pub const PORT: u16 = 2;
    pub const TIME_TO_LIVE: u16 = 3;
    pub const ORGANISATION: u16 = 127;
}

/// A data unit whose three mandatory parts are there, in their order, and whose other parts end where it does.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    chassis: &'a [u8],
    port: &'a [u8],
    time_to_live: u16,
    others: &'a [u8],
}

impl<'a> Packet<'a> {
    /// A data unit of some bytes, of which those behind its end are padding.
    ///
    /// # Errors
    /// A part that is not there, not in its order or longer than the bytes; no end.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (chassis, rest) = mandatory(bytes, kind::CHASSIS, 2, "chassis")?;
        let (port, rest) = mandatory(rest, kind::PORT, 2, "port")?;
        let (time, others) = mandatory(rest, kind::TIME_TO_LIVE, 2, "time to live")?;
        let mut rest = others;
        loop {
            let (kind, _, behind) = part(rest)?;
            if kind == kind::END {
                let others = &others[..others.len() - rest.len()];
                return Ok(Self {
                    chassis,
                    port,
                    time_to_live: u16::from_be_bytes([time[0], time[1]]),
                    others,
                });
            }
            rest = behind;
        }
    }

    /// Who sends it: a subtype, and an identifier of its kind.
    pub fn chassis(&self) -> (u8, &'a [u8]) {
        (self.chassis[0], &self.chassis[1..])
    }

    /// By which port: a subtype, and an identifier of its kind.
    pub fn port(&self) -> (u8, &'a [u8]) {
        (self.port[0], &self.port[1..])
    }

    /// For how many seconds it is true.
    pub fn time_to_live(&self) -> u16 {
        self.time_to_live
    }

    /// Parts of somebody's own: an organisation's number, its subtype, and a value.
    pub fn organisational(&self) -> impl Iterator<Item = ([u8; 3], u8, &'a [u8])> {
        let mut rest = self.others;
        std::iter::from_fn(move || {
            let (kind, value, behind) = part(rest).ok()?;
            rest = behind;
            Some((kind, value))
        })
        .filter_map(|(kind, value)| match value {
            [a, b, c, subtype, value @ ..] if kind == kind::ORGANISATION => {
                Some(([*a, *b, *c], *subtype, value))
            }
            _ => None,
        })
    }
}

fn part(bytes: &[u8]) -> Result<(u16, &[u8], &[u8]), Malformed> {
    let [high, low, rest @ ..] = bytes else {
        return Err(Fault::Truncated { need: 2, have: bytes.len() }.of(NAME));
    };
    let head = u16::from_be_bytes([*high, *low]);
    let length = usize::from(head) & LONGEST;
    let (value, rest) =
        rest.split_at_checked(length).ok_or(Fault::Truncated { need: length, have: rest.len() }.of(NAME))?;
    Ok((head >> LENGTH_BITS, value, rest))
}

fn mandatory<'a>(
    bytes: &'a [u8],
    due: u16,
    least: usize,
    name: &'static str,
) -> Result<(&'a [u8], &'a [u8]), Malformed> {
    match part(bytes)? {
        (kind, value, rest) if kind == due && value.len() >= least => Ok((value, rest)),
        _ => Err(Fault::Field(name).of(NAME)),
    }
}

/// What a data unit says. Identifiers and values have 255 and 507 bytes at most; what is beyond is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repr {
    /// Who sends it: a subtype, and an identifier of its kind, a byte at least.
    pub chassis: (u8, Vec<u8>),
    /// By which port, likewise.
    pub port: (u8, Vec<u8>),
    /// For how many seconds it is true.
    pub time_to_live: u16,
    /// Parts of somebody's own: an organisation's number, its subtype, and a value. Parts of other kinds are not kept.
    pub organisational: Vec<([u8; 3], u8, Vec<u8>)>,
}

impl Repr {
    /// What a data unit says.
    pub fn of(packet: &Packet<'_>) -> Self {
        let owned = |(subtype, identifier): (u8, &[u8])| (subtype, identifier.to_vec());
        let organisational =
            packet.organisational().map(|(whose, subtype, value)| (whose, subtype, value.to_vec())).collect();
        Self {
            chassis: owned(packet.chassis()),
            port: owned(packet.port()),
            time_to_live: packet.time_to_live,
            organisational,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut put = |kind: u16, head: &[u8], value: &[u8], most: usize| {
            let value = &value[..value.len().min(most)];
            let length = (head.len() + value.len()) as u16;
            bytes.extend_from_slice(&(kind << LENGTH_BITS | length).to_be_bytes());
            bytes.extend_from_slice(head);
            bytes.extend_from_slice(value);
        };
        put(kind::CHASSIS, &[self.chassis.0], &self.chassis.1, 255);
        put(kind::PORT, &[self.port.0], &self.port.1, 255);
        put(kind::TIME_TO_LIVE, &self.time_to_live.to_be_bytes(), &[], 0);
        for ([a, b, c], subtype, value) in &self.organisational {
            put(kind::ORGANISATION, &[*a, *b, *c, *subtype], value, LONGEST - 4);
        }
        put(kind::END, &[], &[], 0);
        bytes
    }
}

impl Emit for Repr {
    fn length(&self) -> usize {
        self.bytes().len()
    }

    fn emit(&self, header: &mut [u8], _: &[u8]) {
        header.copy_from_slice(&self.bytes());
    }
}
