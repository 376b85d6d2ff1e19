//! What `overlays:` means in a network, with every default applied and every name resolved.

mod entries;

use super::feed::Feed;
use crate::section::{
    ControlForm, ControlWord, Members, Networks, NodeName, Overlay, OverlayDevice, Overlays, WrittenWeight,
};
use ipnet::IpNet;
use plait_dataplane_overlay::{
    ApplicationConfig, BadConfig, Carries, ControlKind, DeviceConfig, Encapsulation, Identifier, Miss,
};
use plait_model_overlay::{Application, Locators, NodeId, Weight};
use plait_model_quantity::{ByteCount, TimeSpan};
use plait_model_topology::Network;
use plait_model_topology::diagnostic::{Diagnostic, suggest};
use plait_model_topology::document::{Span, Spanned};
use plait_model_topology::network::NodeIndex;
use plait_model_topology::vocabulary::Role;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An overlay.
pub struct Resolved {
    /// Its name.
    pub name: String,
    /// Its number.
    pub application: Application,
    /// What it carries, and how.
    pub config: ApplicationConfig,
    /// Its members, in the order of the file.
    pub members: Vec<Member>,
    /// Its devices.
    pub devices: Vec<Device>,
    /// Whether Plait writes the tables once.
    pub is_static: bool,
    /// Who fills them otherwise, if not the user.
    pub plane: Option<Plane>,
    /// A control plane that is there already.
    pub feed: Option<Feed>,
}

/// Who fills the tables of an overlay.
pub struct Plane {
    /// How routes are decided.
    pub kind: ControlKind,
    /// Milliseconds from one probe to the next.
    pub interval: u64,
    /// How many others a member probes; all if not said.
    pub neighbours: Option<usize>,
}

/// A member of an overlay.
pub struct Member {
    /// The node.
    pub node: NodeIndex,
    /// Its identity.
    pub id: NodeId,
    /// Where it is reached, as given.
    pub locators: Option<BTreeSet<IpAddr>>,
    /// Weights of those, where the file says them.
    pub weights: Locators,
    /// To whom its packets for others, or for groups, go where that is not straight there.
    pub routes: BTreeMap<NodeId, BTreeSet<NodeId>>,
    /// In what its packets to others are, where that is not the overlay's encapsulation.
    pub to: BTreeMap<NodeId, Encapsulation>,
    /// Where it was written.
    pub span: Span,
}

/// A device of an overlay.
pub struct Device {
    /// What it is.
    pub config: DeviceConfig,
    /// Addresses of the members that have it.
    pub addresses: BTreeMap<NodeIndex, Vec<IpNet>>,
    /// Prefixes that addresses were taken from.
    pub networks: Vec<Spanned<IpNet>>,
    /// At which members identifiers are.
    pub stations: Vec<(Identifier, NodeId)>,
}

/// The group of an overlay of Ethernet frames, where the file names none.
const GROUP: NodeId = NodeId(0xe000_0001);
/// The virtual network of a device, where the file names none.
const VNI: u32 = 1;

/// What overlays of a file mean.
///
/// # Errors
/// Everything that is wrong with them.
pub fn resolve(overlays: &Overlays, network: &Network) -> Result<Vec<Resolved>, Vec<Diagnostic>> {
    let mut resolver = Resolver {
        network,
        nodes: network.nodes.iter().enumerate().map(|(index, node)| (node.name.as_str(), index)).collect(),
        applications: BTreeMap::new(),
        devices: BTreeMap::new(),
        faults: Vec::new(),
    };
    for overlay in overlays.0.values() {
        resolver.number(&overlay.0);
    }
    let resolved: Vec<_> =
        overlays.0.iter().map(|(name, overlay)| resolver.overlay(name, &overlay.0)).collect();
    resolver.meeting(&resolved);
    if resolver.faults.is_empty() { Ok(resolved) } else { Err(resolver.faults) }
}

struct Resolver<'a> {
    network: &'a Network,
    nodes: HashMap<&'a str, NodeIndex>,
    /// Numbers that are taken, and where.
    applications: BTreeMap<u8, Span>,
    /// Devices that nodes have, and where they are named.
    devices: BTreeMap<(NodeIndex, String), Span>,
    faults: Vec<Diagnostic>,
}

