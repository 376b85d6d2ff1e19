//! `overlays:` as written.

use indexmap::IndexMap;
use ipnet::IpNet;
use plait_dataplane_overlay::{Carries, Encapsulation, Miss};
use plait_model_overlay::NodeId;
use plait_model_quantity::{ByteCount, TimeSpan};
use plait_model_topology::document::Spanned;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer, StrDeserializer, U64Deserializer};
use serde::de::{Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::net::IpAddr;

/// Overlays between nodes, by name.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Overlays(pub IndexMap<Spanned<String>, OverlayForm>);

/// An overlay: a list of its members, or a map.
pub struct OverlayForm(pub Overlay);

/// An overlay.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Overlay {
    /// Its members: a list of nodes, or a map from nodes to what is said of them.
    pub members: Members,
    /// The prefix that its devices' addresses are of, in the order of the members; one, or a list.
    #[serde(default)]
    pub network: Networks,
    /// The virtual network of its device, 24 bits; 1 when not given.
    pub vni: Option<Spanned<u32>>,
    /// Its devices by name, where it has another one than that of its own name.
    pub devices: Option<IndexMap<Spanned<String>, OverlayDevice>>,
    /// Number of the application: 1 to 255; from 7 (Ethernet frames) on in the order of the file when not given.
    pub application: Option<Spanned<u8>>,
    /// What it carries: `ethernet` when not given.
    #[serde(default)]
    pub carries: CarriesWord,
    /// What stands between outer IP and payload: `ovstack` when not given.
    pub encapsulation: Option<Spanned<EncapsulationWord>>,
    /// Who decides routes: `mesh` when not given.
    pub control: Option<ControlForm>,
    /// With `mesh` and `delay`: from one probe to the next; 1s when not given.
    pub interval: Option<Spanned<TimeSpan>>,
    /// With `mesh` and `delay`: how many others a member probes; all when not given.
    pub neighbours: Option<Spanned<u32>>,
    /// The identity that stands for all members: where frames for unknown stations go.
    #[schemars(with = "Option<String>")]
    pub group: Option<Spanned<NodeId>>,
    /// What becomes of packets whose identifiers nobody knows: `group` when not given.
    pub miss: Option<Spanned<MissWord>>,
    /// At which members identifiers are: of `ethernet` hardware addresses, of `ip` addresses beside those of members.
    #[serde(default)]
    pub stations: Stations,
    /// The largest packet of its devices; what fits everywhere when not given.
    pub mtu: Option<Spanned<ByteCount>>,
    /// Whether packets come in by the device below, on which they arrived, rather than by its own.
    #[serde(rename = "in-place")]
    pub in_place: Option<Spanned<bool>>,
    /// Overlay hops of a packet; 60 when not given.
    pub ttl: Option<Spanned<u8>>,
    /// After how long a silent station is forgotten; 5min when not given.
    pub ageing: Option<Spanned<TimeSpan>>,
}

/// A device of an overlay.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OverlayDevice {
    /// The virtual network, 24 bits.
    pub vni: Spanned<u32>,
    /// The prefix that its addresses are of, in the order of the overlay's members.
    #[serde(default)]
    pub network: Networks,
    /// The members that have it; all when not given. Others only pass packets on.
    #[schemars(with = "Option<Vec<String>>")]
    pub members: Option<Vec<Spanned<NodeName>>>,
    /// At which members identifiers are.
    #[serde(default)]
    pub stations: Stations,
    /// The largest packet.
    pub mtu: Option<Spanned<ByteCount>>,
    /// Whether packets come in by the device below, on which they arrived, rather than by this one.
    #[serde(rename = "in-place")]
    pub in_place: Option<Spanned<bool>>,
}

/// Members by the identifiers that are at them.
pub type Stations = IndexMap<Spanned<String>, Spanned<NodeName>>;

/// A member of an overlay.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OverlayMember {
    /// Its identity, four numbers; its place in the order of members when not given.
    #[schemars(with = "Option<String>")]
    pub id: Option<Spanned<NodeId>>,
    /// Addresses of its device, in place of one of `network`.
    #[schemars(with = "Option<Vec<String>>")]
    pub addresses: Option<Vec<Spanned<IpNet>>>,
    /// Where it is reached in the network below: a list, or a map to their weights; all its addresses when not given.
    pub locators: Option<WrittenLocators>,
    /// With `control: static`: to whom its packets for a member, or for the identity of a group, go, in place of straight
    /// there; several get a copy each.
    #[serde(default)]
    pub routes: IndexMap<Spanned<String>, NextHops>,
    /// In what its packets to a member are, where that is another encapsulation than the overlay's.
    #[serde(default)]
    pub to: IndexMap<Spanned<String>, Spanned<EncapsulationWord>>,
}

