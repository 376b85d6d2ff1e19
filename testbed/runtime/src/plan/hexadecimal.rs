//! Bytes as pairs of hexadecimal digits, where a state is written.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&HEXLOWER.encode(bytes))
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let bytes = HEXLOWER_PERMISSIVE.decode(text.as_bytes());
    bytes.map_err(|why| D::Error::custom(format!("bytes are pairs of hexadecimal digits: {why}")))
}

/// The same of bytes that need not be there.
pub mod optional {
    use super::*;

    #[derive(Serialize, Deserialize)]
    #[serde(transparent)]
    struct Bytes(#[serde(with = "super")] Vec<u8>);

    pub fn serialize<S: Serializer>(bytes: &Option<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
        bytes.clone().map(Bytes).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<u8>>, D::Error> {
        Ok(Option::<Bytes>::deserialize(deserializer)?.map(|Bytes(bytes)| bytes))
    }
}
