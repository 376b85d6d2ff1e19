//! A link as written: `a-b`, or a map.

use crate::document::Spanned;
use ipnet::IpNet;
use plait_model_link::ConditionsSpec;
use schemars::JsonSchema;
use serde::Deserialize;

/// A link in its long form, without the condition keys, which are those of [`ConditionsSpec`] for both directions.
#[derive(Default, Deserialize, JsonSchema)]
pub(crate) struct LinkFile {
    /// The two ends: `[a, b]`, `[r:eth1, b:eth0]`.
    #[schemars(with = "[String; 2]")]
    pub endpoints: Option<Spanned<Endpoints>>,
    /// Name of the link; `a-b` when not given.
    pub name: Option<Spanned<String>>,
    /// A named set of conditions: `dsl`, `lte`, `wifi`, `satellite`, `wan`. Keys given here win over it.
    pub preset: Option<Spanned<String>>,
    /// Conditions of the direction from the second end to the first, where they differ.
    pub reverse: Option<ConditionsSpec>,
    /// Routing cost; 1 when not given.
    pub cost: Option<Spanned<u32>>,
    /// MTU of both devices, in bytes of IP packet.
    pub mtu: Option<Spanned<Mtu>>,
    /// Prefix to number the link from, such as `10.1.0.0/30`.
    #[schemars(with = "Option<String>")]
    pub prefix: Option<Spanned<IpNet>>,
}

/// An MTU: `1500B`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Mtu(pub u32);

impl<'de> Deserialize<'de> for Mtu {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = plait_model_quantity::ByteCount::deserialize(deserializer)?.bytes();
        match u32::try_from(bytes) {
            Ok(mtu @ 68..=65535) => Ok(Self(mtu)),
            _ => Err(serde::de::Error::custom(format_args!(
                "an MTU is from 68B (RFC 791's least) to 65535B, not {bytes}B"
            ))),
        }
    }
}

impl JsonSchema for Mtu {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Mtu".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        plait_model_quantity::ByteCount::json_schema(generator)
    }
}

/// The two ends of a link.
pub(crate) struct Endpoints(pub [Spanned<EndpointFile>; 2]);

impl<'de> Deserialize<'de> for Endpoints {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ends = Vec::<Spanned<EndpointFile>>::deserialize(deserializer)?;
        let count = ends.len();
        ends.try_into().map(Self).map_err(|_| {
            serde::de::Error::custom(format_args!(
                "a link has two endpoints, this one has {count}; a segment with more members goes under `lans`"
            ))
        })
    }
}

/// `node` or `node:interface`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EndpointFile {
    pub node: String,
    pub interface: Option<String>,
}

impl EndpointFile {
    /// Splits at the first colon.
    pub fn new(text: &str) -> Self {
        match text.split_once(':') {
            Some((node, interface)) => Self { node: node.to_owned(), interface: Some(interface.to_owned()) },
            None => Self { node: text.to_owned(), interface: None },
        }
    }
}

impl<'de> Deserialize<'de> for EndpointFile {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl serde::de::Visitor<'_> for Written {
            type Value = EndpointFile;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("`node` or `node:interface`")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<EndpointFile, E> {
                Ok(EndpointFile::new(text))
            }
            // A node may be called `1`.
            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<EndpointFile, E> {
                Ok(EndpointFile { node: number.to_string(), interface: None })
            }
        }
        deserializer.deserialize_any(Written)
    }
}
