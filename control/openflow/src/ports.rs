//! The ports of a switch.

use crate::{Port, PortInfo};
use plait_control_runtime::{Mismatch, Type, Value, Wit};
use plait_model_wire::openflow::{v10, v13};
use rpds::RedBlackTreeMapSync;

/// The ports of a switch, by number. A copy costs nothing and a change little, however many there are: what a switch says of one
/// port is told to all who know it, as often as it says so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ports(RedBlackTreeMapSync<Port, PortInfo>);

impl Ports {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.size()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A port by its number.
    pub fn get(&self, number: Port) -> Option<&PortInfo> {
        self.0.get(&number)
    }

    /// All, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &PortInfo> {
        self.0.values()
    }

    /// Puts one in the place of that of its number, if there is one.
    pub fn insert(&mut self, port: PortInfo) {
        self.0.insert_mut(port.number, port);
    }

    /// Takes one away, if it is there.
    pub fn remove(&mut self, number: Port) {
        self.0.remove_mut(&number);
    }
}

impl FromIterator<PortInfo> for Ports {
    fn from_iter<I: IntoIterator<Item = PortInfo>>(ports: I) -> Self {
        let mut all = Self::default();
        ports.into_iter().for_each(|port| all.insert(port));
        all
    }
}

/// `list<port-info>`, by number.
impl Wit for Ports {
    fn schema() -> Type {
        Vec::<PortInfo>::schema()
    }
    fn to_value(&self) -> Value {
        self.iter().cloned().collect::<Vec<_>>().to_value()
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        Ok(Vec::<PortInfo>::from_value(value)?.into_iter().collect())
    }
}

impl From<&v10::Port> for PortInfo {
    fn from(port: &v10::Port) -> Self {
        let down = port.config.contains(v10::port::PortConfig::PORT_DOWN)
            || port.state.contains(v10::port::PortState::LINK_DOWN);
        Self {
            number: port.number.into(),
            name: port.name.to_string(),
            address: port.address.0,
            up: !down,
            speed: None,
        }
    }
}

impl From<&v13::Port> for PortInfo {
    fn from(port: &v13::Port) -> Self {
        let down = port.config.contains(v13::port::PortConfig::PORT_DOWN)
            || port.state.contains(v13::port::PortState::LINK_DOWN);
        Self {
            number: port.number.into(),
            name: port.name.to_string(),
            address: port.address.0,
            up: !down,
            speed: (port.current_speed != 0).then_some(port.current_speed),
        }
    }
}
