//! Control applications of a state.

use plait_control_routing::Ground;
use plait_control_runtime::Manifest;
use serde::{Deserialize, Serialize};

/// Who decides all routes, and of what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlState {
    /// In the order in which they run.
    pub applications: Vec<Deciding>,
    /// Who meets whom over which links, under which addresses.
    pub ground: Ground,
}

/// A control application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deciding {
    /// What it says of itself.
    pub manifest: Manifest,
    /// The bytes of its component, as hexadecimal digits where it is written; none of one that is compiled in.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "hexadecimal")]
    pub component: Option<Vec<u8>>,
}

mod hexadecimal {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};
    use std::fmt::Write;

    pub fn serialize<S: Serializer>(bytes: &Option<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(bytes) = bytes else { return serializer.serialize_none() };
        let mut text = String::with_capacity(2 * bytes.len());
        for byte in bytes {
            // Writing to a string never fails.
            let _ = write!(text, "{byte:02x}");
        }
        serializer.serialize_some(&text)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<u8>>, D::Error> {
        let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
        let digits: Option<Vec<u8>> =
            text.chars().map(|letter| letter.to_digit(16).map(|digit| digit as u8)).collect();
        let digits = digits.filter(|digits| digits.len() % 2 == 0);
        let digits = digits.ok_or_else(|| D::Error::custom("bytes are pairs of hexadecimal digits"))?;
        Ok(Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()))
    }
}
