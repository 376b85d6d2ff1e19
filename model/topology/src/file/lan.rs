//! A LAN as written.

use super::link::{EndpointFile, Mtu};
use crate::document::Spanned;
use ipnet::IpNet;
use plait_model_link::ConditionsSpec;
use schemars::JsonSchema;
use serde::Deserialize;

/// A shared segment. The condition keys beside these hold for every member's way into the segment.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct LanFile {
    /// Its members: `a` or `a:eth1`.
    #[schemars(with = "Vec<String>")]
    pub members: Spanned<Vec<Spanned<EndpointFile>>>,
    /// A named set of conditions: `dsl`, `lte`, `wifi`, `satellite`, `wan`. Keys given here win over it.
    pub preset: Option<Spanned<String>>,
    /// Conditions of the way from the segment to each member, where they differ.
    pub reverse: Option<ConditionsSpec>,
    /// Routing cost; 1 when not given.
    pub cost: Option<Spanned<u32>>,
    /// MTU of its devices, in bytes of IP packet.
    pub mtu: Option<Spanned<Mtu>>,
    /// Prefix to number the segment from, such as `192.168.1.0/24`.
    #[schemars(with = "Option<String>")]
    pub prefix: Option<Spanned<IpNet>>,
}
