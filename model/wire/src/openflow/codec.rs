//! How values are read from the wire and written to it: a cursor over borrowed bytes, a writer into a reused buffer, and
//! [`Wire`], which every part of a message has.

use super::TooLong;
use crate::ethernet::Mac;
use crate::{Fault, Malformed};
use std::net::{Ipv4Addr, Ipv6Addr};

/// What is left to read of a message or of a part with a length of its own.
#[derive(Clone)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    whole: usize,
    name: &'static str,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8], name: &'static str) -> Self {
        Self { bytes, whole: bytes.len(), name }
    }

    pub fn left(&self) -> usize {
        self.bytes.len()
    }

    pub fn malformed(&self, fault: Fault) -> Malformed {
        fault.of(self.name)
    }

    pub fn take(&mut self, need: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = crate::malformed::take(self.bytes, need, self.name)?;
        self.bytes = rest;
        Ok(taken)
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self
            .bytes
            .split_first_chunk()
            .ok_or(Fault::Truncated { need: N, have: self.bytes.len() }.of(self.name))?;
        self.bytes = rest;
        Ok(*taken)
    }

    /// Reserved bytes: whatever they are, they mean nothing.
    pub fn pad(&mut self, count: usize) -> Result<(), Malformed> {
        self.take(count).map(drop)
    }

    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }

    /// The next part, which ends before the whole does.
    pub fn part(&mut self, length: usize) -> Result<Reader<'a>, Malformed> {
        Ok(Reader::new(self.take(length)?, self.name))
    }

    /// A part of `length` bytes of which `read` are read already.
    pub fn rest_of(&mut self, length: usize, read: usize) -> Result<Reader<'a>, Malformed> {
        self.part(length.checked_sub(read).ok_or(self.malformed(Fault::Length(length)))?)
    }

    /// A type, a length that counts itself and the type, and the bytes that it covers.
    pub fn tagged(&mut self) -> Result<(u16, Reader<'a>), Malformed> {
        let kind = u16::read(self)?;
        let length = u16::read(self)?;
        Ok((kind, self.rest_of(length.into(), 4)?))
    }

    /// That nothing is left: a length that says more than its type has is wrong.
    pub fn finish(self) -> Result<(), Malformed> {
        if self.bytes.is_empty() { Ok(()) } else { Err(self.malformed(Fault::Length(self.whole))) }
    }
}

/// Bytes of a message that is being written.
pub(crate) struct Writer<'a> {
    bytes: &'a mut Vec<u8>,
    too_long: bool,
}

impl<'a> Writer<'a> {
    /// Writes behind what `bytes` holds; if a length fits no field, `bytes` is as it was.
    pub fn message(
        bytes: &'a mut Vec<u8>,
        version: u8,
        kind: u8,
        xid: u32,
        body: impl FnOnce(&mut Writer<'_>),
    ) -> Result<(), TooLong> {
        let start = bytes.len();
        let mut writer = Writer { bytes, too_long: false };
        writer.put(&[version, kind, 0, 0]);
        writer.put(&xid.to_be_bytes());
        body(&mut writer);
        writer.length(start + 2, start, 0);
        if writer.too_long {
            writer.bytes.truncate(start);
            return Err(TooLong);
        }
        Ok(())
    }

    pub fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub fn pad(&mut self, count: usize) {
        self.bytes.resize(self.bytes.len() + count, 0);
    }

    /// How many bytes are written.
    pub fn place(&self) -> usize {
        self.bytes.len()
    }

    /// Says at `place`, where two bytes wait for it, how long the part is that began at `start`, and `more`.
    pub fn length(&mut self, place: usize, start: usize, more: usize) {
        match u16::try_from(self.bytes.len() - start + more) {
            Ok(length) => self.bytes[place..place + 2].copy_from_slice(&length.to_be_bytes()),
            Err(_) => self.too_long = true,
        }
    }

    /// A length of one byte.
    pub fn short_length(&mut self, place: usize, start: usize) {
        match u8::try_from(self.bytes.len() - start) {
            Ok(length) => self.bytes[place] = length,
            Err(_) => self.too_long = true,
        }
    }

    /// Zeros up to a multiple of eight bytes since `start`.
    pub fn align(&mut self, start: usize) {
        self.pad(padding(self.bytes.len() - start));
    }

    /// A type, a length that counts itself and the type, and what it covers.
    pub fn tagged(&mut self, kind: u16, body: impl FnOnce(&mut Self)) {
        let start = self.place();
        kind.write(self);
        self.pad(2);
        body(self);
        self.length(start + 2, start, 0);
    }
}

/// Bytes from `length` to the next multiple of eight.
pub(crate) fn padding(length: usize) -> usize {
    length.wrapping_neg() % 8
}

/// Something that stands on the wire.
pub(crate) trait Wire: Sized {
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed>;
    fn write(&self, to: &mut Writer<'_>);

    /// All that are left.
    fn read_all(from: &mut Reader<'_>) -> Result<Vec<Self>, Malformed> {
        let mut all = Vec::new();
        while from.left() > 0 {
            all.push(Self::read(from)?);
        }
        Ok(all)
    }

    fn write_all(all: &[Self], to: &mut Writer<'_>) {
        all.iter().for_each(|one| one.write(to));
    }
}

impl Wire for u8 {
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        from.array().map(|[byte]| byte)
    }

    fn write(&self, to: &mut Writer<'_>) {
        to.put(&[*self]);
    }

    fn read_all(from: &mut Reader<'_>) -> Result<Vec<Self>, Malformed> {
        Ok(from.rest().to_vec())
    }

    fn write_all(all: &[Self], to: &mut Writer<'_>) {
        to.put(all);
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Wire for $number {
            fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
                from.array().map(<$number>::from_be_bytes)
            }

            fn write(&self, to: &mut Writer<'_>) {
                to.put(&self.to_be_bytes());
            }
        }
    )*};
}
numbers!(u16 u32 u64);

impl<const N: usize> Wire for [u8; N] {
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        from.array()
    }

    fn write(&self, to: &mut Writer<'_>) {
        to.put(self);
    }
}

impl Wire for Mac {
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        from.array().map(Self)
    }

    fn write(&self, to: &mut Writer<'_>) {
        to.put(&self.0);
    }
}

impl Wire for Ipv4Addr {
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        from.array::<4>().map(Self::from)
    }

    fn write(&self, to: &mut Writer<'_>) {
        to.put(&self.octets());
    }
}

impl Wire for Ipv6Addr {
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        from.array::<16>().map(Self::from)
    }

    fn write(&self, to: &mut Writer<'_>) {
        to.put(&self.octets());
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        T::read_all(from)
    }

    fn write(&self, to: &mut Writer<'_>) {
        T::write_all(self, to);
    }
}

impl<T: Wire> Wire for Box<T> {
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        T::read(from).map(Self::new)
    }

    fn write(&self, to: &mut Writer<'_>) {
        T::write(self, to);
    }
}
