//! What of an overlay its members are told, each what is for it: the same in both worlds.

use super::resolve::{Device, Member, Resolved};
use plait_dataplane_overlay::{ApplicationConfig, Carries, Identifier};
use plait_model_overlay::NodeId;

impl Resolved {
    /// How a member's packets travel.
    pub fn config_of(&self, member: &Member) -> ApplicationConfig {
        let mut config = self.config.clone();
        config.to = member.to.clone();
        // What others send to it in.
        config.accepts.extend(self.members.iter().filter_map(|other| other.to.get(&member.id)));
        config
    }

    /// The devices that a member has.
    pub fn devices_of(&self, member: &Member) -> impl Iterator<Item = &Device> {
        self.devices.iter().filter(|device| device.addresses.contains_key(&member.node))
    }

    /// At which members identifiers are behind a device: those that the file names and, of an overlay that carries IP, the addresses of
    /// others than this member.
    pub fn entries_of<'a>(
        &'a self,
        member: &'a Member,
        device: &'a Device,
    ) -> impl Iterator<Item = (Identifier, NodeId)> + 'a {
        let named = device.stations.iter().filter(|(_, node)| *node != member.id).copied();
        let is_ip = self.config.carries == Carries::Ip;
        let others = self.members.iter().filter(move |other| is_ip && other.node != member.node);
        let addresses = others.flat_map(|other| {
            let own = device.addresses.get(&other.node).into_iter().flatten();
            own.map(|address| (Identifier::Network(address.addr().into()), other.id))
        });
        named.chain(addresses)
    }
}
