//! What of an overlay its members are told, each what is for it: the same in both worlds.

use super::resolve::{Device, Member, Resolved};
use plait_control_overlay::{Routes, mesh};
use plait_dataplane_overlay::{ApplicationConfig, Carries, Identifier};
use plait_model_overlay::{Locators, NodeId};
use std::net::IpAddr;

impl Member {
    /// Where it is reached, and by what share of its flows at each: the usual one where the file says none.
    pub fn weighted(&self, locators: impl IntoIterator<Item = IpAddr>) -> Locators {
        let weight = |locator: &IpAddr| self.weights.get(locator).copied().unwrap_or_default();
        locators.into_iter().map(|locator| (locator, weight(&locator))).collect()
    }
}

impl Resolved {
    /// How a member's packets travel.
    pub fn config_of(&self, member: &Member) -> ApplicationConfig {
        let mut config = self.config.clone();
        config.to = member.to.clone();
        // What others send to it in.
        config.accepts.extend(self.members.iter().filter_map(|other| other.to.get(&member.id)));
        config
    }

    /// To whom a member's packets for others, or for groups, go where that is not straight there, and to all of a group.
    ///
    /// Choice: who gets a packet for a group whose header says so passes it on to all of the group's next hops but the one that it
    /// came from. Where those are all members, copies would come back manifold; so what is for the group goes as in a mesh, unless
    /// the file says of any member where that goes.
    pub fn routes_of(&self, member: &Member) -> Routes {
        let mut routes = member.routes.clone();
        let passes_on = self.is_static && self.config.encapsulation.names_nodes();
        if let Some(group) = self.config.group.filter(|group| passes_on && !self.says_way_of(*group)) {
            let all = self.members.iter().map(|member| member.id).collect();
            routes.extend(mesh(member.id, &all, Some(group)).remove_entry(&group));
        }
        routes
    }

    /// Whether the file says of any member to whom its packets for a group go.
    fn says_way_of(&self, group: NodeId) -> bool {
        self.members.iter().any(|member| member.routes.contains_key(&group))
    }

    /// The devices that a member has.
    pub fn devices_of(&self, member: &Member) -> impl Iterator<Item = &Device> {
        self.devices.iter().filter(|device| device.addresses.contains_key(&member.node))
    }

    /// At which members identifiers are behind a device: those that the file names and, of an overlay that carries IP, the addresses
    /// of others than this member.
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
