//! Bytes as pairs of hexadecimal digits, in JSON.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&HEXLOWER.encode(bytes))
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let bytes = HEXLOWER_PERMISSIVE.decode(text.as_bytes());
    bytes.map_err(|why| D::Error::custom(format!("bytes are pairs of hexadecimal digits: {why}")))
}
