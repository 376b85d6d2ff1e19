//! Bytes as pairs of hexadecimal digits, in JSON.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};
use std::fmt::Write;

pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a string never fails.
        let _ = write!(digits, "{byte:02x}");
    }
    serializer.serialize_str(&digits)
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    bytes(&text).ok_or_else(|| D::Error::custom("bytes are pairs of hexadecimal digits"))
}

/// The bytes that a text stands for.
pub fn bytes(text: &str) -> Option<Vec<u8>> {
    let digit = |digit: &u8| char::from(*digit).to_digit(16).map(|value| value as u8);
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    };
    text.as_bytes().chunks(2).map(pair).collect()
}
