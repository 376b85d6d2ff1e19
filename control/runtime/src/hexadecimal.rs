//! Bytes as pairs of hexadecimal digits, where they are written: to be named by `#[serde(with = …)]`.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The digits of bytes.
pub fn written(bytes: &[u8]) -> String {
    HEXLOWER.encode(bytes)
}

/// The bytes of digits, in small or large letters.
///
/// # Errors
/// No pairs of hexadecimal digits, which the error says.
pub fn read(text: &str) -> Result<Vec<u8>, String> {
    let bytes = HEXLOWER_PERMISSIVE.decode(text.as_bytes());
    bytes.map_err(|why| format!("bytes are pairs of hexadecimal digits: {why}"))
}

/// Writes bytes as a text.
///
/// # Errors
/// The serializer's.
pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&written(bytes))
}

/// Reads bytes from a text.
///
/// # Errors
/// No text, or as with [`read`].
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    read(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// The same of bytes that need not be there.
pub mod optional {
    use super::*;

    #[derive(Serialize, Deserialize)]
    #[serde(transparent)]
    struct Bytes(#[serde(with = "super")] Vec<u8>);

    /// Writes bytes as a text, or nothing.
    ///
    /// # Errors
    /// The serializer's.
    pub fn serialize<S: Serializer>(bytes: &Option<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
        bytes.clone().map(Bytes).serialize(serializer)
    }

    /// Reads bytes from a text, if there is one.
    ///
    /// # Errors
    /// As with [`deserialize`](super::deserialize()).
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<u8>>, D::Error> {
        Ok(Option::<Bytes>::deserialize(deserializer)?.map(|Bytes(bytes)| bytes))
    }
}
