//! Link state advertisements, RFC 2328 section 12.1 and appendix A.4.1.

use super::{Contents, NAME, address, array};
use crate::malformed::take;
use crate::{Fault, Malformed};
use std::cmp::Ordering;
use std::net::Ipv4Addr;

/// Seconds after which an advertisement holds no more; one that is flushed says so from the start.
pub const MAX_AGE: u16 = 3600;
/// Seconds by which ages may differ without telling instances apart.
pub const MAX_AGE_DIFFERENCE: u16 = 900;
/// A bit of the age: it does not grow (RFC 1793).
pub const DO_NOT_AGE: u16 = 0x8000;
/// The number of a router's first instance.
pub const INITIAL_SEQUENCE: i32 = -0x7fff_ffff;
/// The number behind which it starts again.
pub const MAX_SEQUENCE: i32 = 0x7fff_ffff;

/// Kinds of advertisements.
pub mod lsa_kind {
    /// A router's links.
    pub const ROUTER: u8 = 1;
    /// A network's members.
    pub const NETWORK: u8 = 2;
    /// A network of another area.
    pub const SUMMARY: u8 = 3;
    /// A router to the outside, in another area.
    pub const SUMMARY_ROUTER: u8 = 4;
    /// A network outside.
    pub const EXTERNAL: u8 = 5;
    /// A network outside a not so stubby area, RFC 3101.
    pub const NSSA: u8 = 7;
    /// Of the link, the area or everywhere: whatever its users say, RFC 5250.
    pub const OPAQUE: std::ops::RangeInclusive<u8> = 9..=11;
}

/// What tells advertisements apart, but not their instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LsaKey {
    /// Its kind: [`lsa_kind`].
    pub kind: u8,
    /// Which one of its router's.
    pub id: Ipv4Addr,
    /// Whose it is.
    pub router: Ipv4Addr,
}

/// The header of an advertisement, which tells its instances apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LsaHeader {
    /// Seconds since it was made, and [`DO_NOT_AGE`].
    pub age: u16,
    /// What its router can: [`options`](super::options).
    pub options: u8,
    /// Which advertisement it is of.
    pub key: LsaKey,
    /// The number of its instance.
    pub sequence: i32,
    /// Fletcher's checksum of all but the age.
    pub checksum: u16,
    /// Bytes of the whole advertisement, header included.
    pub length: u16,
}

impl LsaHeader {
    /// Its bytes.
    pub const LENGTH: usize = 20;

    pub(super) fn take(bytes: &mut &[u8]) -> Result<Self, Malformed> {
        let age = u16::from_be_bytes(array(bytes)?);
        let [options, kind] = array(bytes)?;
        Ok(Self {
            age,
            options,
            key: LsaKey { kind, id: address(bytes)?, router: address(bytes)? },
            sequence: i32::from_be_bytes(array(bytes)?),
            checksum: u16::from_be_bytes(array(bytes)?),
            length: u16::from_be_bytes(array(bytes)?),
        })
    }

    pub(super) fn emit(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.age.to_be_bytes());
        bytes.extend([self.options, self.key.kind]);
        bytes.extend(self.key.id.octets());
        bytes.extend(self.key.router.octets());
        bytes.extend(self.sequence.to_be_bytes());
        bytes.extend(self.checksum.to_be_bytes());
        bytes.extend(self.length.to_be_bytes());
    }

    /// Its age in seconds, at most [`MAX_AGE`].
    pub fn seconds(&self) -> u16 {
        (self.age & !DO_NOT_AGE).min(MAX_AGE)
    }

    /// Which of two instances is newer: the greater one. Section 13.1.
    pub fn newer(&self, other: &Self) -> Ordering {
        let (age, others) = (self.seconds(), other.seconds());
        let by_age = || match (age == MAX_AGE, others == MAX_AGE) {
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            _ if age.abs_diff(others) > MAX_AGE_DIFFERENCE => others.cmp(&age),
            _ => Ordering::Equal,
        };
        self.sequence.cmp(&other.sequence).then(self.checksum.cmp(&other.checksum)).then_with(by_age)
    }
}

/// An advertisement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lsa {
    /// What it is of.
    pub header: LsaHeader,
    /// What it says, as it lies on the wire: [`contents`](Self::contents) reads it.
    pub body: Vec<u8>,
}

impl Lsa {
    /// An advertisement whose length and checksum fit.
    ///
    /// # Panics
    /// If it would be longer than 65,535 bytes.
    pub fn new(age: u16, options: u8, key: LsaKey, sequence: i32, contents: &Contents) -> Self {
        let mut body = Vec::new();
        contents.emit(&mut body);
        let length = u16::try_from(LsaHeader::LENGTH + body.len()).expect("at most 65,535 bytes");
        let header = LsaHeader { age, options, key, sequence, checksum: 0, length };
        let mut lsa = Self { header, body };
        let (low, high) = lsa.sums();
        // ISO 8473 annex C: the two bytes for which both sums come out as nought. Behind the first of them there are so
        // many.
        let behind = i64::from(length) - 2 - 15;
        let first = (behind * low - high).rem_euclid(255);
        let second = (-low - first).rem_euclid(255);
        let nought_is_255 = |byte: i64| if byte == 0 { 255 } else { byte as u8 };
        lsa.header.checksum = u16::from_be_bytes([nought_is_255(first), nought_is_255(second)]);
        lsa
    }

    /// Reads one that is whole by itself.
    ///
    /// # Errors
    /// A length that is not that of the bytes.
    pub fn parse(mut bytes: &[u8]) -> Result<Self, Malformed> {
        let lsa = Self::take(&mut bytes)?;
        if bytes.is_empty() { Ok(lsa) } else { Err(Fault::Length(lsa.header.length.into()).of(NAME)) }
    }

    pub(super) fn take(bytes: &mut &[u8]) -> Result<Self, Malformed> {
        let header = LsaHeader::take(bytes)?;
        let length = usize::from(header.length);
        let body = length.checked_sub(LsaHeader::LENGTH).ok_or(Fault::Length(length).of(NAME))?;
        let (body, rest) = take(bytes, body, NAME)?;
        *bytes = rest;
        Ok(Self { header, body: body.to_vec() })
    }

    /// Adds its bytes.
    pub fn emit(&self, bytes: &mut Vec<u8>) {
        self.header.emit(bytes);
        bytes.extend(&self.body);
    }

    /// Whether its checksum fits what it says.
    pub fn is_intact(&self) -> bool {
        self.header.checksum != 0 && self.sums() == (0, 0)
    }

    /// What it says.
    ///
    /// # Errors
    /// Bytes that do not say what its kind asks for.
    pub fn contents(&self) -> Result<Contents, Malformed> {
        Contents::parse(self.header.key.kind, &self.body)
    }

    /// Fletcher's two sums, of everything but the age.
    fn sums(&self) -> (i64, i64) {
        let mut header = Vec::with_capacity(LsaHeader::LENGTH);
        self.header.emit(&mut header);
        let add = |(low, high): (i64, i64), byte: &u8| {
            let low = (low + i64::from(*byte)) % 255;
            (low, (high + low) % 255)
        };
        header[2..].iter().chain(&self.body).fold((0, 0), add)
    }
}
