//! The views of iplbd that are not its own: fabrics, access switches and tables, as values.

use crate::fabric::{Fabric, Link, Switch};
use crate::table::{Operation, Table};
use ipnet::IpNet;
use plait_control_runtime::{Mismatch, Type, Value, View, Wit, wit};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

/// The switch that this host is behind: the state `access-switch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessSwitch {
    /// Its router ID.
    pub id: Ipv4Addr,
}
wit!(struct AccessSwitch { id });

impl View for AccessSwitch {
    const NAME: &'static str = "access-switch";
}

impl View for Fabric {
    const NAME: &'static str = "fabric";
}

/// Its switches, and its links by the switches' places. What no fabric is, is a mismatch.
impl Wit for Fabric {
    fn schema() -> Type {
        FabricForm::schema()
    }
    fn to_value(&self) -> Value {
        let switch = |switch: &Switch| SwitchForm {
            id: switch.id,
            relay: switch.relay,
            prefixes: switch.prefixes.iter().copied().map(PrefixForm::of).collect(),
        };
        let switches = self.switches().iter().map(switch).collect();
        FabricForm { switches, links: self.links().to_vec() }.to_value()
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        let FabricForm { switches, links } = FabricForm::from_value(value)?;
        let ids: BTreeSet<Ipv4Addr> = switches.iter().map(|switch| switch.id).collect();
        if ids.len() != switches.len() {
            return Err(Mismatch::new("switches each of an ID of its own", value));
        }
        let is_end = |end: u32| (end as usize) < switches.len();
        if !links.iter().all(|link| is_end(link.from) && is_end(link.to)) {
            return Err(Mismatch::new("links between switches that there are", value));
        }
        let switch = |form: SwitchForm| {
            let prefixes = form.prefixes.into_iter().map(|prefix| prefix.prefix(value));
            Ok(Switch {
                id: form.id,
                relay: form.relay,
                prefixes: prefixes.collect::<Result<_, Mismatch>>()?,
            })
        };
        Ok(Self::new(switches.into_iter().map(switch).collect::<Result<_, Mismatch>>()?, links))
    }
}

struct FabricForm {
    switches: Vec<SwitchForm>,
    links: Vec<Link>,
}
wit!(struct FabricForm { switches, links });
wit!(struct Link { from, to, cost });

struct SwitchForm {
    id: Ipv4Addr,
    relay: Option<IpAddr>,
    prefixes: Vec<PrefixForm>,
}
wit!(struct SwitchForm { id, relay, prefixes });

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct PrefixForm {
    address: IpAddr,
    length: u8,
}
wit!(struct PrefixForm { address, length });

impl PrefixForm {
    fn of(prefix: IpNet) -> Self {
        Self { address: prefix.addr(), length: prefix.prefix_len() }
    }

    fn prefix(self, value: &Value) -> Result<IpNet, Mismatch> {
        IpNet::new(self.address, self.length)
            .map_err(|_| Mismatch::new("a prefix no longer than its address", value))
    }
}

impl View for Table {
    const NAME: &'static str = "relay-lists";
}

/// Pairs of a prefix and its lists, the best first.
impl Wit for Table {
    fn schema() -> Type {
        <BTreeMap<PrefixForm, Vec<Vec<IpAddr>>>>::schema()
    }
    fn to_value(&self) -> Value {
        let set = |(prefix, lists): (&IpNet, &[_])| (PrefixForm::of(*prefix), lists.to_vec());
        self.sets().map(set).collect::<BTreeMap<PrefixForm, Vec<Vec<IpAddr>>>>().to_value()
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        let mut table = Self::default();
        for (prefix, lists) in <Vec<(PrefixForm, Vec<Vec<IpAddr>>)>>::from_value(value)? {
            table.apply(Operation::Set { prefix: prefix.prefix(value)?, lists });
        }
        Ok(table)
    }
}
