//! Port numbers as both versions can say them.

use plait_control_runtime::{Mismatch, Type, Value, Wit};
use plait_model_wire::openflow::{v10, v13};

/// A port of a switch, with 1.3's numbers: those of the switch itself begin with 1, and the reserved ones lie at the
/// end. 1.0 has the same ones in 16 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u32);

/// The least of 1.0's reserved ports; no port of such a switch has a number as high.
const RESERVED: u16 = 0xff00;
/// What a reserved port of 1.3 has more than 1.0's.
const ABOVE: u32 = 0xffff_0000;

impl Port {
    /// Back by the port that the packet came by.
    pub const IN_PORT: Self = Self(v13::PortNumber::IN_PORT.0);
    /// Through the flow table; in a packet-out only.
    pub const TABLE: Self = Self(v13::PortNumber::TABLE.0);
    /// By the spanning tree that the switch maintains, but not back.
    pub const FLOOD: Self = Self(v13::PortNumber::FLOOD.0);
    /// By every port but that which the packet came by.
    pub const ALL: Self = Self(v13::PortNumber::ALL.0);
    /// To the controller.
    pub const CONTROLLER: Self = Self(v13::PortNumber::CONTROLLER.0);
    /// To the switch's own stack.
    pub const LOCAL: Self = Self(v13::PortNumber::LOCAL.0);
    /// Any port, or none.
    pub const ANY: Self = Self(v13::PortNumber::ANY.0);

    /// Whether it is one of the switch, not one that means something else.
    #[inline]
    pub fn is_physical(self) -> bool {
        (1..=v13::PortNumber::MAX.0).contains(&self.0)
    }

    /// Its number in 1.0, unless that has none so high.
    pub fn v10(self) -> Option<v10::PortNumber> {
        let low = if self.0 >= ABOVE { self.0 - ABOVE } else { self.0 };
        let reserved = self.0 >= ABOVE | u32::from(RESERVED);
        let number = u16::try_from(low).ok()?;
        (reserved || (self.0 < ABOVE && number <= RESERVED)).then_some(v10::PortNumber(number))
    }
}

impl From<v10::PortNumber> for Port {
    fn from(port: v10::PortNumber) -> Self {
        let number = u32::from(port.0);
        Self(if port.0 > RESERVED { number | ABOVE } else { number })
    }
}

impl From<v13::PortNumber> for Port {
    fn from(port: v13::PortNumber) -> Self {
        Self(port.0)
    }
}

impl From<Port> for v13::PortNumber {
    fn from(port: Port) -> Self {
        Self(port.0)
    }
}

/// A `u32`.
impl Wit for Port {
    fn schema() -> Type {
        Type::U32
    }
    fn to_value(&self) -> Value {
        Value::U32(self.0)
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        u32::from_value(value).map(Self)
    }
}
