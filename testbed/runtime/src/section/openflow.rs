//! Nodes of the kinds `ovs` and `controller` as written.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;

/// The kind of a node that is an OpenFlow switch.
pub const SWITCH: &str = "ovs";
/// The kind of a node that runs a controller.
pub const CONTROLLER: &str = "controller";

/// What a controller does: `learning-switch` when not given. Loops are for `routing` alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ControllerApp {
    /// Each switch is a bridge that learns stations by the ports that they are heard on.
    #[default]
    LearningSwitch,
    /// Links and hosts are discovered, and each flow gets one of the shortest ways.
    Routing,
}

impl fmt::Display for ControllerApp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LearningSwitch => "learning-switch",
            Self::Routing => "routing",
        })
    }
}

/// Who tells a switch what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControllerChoice {
    /// Nobody.
    None,
    /// A node of the kind `controller`.
    Node(String),
    /// Whoever listens there, which is for the file to make reachable.
    Address(SocketAddr),
}

impl<'de> Deserialize<'de> for ControllerChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl Visitor<'_> for Written {
            type Value = ControllerChoice;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a node's name, `tcp:ADDRESS:PORT` or `none`")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<ControllerChoice, E> {
                if text == "none" {
                    return Ok(ControllerChoice::None);
                }
                let Some(address) = text.strip_prefix("tcp:") else {
                    return Ok(ControllerChoice::Node(text.to_owned()));
                };
                address.parse().map(ControllerChoice::Address).map_err(|_| {
                    E::custom(format_args!(
                        "expected `tcp:ADDRESS:PORT` such as `tcp:10.0.0.1:6653`, found `{text}`"
                    ))
                })
            }
            // A node may be called `1`.
            fn visit_u64<E: Error>(self, number: u64) -> Result<ControllerChoice, E> {
                Ok(ControllerChoice::Node(number.to_string()))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<ControllerChoice, E> {
                Ok(ControllerChoice::Node(number.to_string()))
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl JsonSchema for ControllerChoice {
    fn schema_name() -> Cow<'static, str> {
        "ControllerChoice".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "integer"],
            "description": "Of an `ovs` node: who tells it what to do, a node of the kind `controller`, \
                `tcp:ADDRESS:PORT`, or `none`. The file's one controller when not given."
        })
    }
}

/// The version of OpenFlow that a switch speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub enum OpenFlowVersion {
    /// 1.0, wire version 1.
    #[serde(rename = "1.0")]
    V10,
    /// 1.3, wire version 4.
    #[default]
    #[serde(rename = "1.3")]
    V13,
}

impl OpenFlowVersion {
    /// As Open vSwitch calls it.
    pub fn protocol(self) -> &'static str {
        match self {
            Self::V10 => "OpenFlow10",
            Self::V13 => "OpenFlow13",
        }
    }
}

impl<'de> Deserialize<'de> for OpenFlowVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl Visitor<'_> for Written {
            type Value = OpenFlowVersion;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a version of OpenFlow, `1.0` or `1.3`")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<OpenFlowVersion, E> {
                match text {
                    "1.0" => Ok(OpenFlowVersion::V10),
                    "1.3" => Ok(OpenFlowVersion::V13),
                    _ => Err(E::custom(format_args!("expected OpenFlow `1.0` or `1.3`, found `{text}`"))),
                }
            }
            // `1.3` is a number to YAML; one digit after the point is told apart by tenths.
            fn visit_f64<E: Error>(self, number: f64) -> Result<OpenFlowVersion, E> {
                self.visit_str(&format!("{number:?}"))
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl JsonSchema for OpenFlowVersion {
    fn schema_name() -> Cow<'static, str> {
        "OpenFlowVersion".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "enum": [1.0, 1.3, "1.0", "1.3"],
            "description": "Of an `ovs` node: the version of OpenFlow that it speaks; 1.3 when not given."
        })
    }
}

/// What an `ovs` node does without its controller: `secure` when it shall have one, else `standalone`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FailMode {
    /// The flows it has, and nothing else.
    Secure,
    /// It becomes a learning bridge.
    Standalone,
}

impl fmt::Display for FailMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Secure => "secure",
            Self::Standalone => "standalone",
        })
    }
}
