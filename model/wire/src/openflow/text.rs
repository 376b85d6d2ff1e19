//! Names in fields of fixed length.

use super::codec::{Reader, Wire, Writer};
use crate::Malformed;
use std::fmt;

/// A text in a field of `N` bytes, zeros behind it. Bytes behind the first zero say nothing and are kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text<const N: usize>(pub [u8; N]);

impl<const N: usize> Text<N> {
    /// As much of a text as fits, with a zero behind it as the specification asks.
    pub fn new(text: &str) -> Self {
        let mut bytes = [0; N];
        let mut fits = text.len().min(N.saturating_sub(1));
        while !text.is_char_boundary(fits) {
            fits -= 1;
        }
        bytes[..fits].copy_from_slice(&text.as_bytes()[..fits]);
        Self(bytes)
    }

    /// The bytes before the first zero: mostly ASCII, but nobody has to.
    pub fn bytes(&self) -> &[u8] {
        self.0.split(|byte| *byte == 0).next().unwrap_or_default()
    }
}

/// What is no UTF-8 is shown as U+FFFD.
impl<const N: usize> fmt::Display for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&String::from_utf8_lossy(self.bytes()))
    }
}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(self.bytes()))
    }
}

impl<const N: usize> Wire for Text<N> {
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        from.array().map(Self)
    }

    fn write(&self, to: &mut Writer<'_>) {
        to.put(&self.0);
    }
}
