//! The network as people and other programs see it: the state `topology`.

use crate::Set;
use crate::hosts::Hosts;
use crate::links::{Link, Links};
use plait_control_openflow::{PortInfo, Switches};
use plait_control_runtime::{Dag, Manifest, Mismatch, Policy, Type, Value, View, Wit, native, wit};
use serde::Serialize;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// All of it. Choice: the states that it is made of, shared, and written out when somebody reads it: to write out eighty
/// thousand hosts takes a tenth of a second, and nearly always nobody reads what five times a second would be written.
#[derive(Debug, Clone)]
pub struct Topology(Form);

#[derive(Debug, Clone)]
enum Form {
    States { switches: Arc<Switches>, links: Option<Arc<Links>>, hosts: Option<Arc<Hosts>> },
    Written(Written),
}

impl Topology {
    /// All of it, each part in its order.
    pub fn written(&self) -> Cow<'_, Written> {
        match &self.0 {
            Form::States { switches, links, hosts } => {
                Cow::Owned(Written::of(switches, links.as_deref(), hosts.as_deref()))
            }
            Form::Written(written) => Cow::Borrowed(written),
        }
    }
}

impl Wit for Topology {
    fn schema() -> Type {
        Written::schema()
    }
    fn to_value(&self) -> Value {
        self.written().to_value()
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        Written::from_value(value).map(|written| Self(Form::Written(written)))
    }
}

impl View for Topology {
    const NAME: &'static str = "topology";
}

/// A [`Topology`], written out. As JSON, a datapath is 16 hexadecimal digits, since its 64 bits are more than many
/// readers' numbers hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Written {
    /// Switches that are or were connected.
    pub switches: Vec<TopologySwitch>,
    /// Links, each way for itself.
    pub links: Vec<Link>,
    /// Hosts, by hardware address.
    pub hosts: Vec<TopologyHost>,
}
wit!(struct Written { switches, links, hosts });

/// A switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TopologySwitch {
    /// Its datapath.
    pub datapath: String,
    /// Whether there is a connection.
    pub connected: bool,
    /// The version that it speaks: `1.0` or `1.3`.
    pub version: String,
    /// From where it connects.
    pub address: String,
    /// Its ports.
    pub ports: Vec<TopologyPort>,
}
wit!(struct TopologySwitch { datapath, connected, version, address, ports });

/// A port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TopologyPort {
    /// Its number.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// Whether it is up.
    pub up: bool,
}
wit!(struct TopologyPort { number, name, up });

/// A host.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct TopologyHost {
    /// Its hardware address.
    pub mac: String,
    /// Its IP addresses.
    pub addresses: Vec<String>,
    /// The datapath of the switch that it is at.
    pub switch: String,
    /// The port that it is behind.
    pub port: u32,
}
wit!(struct TopologyHost { mac, addresses, switch, port });

/// A datapath as people write it.
pub(crate) fn datapath(switch: u64) -> String {
    format!("{switch:016x}")
}

/// The application that puts all of it together, five times a second at most.
pub fn topology() -> Set {
    let policy = Policy { min_interval: Duration::from_millis(200), ..Policy::default() };
    Set::default()
        .with(
            Manifest::new("topology")
                .reads("switches@1")
                .reads("links@1?")
                .reads("hosts@1?")
                .writes("topology@1"),
            native(|(switches, links, hosts)| Ok((Topology(Form::States { switches, links, hosts }),))),
        )
        .dag(
            Dag::chain("topology", &["topology"]).on("switches@1").on("links@1").on("hosts@1").policy(policy),
        )
}

impl Written {
    fn of(switches: &Switches, links: Option<&Links>, hosts: Option<&Hosts>) -> Self {
        let port =
            |port: &PortInfo| TopologyPort { number: port.number.0, name: port.name.clone(), up: port.up };
        let mut found: Vec<TopologySwitch> = switches
            .known
            .iter()
            .map(|(switch, info)| TopologySwitch {
                datapath: datapath(*switch),
                connected: info.connected,
                version: if info.version == 1 { "1.0".into() } else { "1.3".into() },
                address: info.address.clone(),
                ports: info.ports.iter().map(port).collect(),
            })
            .collect();
        found.sort_by(|one, other| one.datapath.cmp(&other.datapath));
        let mut all: Vec<TopologyHost> = hosts
            .into_iter()
            .flat_map(Hosts::iter)
            .map(|host| TopologyHost {
                mac: host.mac.to_string(),
                addresses: host.addresses.iter().map(ToString::to_string).collect(),
                switch: datapath(host.switch),
                port: host.port.0,
            })
            .collect();
        all.sort();
        Self { switches: found, links: links.map_or_else(Vec::new, |links| links.list.clone()), hosts: all }
    }
}