/// Locators, each with its weight where one is said.
pub struct WrittenLocators(pub Vec<(Spanned<IpAddr>, Option<Spanned<WrittenWeight>>)>);

/// The weight of a locator, which may be none that there is.
#[derive(Debug, Clone, Copy)]
pub struct WrittenWeight(pub i128);

/// A member to which packets go on, or several.
#[derive(Default)]
pub struct NextHops(pub Vec<Spanned<NodeName>>);

/// Members in their order.
#[derive(Default)]
pub struct Members(pub Vec<(Spanned<NodeName>, OverlayMember)>);

/// A prefix, or several.
#[derive(Default)]
pub struct Networks(pub Vec<Spanned<IpNet>>);

/// A node's name; one may be called `1`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NodeName(pub String);

/// What an overlay carries, as written.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CarriesWord {
    /// Ethernet frames, found by hardware addresses that are learned.
    #[default]
    Ethernet,
    /// IP packets, found by addresses that Plait tells.
    Ip,
}

/// What becomes of packets whose identifiers nobody knows, as written.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MissWord {
    /// They are dropped.
    Drop,
    /// Frames go to the group; all else is dropped.
    Group,
    /// They leave by the kernel's own route.
    Kernel,
}

/// Who decides an overlay's routes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ControlWord {
    /// Its members: paths of least delay.
    Delay,
    /// Its members: everyone straight to everyone.
    #[default]
    Mesh,
    /// Nobody: the tables are yours to write.
    None,
    /// Plait, once: everyone straight to everyone.
    Static,
}

/// Who decides an overlay's routes: a word, or a map with what it needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlForm {
    /// By a word alone.
    Word(ControlWord),
    /// A neighbour that speaks BGP EVPN.
    Evpn(OverlayEvpn),
}

/// `evpn` of a map.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OverlayControlMap {
    evpn: OverlayEvpn,
}

/// A neighbour whose BGP EVPN fills an overlay's tables.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OverlayEvpn {
    /// Whom members have a session with, a route reflector say: a node, or an address.
    pub neighbor: Spanned<String>,
    /// The members' AS.
    #[serde(rename = "as")]
    pub as_number: Spanned<u32>,
    /// The neighbour's AS; the same when not given.
    #[serde(rename = "remote-as")]
    pub remote_as: Option<Spanned<u32>>,
    /// Silence after which the neighbour is gone; 9s when not given.
    pub hold: Option<Spanned<TimeSpan>>,
}

/// An encapsulation by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncapsulationWord(pub Encapsulation);

impl From<MissWord> for Miss {
    fn from(word: MissWord) -> Self {
        match word {
            MissWord::Drop => Self::Drop,
            MissWord::Group => Self::Group,
            MissWord::Kernel => Self::Kernel,
        }
    }
}

impl From<CarriesWord> for Carries {
    fn from(word: CarriesWord) -> Self {
        match word {
            CarriesWord::Ethernet => Self::Ethernet,
            CarriesWord::Ip => Self::Ip,
        }
    }
}