impl Resolver<'_> {
    fn fault(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.faults.push(Diagnostic::new(span, message).help(help));
    }

    /// Takes the number that an overlay gives itself.
    fn number(&mut self, overlay: &Overlay) {
        let Some(number) = overlay.application else { return };
        if number.value == 0 {
            self.fault(number.span, "0 is no application of an overlay", "write a number from 1 to 255");
        }
        if let Some(first) = self.applications.insert(number.value, number.span) {
            self.faults.push(
                Diagnostic::new(number.span, format!("two overlays are application {}", number.value))
                    .note(first, "the first")
                    .help("give one of them another number, or leave it out"),
            );
        }
    }

    fn application(&mut self, overlay: &Overlay, span: Span) -> Application {
        if let Some(number) = overlay.application {
            return Application(number.value);
        }
        let first = Application::ETHERNET.0;
        match (first..=u8::MAX).chain(1..first).find(|number| !self.applications.contains_key(number)) {
            Some(free) => {
                self.applications.insert(free, span);
                Application(free)
            }
            None => {
                self.fault(span, "there are more than 255 overlays", "join some of them as virtual networks");
                Application(first)
            }
        }
    }

    fn overlay(&mut self, name: &Spanned<String>, overlay: &Overlay) -> Resolved {
        let application = self.application(overlay, name.span);
        let carries = Carries::from(overlay.carries);
        let control = overlay.control.clone().unwrap_or(ControlForm::Word(ControlWord::default()));
        let usual = match control {
            ControlForm::Evpn(_) => Encapsulation::Vxlan,
            ControlForm::Word(_) => Encapsulation::default(),
        };
        let encapsulation = overlay.encapsulation.map_or(usual, |word| word.value.0);
        let group = overlay.group.map(|group| group.value);
        let group = group.or((carries == Carries::Ethernet).then_some(GROUP));
        let config = ApplicationConfig {
            carries,
            ttl: overlay.ttl.map_or(ApplicationConfig::default().ttl, |ttl| ttl.value),
            encapsulation,
            group,
            miss: overlay.miss.map_or(Miss::default(), |word| word.value.into()),
            vni: first_vni(overlay),
            ..ApplicationConfig::default()
        };
        // A virtual network is that of a device, which is looked at below.
        if let Err(error) = config.check()
            && !matches!(error, BadConfig::Vni(_))
        {
            let span = match error {
                BadConfig::MissedFrames => overlay.miss.map(|word| word.span),
                _ => overlay.encapsulation.map(|word| word.span),
            };
            let span = span.or(overlay.ttl.map(|ttl| ttl.span)).unwrap_or(name.span);
            self.faults.push(Diagnostic::new(span, error.to_string()));
        }
        let is_static = control == ControlForm::Word(ControlWord::Static);
        let mut members = self.members(name, &overlay.members, config.group);
        self.ways(&mut members, &overlay.members, &config, &control);
        if is_static {
            self.mixed(&overlay.members, &config, &members);
        }
        let devices = self.devices(name, overlay, application, &config, &members);
        let plane = self.plane(&control, overlay);
        let feed = match &control {
            ControlForm::Evpn(written) => match Feed::resolve(written, &config, self.network) {
                Ok(feed) => Some(feed),
                Err(faults) => {
                    self.faults.extend(faults);
                    None
                }
            },
            ControlForm::Word(_) => None,
        };
        let whole = overlay.encapsulation.map_or(name.span, |word| word.span);
        self.floods(whole, config.encapsulation, &members, carries, &control);
        Resolved { name: name.value.clone(), application, config, members, devices, is_static, plane, feed }
    }

    fn members(&mut self, name: &Spanned<String>, written: &Members, group: Option<NodeId>) -> Vec<Member> {
        if written.0.is_empty() {
            self.fault(name.span, format!("overlay `{}` has no members", name.value), "name some nodes");
        }
        let mut members: Vec<Member> = Vec::new();
        for (at, (node, told)) in written.0.iter().enumerate() {
            let Some(index) = self.node(node) else { continue };
            if self.network.nodes[index].role == Role::Switch {
                self.fault(
                    node.span,
                    format!("`{}` is a switch, which has no address to be reached at", node.value.0),
                    "take hosts and routers",
                );
                continue;
            }
            if let Some(first) = members.iter().find(|member| member.node == index) {
                self.faults.push(
                    Diagnostic::new(node.span, format!("`{}` is a member twice", node.value.0))
                        .note(first.span, "the first time"),
                );
                continue;
            }
            let id = told.id.map_or(NodeId(at as u32 + 1), |id| id.value);
            let span = told.id.map_or(node.span, |id| id.span);
            if id == NodeId(0) || Some(id) == group {
                self.fault(
                    span,
                    format!("{id} can be no member's identity"),
                    "0.0.0.0 is nobody, and the group's stands for all",
                );
            }
            if let Some(first) = members.iter().find(|member| member.id == id) {
                self.faults.push(
                    Diagnostic::new(span, format!("two members have the identity {id}"))
                        .note(first.span, "the first")
                        .help("give one of them another `id`; without it the place in the order counts"),
                );
            }
            let locators = told.locators.as_ref().map(|all| &all.0);
            if locators.is_some_and(Vec::is_empty) {
                self.fault(node.span, "a member without locators is never reached", "leave out `locators`");
            }
            let weights = self.weights(locators.into_iter().flatten());
            let locators = locators.map(|all| all.iter().map(|(locator, _)| locator.value).collect());
            let (routes, to) = Default::default();
            members.push(Member { node: index, id, locators, weights, routes, to, span: node.span });
        }
        members
    }

    /// The weights that a member's locators are given.
    fn weights<'w>(
        &mut self,
        locators: impl Iterator<Item = &'w (Spanned<IpAddr>, Option<Spanned<WrittenWeight>>)>,
    ) -> Locators {
        let mut weights = Locators::new();
        for (locator, weight) in locators {
            let Some(Spanned { value: WrittenWeight(number), span }) = *weight else { continue };
            match u8::try_from(number).ok().and_then(|number| Weight::try_from(number).ok()) {
                Some(weight) => {
                    if weights.insert(locator.value, weight).is_some_and(|before| before != weight) {
                        let text = format!("a second weight of {}", locator.value);
                        self.fault(span, text, "write each locator once, however it is spelled");
                    }
                }
                None => {
                    let help = format!(
                        "write a number from 1 to 255, the share of {} among the member's locators; leave out a locator \
                         that nothing is to be sent to",
                        locator.value
                    );
                    self.fault(span, format!("a weight of {number}"), help);
                }
            }
        }
        weights
    }

    fn node(&mut self, name: &Spanned<NodeName>) -> Option<NodeIndex> {
        let found = self.nodes.get(name.value.0.as_str()).copied();
        if found.is_none() {
            let known = self.network.nodes.iter().map(|node| node.name.as_str());
            let help = suggest(&name.value.0, known);
            self.fault(name.span, format!("unknown node `{}`", name.value.0), help);
        }
        found
    }

    fn devices(
        &mut self,
        name: &Spanned<String>,
        overlay: &Overlay,
        application: Application,
        config: &ApplicationConfig,
        members: &[Member],
    ) -> Vec<Device> {
        let Some(written) = &overlay.devices else {
            let vni = overlay.vni.unwrap_or(Spanned::new(VNI, name.span));
            let whole = (name, vni, overlay.mtu, &overlay.network);
            return vec![self.device(whole, None, overlay, application, config, members)];
        };
        let own = [
            overlay.vni.map(|vni| vni.span),
            overlay.mtu.map(|mtu| mtu.span),
            overlay.in_place.map(|in_place| in_place.span),
            overlay.network.0.first().map(|network| network.span),
            overlay.stations.keys().next().map(|station| station.span),
        ];
        for span in own.into_iter().flatten() {
            self.fault(span, "an overlay with `devices` says this of each of them", "write it in `devices`");
        }
        let given = overlay.members.0.iter().find_map(|(_, member)| member.addresses.as_ref()?.first());
        if let Some(given) = given {
            self.fault(
                given.span,
                "addresses of members are those of an overlay's only device",
                "give its `devices` a `network` each",
            );
        }
        let mut vnis: BTreeMap<u32, Span> = BTreeMap::new();
        let mut devices = Vec::new();
        for (device, told) in written {
            if let Some(first) = vnis.insert(told.vni.value, told.vni.span) {
                self.faults.push(
                    Diagnostic::new(told.vni.span, format!("two devices are of VNI {}", told.vni.value))
                        .note(first, "the first"),
                );
            }
            let whole = (device, told.vni, told.mtu, &told.network);
            devices.push(self.device(whole, Some(told), overlay, application, config, members));
        }
        devices
    }

    /// A device, as its name, VNI, MTU and networks say.
    fn device(
        &mut self,
        (name, vni, mtu, networks): (&Spanned<String>, Spanned<u32>, Option<Spanned<ByteCount>>, &Networks),
        told: Option<&OverlayDevice>,
        overlay: &Overlay,
        application: Application,
        config: &ApplicationConfig,
        members: &[Member],
    ) -> Device {
        let bytes = mtu.map(|mtu| u32::try_from(mtu.value.bytes()).unwrap_or(u32::MAX));
        let in_place = told.map_or(overlay.in_place, |told| told.in_place);
        let mut device = DeviceConfig {
            mtu: bytes,
            in_place: in_place.is_some_and(|in_place| in_place.value),
            ..DeviceConfig::new(&name.value, application, vni.value)
        };
        if let Some(ageing) = overlay.ageing {
            match seconds(ageing.value) {
                Some(whole) => device.ageing = whole,
                None => {
                    self.fault(
                        ageing.span,
                        "ageing is counted in whole seconds",
                        "write a time such as `5min`",
                    );
                }
            }
        }
        if let Err(error) = device.check() {
            let span = match (&error, mtu) {
                (BadConfig::Vni(_), _) => vni.span,
                (BadConfig::Mtu(_), Some(mtu)) => mtu.span,
                _ => name.span,
            };
            self.faults.push(Diagnostic::new(span, error.to_string()));
        } else if config.check_vni(vni.value).is_err() {
            self.fault(
                vni.span,
                format!("{} does not name virtual networks: all devices would be one", config.encapsulation),
                "give the overlay one device, or write `encapsulation: geneve`",
            );
        }
        let chosen: BTreeSet<NodeIndex> = match told.and_then(|told| told.members.as_ref()) {
            None => members.iter().map(|member| member.node).collect(),
            Some(names) => names
                .iter()
                .filter_map(|node| {
                    let index = self.node(node)?;
                    if members.iter().all(|member| member.node != index) {
                        self.stranger(node);
                    }
                    Some(index)
                })
                .collect(),
        };
        let stations = told.map_or(&overlay.stations, |told| &told.stations);
        let mut said = self.stations(stations, config.carries, members);
        let stations = said.iter().map(|said| said.value).collect();
        let mut addresses = BTreeMap::new();
        for member in members.iter().filter(|member| chosen.contains(&member.node)) {
            self.take_device(name, member);
            let own = self.addresses(overlay, networks, member);
            if config.carries == Carries::Ip {
                let host = |address: &Spanned<IpNet>| Identifier::Network(address.value.addr().into());
                said.extend(own.iter().map(|own| Spanned { value: (host(own), member.id), span: own.span }));
            }
            addresses.insert(member.node, own.into_iter().map(|own| own.value).collect());
        }
        self.at_one_member(&said, members);
        Device { config: device, addresses, networks: networks.0.clone(), stations }
    }

    /// Notes that a node has a device of a name.
    fn take_device(&mut self, name: &Spanned<String>, member: &Member) {
        let node = &self.network.nodes[member.node];
        let taken = ["lo", "br0"].contains(&name.value.as_str())
            || node.interfaces.iter().any(|interface| interface.name == name.value);
        if taken {
            self.fault(
                name.span,
                format!("`{}` has an interface `{}` already", node.name, name.value),
                "choose another name",
            );
        }
        if let Some(first) = self.devices.insert((member.node, name.value.clone()), name.span)
            && first != name.span
        {
            self.faults.push(
                Diagnostic::new(
                    name.span,
                    format!("two overlays give `{}` a device of this name", node.name),
                )
                .note(first, "the first")
                .help("choose another name"),
            );
        }
    }

    /// The addresses of a member's device; those that the file does not write stand where the member does.
    fn addresses(&mut self, overlay: &Overlay, networks: &Networks, member: &Member) -> Vec<Spanned<IpNet>> {
        let at = overlay.members.0.iter().position(|(node, _)| node.span == member.span).unwrap_or_default();
        if let Some(given) = &overlay.members.0[at].1.addresses {
            return given.clone();
        }
        let mut own = Vec::new();
        for network in &networks.0 {
            match nth(network.value, at as u32 + 1) {
                Some(value) => own.push(Spanned { value, span: member.span }),
                None => self.fault(
                    network.span,
                    format!("{} is too small for all members", network.value),
                    "write a shorter prefix",
                ),
            }
        }
        own
    }

    /// Prefixes of two devices of one node.
    fn meeting(&mut self, overlays: &[Resolved]) {
        let devices: Vec<&Device> = overlays.iter().flat_map(|overlay| &overlay.devices).collect();
        for (at, device) in devices.iter().enumerate() {
            for other in &devices[..at] {
                let both = device.addresses.keys().find(|node| other.addresses.contains_key(*node));
                let Some(node) = both.map(|node| &self.network.nodes[*node].name) else { continue };
                for (own, first) in pairs(&device.networks, &other.networks) {
                    if own.contains(&first.network()) || first.contains(&own.network()) {
                        let text = format!("`{node}` would have two devices in {}", own.value);
                        let fault = Diagnostic::new(own.span, text).note(first.span, "the other's");
                        self.faults.push(fault.help("choose a prefix that nothing else has"));
                    }
                }
            }
        }
    }

    fn plane(&mut self, control: &ControlForm, overlay: &Overlay) -> Option<Plane> {
        let kind = match control {
            ControlForm::Word(ControlWord::Mesh) => ControlKind::Mesh,
            ControlForm::Word(ControlWord::Delay) => ControlKind::Delay,
            ControlForm::Word(ControlWord::None | ControlWord::Static) | ControlForm::Evpn(_) => {
                let of_planes = [
                    overlay.interval.map(|interval| interval.span),
                    overlay.neighbours.map(|neighbours| neighbours.span),
                ];
                for span in of_planes.into_iter().flatten() {
                    self.fault(
                        span,
                        "`interval` and `neighbours` belong to `control: mesh` and `control: delay`",
                        "remove them, or write one of these",
                    );
                }
                return None;
            }
        };
        let millis = overlay.interval.map_or(1000, |interval| interval.value.as_nanos() / 1_000_000);
        if let Some(interval) = overlay.interval
            && !(10..=3_600_000).contains(&millis)
        {
            self.fault(interval.span, "an interval is from 10ms to 1h", "write a time such as `1s`");
        }
        if let Some(neighbours) = overlay.neighbours
            && neighbours.value == 0
        {
            self.fault(neighbours.span, "who probes nobody finds nobody", "write a number from 1 on");
        }
        let neighbours = overlay.neighbours.map(|count| count.value as usize);
        Some(Plane { kind, interval: millis, neighbours })
    }
}

