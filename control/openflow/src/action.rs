//! What is done with a packet, in words that both versions have.

use crate::Port;
use plait_control_runtime::{Mismatch, Type, Value, Wit, wit};
use plait_model_wire::ethernet::Mac;
use plait_model_wire::openflow::v13::GroupId;
use plait_model_wire::openflow::v13::action::ControllerLength;
use plait_model_wire::openflow::v13::oxm::{Masked, Oxm, VlanId};
use plait_model_wire::openflow::{v10, v13};
use smallvec::SmallVec;

/// One thing that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// It leaves by a port.
    Output(Port),
    /// The controller gets so many bytes of it; 0xffff is all of it.
    Controller(u16),
    /// Ethernet's source address is set.
    SetEthSrc([u8; 6]),
    /// Ethernet's destination address is set.
    SetEthDst([u8; 6]),
    /// It gets a VLAN; in 1.0 in place of the one that it has, in 1.3 outside of it.
    SetVlan(u16),
    /// It loses its VLAN.
    StripVlan,
    /// IP's TTL is counted down; not in 1.0.
    DecTtl,
    /// It goes through a group; not in 1.0.
    Group(u32),
}
wit!(variant Action {
    Output(_), Controller(_), SetEthSrc(_), SetEthDst(_), SetVlan(_), StripVlan, DecTtl, Group(_)
});

impl Action {
    fn v10(self) -> Option<v10::Action> {
        Some(match self {
            Self::Output(port) => v10::Action::Output { port: port.v10()?, max_length: 0 },
            Self::Controller(max_length) => {
                v10::Action::Output { port: v10::PortNumber::CONTROLLER, max_length }
            }
            Self::SetEthSrc(address) => v10::Action::SetEthernetSource { address: Mac(address) },
            Self::SetEthDst(address) => v10::Action::SetEthernetDestination { address: Mac(address) },
            Self::SetVlan(id) => v10::Action::SetVlanId { id },
            Self::StripVlan => v10::Action::StripVlan,
            Self::DecTtl | Self::Group(_) => return None,
        })
    }

    fn of_v10(said: &v10::Action) -> Option<Self> {
        Some(match *said {
            v10::Action::Output { port: v10::PortNumber::CONTROLLER, max_length } => {
                Self::Controller(max_length)
            }
            v10::Action::Output { port, .. } => Self::Output(port.into()),
            v10::Action::SetEthernetSource { address } => Self::SetEthSrc(address.0),
            v10::Action::SetEthernetDestination { address } => Self::SetEthDst(address.0),
            v10::Action::SetVlanId { id } => Self::SetVlan(id),
            v10::Action::StripVlan => Self::StripVlan,
            _ => return None,
        })
    }

    /// What one is in 1.3; setting a VLAN is that, whether one was put there or not.
    fn of_v13(said: &v13::Action) -> Option<Self> {
        Some(match said {
            v13::Action::Output { port: v13::PortNumber::CONTROLLER, max_length } => {
                Self::Controller(max_length.0)
            }
            v13::Action::Output { port, .. } => Self::Output((*port).into()),
            v13::Action::SetField(Oxm::EthSrc(Masked { value, mask: None })) => Self::SetEthSrc(value.0),
            v13::Action::SetField(Oxm::EthDst(Masked { value, mask: None })) => Self::SetEthDst(value.0),
            v13::Action::SetField(Oxm::VlanVid(Masked { value, mask: None })) => {
                Self::SetVlan(value.0 & 0xfff)
            }
            v13::Action::PopVlan => Self::StripVlan,
            v13::Action::DecNwTtl => Self::DecTtl,
            v13::Action::Group { group } => Self::Group(group.0),
            _ => return None,
        })
    }

    /// Appends what it is in 1.3, where a VLAN must be there before it is set.
    fn v13(self, to: &mut Vec<v13::Action>) {
        let set = |field| v13::Action::SetField(field);
        let action = match self {
            Self::Output(port) => v13::Action::Output { port: port.into(), max_length: ControllerLength(0) },
            Self::Controller(length) => v13::Action::Output {
                port: v13::PortNumber::CONTROLLER,
                max_length: ControllerLength(length),
            },
            Self::SetEthSrc(address) => set(Oxm::EthSrc(Masked { value: Mac(address), mask: None })),
            Self::SetEthDst(address) => set(Oxm::EthDst(Masked { value: Mac(address), mask: None })),
            Self::SetVlan(id) => {
                to.push(v13::Action::PushVlan { ether_type: 0x8100 });
                set(Oxm::VlanVid(Masked { value: VlanId::of(id), mask: None }))
            }
            Self::StripVlan => v13::Action::PopVlan,
            Self::DecTtl => v13::Action::DecNwTtl,
            Self::Group(group) => v13::Action::Group { group: GroupId(group) },
        };
        to.push(action);
    }
}

/// What is done, in this order; nothing drops the packet. Two need no allocation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Actions(SmallVec<[Action; 2]>);

impl Actions {
    /// It is dropped.
    pub fn drop() -> Self {
        Self::default()
    }

    /// It leaves by a port.
    pub fn output(port: Port) -> Self {
        // In one piece: a collection costs more than all else about a flow.
        Self(SmallVec::from_buf_and_len([Action::Output(port), Action::StripVlan], 1))
    }

    /// One after the other.
    pub fn as_slice(&self) -> &[Action] {
        &self.0
    }

    pub(crate) fn v10(&self) -> Option<SmallVec<[v10::Action; 2]>> {
        self.0.iter().map(|action| action.v10()).collect()
    }

    /// What 1.0 says, if these are words for it.
    pub(crate) fn of_v10(said: &[v10::Action]) -> Option<Self> {
        said.iter().map(Action::of_v10).collect::<Option<_>>().map(Self)
    }

    /// What 1.3 says, if these are words for it.
    pub(crate) fn of_v13(said: &[v13::Action]) -> Option<Self> {
        let (mut all, mut rest) = (SmallVec::new(), said);
        while let [first, after @ ..] = rest {
            rest = after;
            // A VLAN is put there and then set.
            let set = match (first, after) {
                (v13::Action::PushVlan { .. }, [set, after @ ..]) => {
                    rest = after;
                    set
                }
                _ => first,
            };
            all.push(Action::of_v13(set)?);
        }
        Some(Self(all))
    }

    pub(crate) fn v13(&self) -> Vec<v13::Action> {
        let mut all = Vec::with_capacity(self.0.len());
        self.0.iter().for_each(|action| action.v13(&mut all));
        all
    }
}

impl FromIterator<Action> for Actions {
    fn from_iter<I: IntoIterator<Item = Action>>(actions: I) -> Self {
        Self(actions.into_iter().collect())
    }
}

/// A list.
impl Wit for Actions {
    fn schema() -> Type {
        Vec::<Action>::schema()
    }
    fn to_value(&self) -> Value {
        Value::List(self.0.iter().map(Wit::to_value).collect())
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        Vec::<Action>::from_value(value).map(|actions| actions.into_iter().collect())
    }
}