impl<'de> Deserialize<'de> for OverlayForm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = OverlayForm;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of members, or a map with `members`")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<OverlayForm, A::Error> {
                let members = Members::deserialize(SeqAccessDeserializer::new(seq))?;
                Ok(OverlayForm(Overlay { members, ..Overlay::default() }))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<OverlayForm, A::Error> {
                Overlay::deserialize(MapAccessDeserializer::new(map)).map(OverlayForm)
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl<'de> Deserialize<'de> for ControlForm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = ControlForm;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`mesh`, `delay`, `static`, `none`, or a map with `evpn`")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<ControlForm, E> {
                ControlWord::deserialize(StrDeserializer::new(text)).map(ControlForm::Word)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ControlForm, A::Error> {
                let map = OverlayControlMap::deserialize(MapAccessDeserializer::new(map))?;
                Ok(ControlForm::Evpn(map.evpn))
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl JsonSchema for ControlForm {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "OverlayControl".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let word = generator.subschema_for::<ControlWord>();
        let evpn = generator.subschema_for::<OverlayEvpn>();
        json_schema!({ "anyOf": [
            word,
            { "type": "object", "properties": { "evpn": evpn }, "required": ["evpn"], "additionalProperties": false },
        ] })
    }
}

impl JsonSchema for OverlayForm {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "OverlayForm".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let overlay = generator.subschema_for::<Overlay>();
        json_schema!({ "anyOf": [{ "type": "array", "items": { "type": ["string", "integer"] } }, overlay] })
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = Members;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of nodes, or a map from nodes to `id`, `addresses` and `locators`")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(name) = seq.next_element()? {
                    members.push((name, OverlayMember::default()));
                }
                Ok(Members(members))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some((name, member)) = map.next_entry::<_, Option<OverlayMember>>()? {
                    members.push((name, member.unwrap_or_default()));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl JsonSchema for Members {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "OverlayMembers".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let member = generator.subschema_for::<OverlayMember>();
        json_schema!({ "anyOf": [
            { "type": "array", "items": { "type": ["string", "integer"] } },
            { "type": "object", "additionalProperties": { "anyOf": [member, { "type": "null" }] } },
        ] })
    }
}

impl<'de> Deserialize<'de> for WrittenLocators {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = WrittenLocators;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of addresses, or a map from addresses to their weights")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<WrittenLocators, A::Error> {
                let mut locators = Vec::new();
                while let Some(locator) = seq.next_element()? {
                    locators.push((locator, None));
                }
                Ok(WrittenLocators(locators))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WrittenLocators, A::Error> {
                let mut locators = Vec::new();
                while let Some(locator) = map.next_entry()? {
                    locators.push(locator);
                }
                Ok(WrittenLocators(locators))
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl JsonSchema for WrittenLocators {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "OverlayLocators".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let weight = json_schema!({ "type": ["integer", "null"], "minimum": 1, "maximum": u8::MAX });
        json_schema!({ "anyOf": [
            { "type": "array", "items": { "type": "string" } },
            { "type": "object", "additionalProperties": weight },
        ] })
    }
}

impl<'de> Deserialize<'de> for WrittenWeight {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl Visitor<'_> for Written {
            type Value = WrittenWeight;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a weight from 1 to 255")
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<WrittenWeight, E> {
                Ok(WrittenWeight(number.into()))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<WrittenWeight, E> {
                Ok(WrittenWeight(number.into()))
            }
        }
        deserializer.deserialize_any(Written)
    }
}

/// What is written once, or in a list.
trait OneOrMore: for<'de> Deserialize<'de> {
    /// What is written, in words.
    const WHAT: &'static str;
}

impl OneOrMore for IpNet {
    const WHAT: &'static str = "a prefix such as `10.99.0.0/24`, or a list of them";
}

impl OneOrMore for NodeName {
    const WHAT: &'static str = "the name of a member, or a list of them";
}

/// Values with their places; of one alone it is that of the whole.
fn one_or_more<'de, T: OneOrMore, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Spanned<T>>, D::Error> {
    struct Written<T>(PhantomData<T>);
    impl<'de, T: OneOrMore> Visitor<'de> for Written<T> {
        type Value = Vec<Spanned<T>>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(T::WHAT)
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
            match T::deserialize(StrDeserializer::<E>::new(text)) {
                Ok(value) => Ok(vec![Spanned::new(value, Default::default())]),
                Err(_) => Err(E::invalid_value(Unexpected::Str(text), &self)),
            }
        }
        fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
            match T::deserialize(U64Deserializer::<E>::new(number)) {
                Ok(value) => Ok(vec![Spanned::new(value, Default::default())]),
                Err(_) => Err(E::invalid_type(Unexpected::Unsigned(number), &self)),
            }
        }
        fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(seq))
        }
    }
    struct Any<T>(Vec<Spanned<T>>);
    impl<'de, T: OneOrMore> Deserialize<'de> for Any<T> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_any(Written(PhantomData)).map(Self)
        }
    }
    let Spanned { value: Any(mut values), span } = Spanned::<Any<T>>::deserialize(deserializer)?;
    for value in values.iter_mut().filter(|value| value.span == Default::default()) {
        value.span = span;
    }
    Ok(values)
}

impl<'de> Deserialize<'de> for Networks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        one_or_more(deserializer).map(Self)
    }
}

impl<'de> Deserialize<'de> for NextHops {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        one_or_more(deserializer).map(Self)
    }
}

impl JsonSchema for NextHops {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "OverlayNextHops".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let name = json_schema!({ "type": ["string", "integer"] });
        json_schema!({ "anyOf": [name, { "type": "array", "items": name }] })
    }
}

impl JsonSchema for NodeName {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "NodeName".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "integer"] })
    }
}

impl JsonSchema for Networks {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "OverlayNetworks".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "array"], "items": { "type": "string" }, "examples": ["10.99.0.0/24"] })
    }
}

impl<'de> Deserialize<'de> for NodeName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl Visitor<'_> for Written {
            type Value = NodeName;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a node")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<NodeName, E> {
                Ok(NodeName(text.to_owned()))
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<NodeName, E> {
                Ok(NodeName(number.to_string()))
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl<'de> Deserialize<'de> for EncapsulationWord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(D::Error::custom)
    }
}

impl JsonSchema for EncapsulationWord {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Encapsulation".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = Encapsulation::ALL.iter().map(|kind| kind.name()).collect();
        json_schema!({ "type": "string", "enum": names })
    }
}