fn pairs<'a, T>(some: &'a [T], others: &'a [T]) -> impl Iterator<Item = (&'a T, &'a T)> {
    some.iter().flat_map(move |one| others.iter().map(move |other| (one, other)))
}

/// The virtual network of packets whose encapsulation names none.
fn first_vni(overlay: &Overlay) -> u32 {
    let of_devices = overlay.devices.as_ref().and_then(|all| all.values().next()).map(|device| device.vni);
    of_devices.or(overlay.vni).map_or(VNI, |vni| vni.value)
}

fn seconds(time: TimeSpan) -> Option<u32> {
    const SECOND: u64 = 1_000_000_000;
    let nanos = time.as_nanos();
    (nanos != 0 && nanos.is_multiple_of(SECOND)).then(|| u32::try_from(nanos / SECOND).ok())?
}

/// The nth address of a prefix, counted from 1; of IPv4 not the broadcast address.
fn nth(network: IpNet, n: u32) -> Option<IpNet> {
    let address: IpAddr = match network {
        IpNet::V4(net) => {
            let address = Ipv4Addr::from(u32::from(net.network()).checked_add(n)?);
            if address >= net.broadcast() {
                return None;
            }
            address.into()
        }
        IpNet::V6(net) => Ipv6Addr::from(u128::from(net.network()).checked_add(n.into())?).into(),
    };
    let own = IpNet::new(address, network.prefix_len()).ok()?;
    network.contains(&address).then_some(own)
}
