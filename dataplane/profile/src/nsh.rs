//! Frames in NSH, which the kernel has no device for. What puts the header on is its Open vSwitch datapath, between a device
//! of its own and one for VXLAN-GPE:
//!
//! ```text
//! host ─► knsh ══ switch: NSH on, the tunnel's ends ══► knshv (VXLAN-GPE) ─► underlay
//!      ◄───────── switch: NSH off ◄─────────────────────┘
//! ```
//!
//! IPv4, IPv6 and ARP go through: for nothing else there is a flow.

use crate::device::index_here;
use netlink_packet_core::{DefaultNla, Emitable, NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_generic::GenlFamily;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVxlan, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use plait_dataplane_netlink::{Generic, Netlink, nest};
use plait_model_wire::number::{ether_type, port};
use plait_model_wire::{ethernet, ipv4, ipv6, nsh, udp, vxlan_gpe};
use std::fmt::Debug;
use std::io;
use std::marker::PhantomData;
use std::net::IpAddr;

/// What stands before an inner packet beside the outer IP header: UDP, VXLAN-GPE, NSH, and the inner frame's header.
const HEADERS: usize = udp::Header::LENGTH
    + vxlan_gpe::Header::LENGTH
    + nsh::Header::LENGTH
    + nsh::FIXED
    + ethernet::Header::LENGTH;

/// Hops of the outer header.
const TTL: u8 = 64;
/// The devices' numbers in the switch: its own is always the first.
const INNER: u32 = 0;
const OUTER: u32 = 1;

/// Makes a device in the calling thread's network namespace whose packets go to another host in NSH, over links of an MTU. The
/// network's number is the tunnel's and the service path's.
///
/// # Errors
/// Unsupported, where the kernel has no such switch; an MTU below that of the headers; no permission.
pub fn make(name: &str, vni: u32, (local, remote): (IpAddr, IpAddr), mtu: u32) -> io::Result<()> {
    let outer = if local.is_ipv6() { ipv6::Header::LENGTH } else { ipv4::Header::LENGTH };
    let inner = mtu.checked_sub((outer + HEADERS) as u32).ok_or(io::ErrorKind::InvalidInput)?;
    let switch = Switch::new(name)?;
    let (tunnel, netlink) = (outer_name(name), Netlink::open()?);
    netlink.request(RouteNetlinkMessage::NewLink(external(&tunnel)), NLM_F_CREATE | NLM_F_EXCL)?;
    switch.add(OUTER, &tunnel)?;
    let (service, blank) =
        (service(FIXED_METADATA, nsh::DEFAULT_TTL, vni << 8 | FIRST_INDEX), service(0, 0, 0));
    for (ether_type, header) in [
        (ether_type::IPV4, attribute(key::IPV4, [0; 12])),
        (ether_type::IPV6, attribute(key::IPV6, [0; 40])),
        (ether_type::ARP, attribute(key::ARP, [0; 24])),
    ] {
        let headers = [attribute(key::ETHERNET, [0; 12]), header];
        switch.lead(
            (INNER, ether_type),
            [&headers, &headers],
            &[
                nest(action::SET, &[nest(key::TUNNEL, &ends(vni, local, remote))]),
                nest(action::PUSH_NSH, &[nest(key::NSH, &service)]),
                number(action::OUTPUT, OUTER),
            ],
        )?;
    }
    switch.lead(
        (OUTER, ether_type::NSH),
        [&[nest(key::NSH, &service)], &[nest(key::NSH, &blank)]],
        &[attribute(action::POP_NSH, []), number(action::OUTPUT, INNER)],
    )?;
    let mut link = up();
    link.header.index = switch.device;
    link.attributes.push(LinkAttribute::Mtu(inner));
    netlink.request(RouteNetlinkMessage::SetLink(link), 0)
}

/// Takes such a device away.
///
/// # Errors
/// There is none of that name; no permission.
pub fn remove(name: &str) -> io::Result<()> {
    let switch = Switch { generic: Generic::open()?, device: index_here(name)? };
    switch.ask::<Datapath>(DELETE, &[])?;
    let mut tunnel = LinkMessage::default();
    tunnel.attributes.push(LinkAttribute::IfName(outer_name(name)));
    Netlink::open()?.request(RouteNetlinkMessage::DelLink(tunnel), 0)
}

/// The name of the device that packets in NSH leave and come by.
fn outer_name(name: &str) -> String {
    format!("{name}v")
}

/// Of a device that is to be up.
fn up() -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    message
}

/// A VXLAN-GPE device whose packets say where to.
fn external(name: &str) -> LinkMessage {
    let mut message = up();
    message.attributes = vec![
        LinkAttribute::IfName(name.to_owned()),
        LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Vxlan),
            LinkInfo::Data(InfoData::Vxlan(vec![
                InfoVxlan::CollectMetadata(true),
                InfoVxlan::Learning(false),
                InfoVxlan::Gpe,
                // As other ends send it over IPv6.
                InfoVxlan::UDPZeroCsumRX(true),
                InfoVxlan::Port(port::VXLAN_GPE),
            ])),
        ]),
    ];
    message
}

/// A datapath of Open vSwitch.
struct Switch {
    generic: Generic,
    /// The number of its own device, by which requests name it; nought before it is there.
    device: u32,
}

impl Switch {
    /// Makes one whose own device has this name.
    fn new(name: &str) -> io::Result<Self> {
        let switch = Self { generic: Generic::open()?, device: 0 };
        switch.make::<Datapath>(&[text(datapath::NAME, name), number(datapath::UPCALLS, NOBODY)])?;
        Ok(Self { device: index_here(name)?, ..switch })
    }

    /// Adds a device under a number.
    fn add(&self, at: u32, name: &str) -> io::Result<()> {
        self.make::<Port>(&[
            number(vport::NUMBER, at),
            number(vport::KIND, vport::DEVICE),
            text(vport::NAME, name),
            number(vport::UPCALLS, NOBODY),
        ])
    }

    /// Says what becomes of packets of an EtherType that come in by a device. The kernel wants to hear of all headers that
    /// such packets have, and of which of their bits are compared, here none.
    fn lead(
        &self,
        (from, ether_type): (u32, u16),
        [headers, compared]: [&[DefaultNla]; 2],
        actions: &[DefaultNla],
    ) -> io::Result<()> {
        let always = [number(key::IN_PORT, from), attribute(key::ETHER_TYPE, ether_type.to_be_bytes())];
        self.make::<Flow>(&[
            nest(flow::KEY, &[&always, headers].concat()),
            nest(flow::MASK, &[&always, compared].concat()),
            nest(flow::ACTIONS, actions),
        ])
    }

    fn make<K: Kind>(&self, attributes: &[DefaultNla]) -> io::Result<()> {
        self.ask::<K>(NEW, attributes)
    }

    fn ask<K: Kind>(&self, command: u8, attributes: &[DefaultNla]) -> io::Result<()> {
        let family = self.generic.family(K::FAMILY)?.ok_or(io::ErrorKind::Unsupported)?;
        let attributes = attributes.to_vec();
        let ask = Ask { command, datapath: self.device, attributes, kind: PhantomData::<K> };
        self.generic.request(&family, ask)?.map_or(Ok(()), Err)
    }
}

/// The tunnel of a packet.
fn ends(vni: u32, local: IpAddr, remote: IpAddr) -> [DefaultNla; 4] {
    let address = |[v4, v6]: [u16; 2], is: IpAddr| match is {
        IpAddr::V4(is) => attribute(v4, is.octets()),
        IpAddr::V6(is) => attribute(v6, is.octets()),
    };
    [
        attribute(tunnel::ID, u64::from(vni).to_be_bytes()),
        address(tunnel::SOURCE, local),
        address(tunnel::DESTINATION, remote),
        attribute(tunnel::TTL, [TTL]),
    ]
}

/// A service header with some type of metadata, whose bytes are nought, and a path and index in one number.
fn service(metadata: u8, ttl: u8, path: u32) -> [DefaultNla; 2] {
    let [a, b, c, d] = path.to_be_bytes();
    [
        attribute(service::BASE, [0, ttl, metadata, nsh::next::ETHERNET, a, b, c, d]),
        attribute(service::METADATA, [0; nsh::FIXED]),
    ]
}
const FIXED_METADATA: u8 = 1;
/// The index of who has all services before it (RFC 8300 section 2.3).
const FIRST_INDEX: u32 = 255;

fn attribute(kind: u16, value: impl Into<Vec<u8>>) -> DefaultNla {
    DefaultNla::new(kind, value.into())
}

fn number(kind: u16, value: u32) -> DefaultNla {
    attribute(kind, value.to_ne_bytes())
}

fn text(kind: u16, value: &str) -> DefaultNla {
    attribute(kind, [value.as_bytes(), &[0]].concat())
}

/// A thing of a switch's that there can be one more of.
trait Kind: Debug {
    /// The family of generic netlink that makes it.
    const FAMILY: &'static str;
    const VERSION: u8;
}

macro_rules! kinds {
    ($($name:ident = $family:literal, $version:literal;)*) => {$(
        #[derive(Debug)]
        struct $name;
        impl Kind for $name {
            const FAMILY: &'static str = $family;
            const VERSION: u8 = $version;
        }
    )*};
}
kinds! {
    Datapath = "ovs_datapath", 2;
    Port = "ovs_vport", 1;
    Flow = "ovs_flow", 1;
}

/// A request.
#[derive(Debug)]
struct Ask<K> {
    command: u8,
    datapath: u32,
    attributes: Vec<DefaultNla>,
    kind: PhantomData<K>,
}

impl<K: Kind> GenlFamily for Ask<K> {
    fn family_name() -> &'static str {
        K::FAMILY
    }

    fn command(&self) -> u8 {
        self.command
    }

    fn version(&self) -> u8 {
        K::VERSION
    }
}

/// `struct ovs_header`, and attributes.
impl<K> Emitable for Ask<K> {
    fn buffer_len(&self) -> usize {
        4 + self.attributes.as_slice().buffer_len()
    }

    fn emit(&self, buffer: &mut [u8]) {
        let (header, attributes) = buffer.split_at_mut(4);
        header.copy_from_slice(&self.datapath.to_ne_bytes());
        self.attributes.as_slice().emit(attributes);
    }
}

/// `OVS_…_CMD_NEW` and `OVS_…_CMD_DEL`, the same numbers in all families.
const NEW: u8 = 1;
const DELETE: u8 = 2;
/// The netlink port of who hears of packets without a flow.
const NOBODY: u32 = 0;

/// `OVS_DP_ATTR_…`
mod datapath {
    pub const NAME: u16 = 1;
    pub const UPCALLS: u16 = 2;
}

/// `OVS_VPORT_ATTR_…`
mod vport {
    pub const NUMBER: u16 = 1;
    pub const KIND: u16 = 2;
    pub const NAME: u16 = 3;
    pub const UPCALLS: u16 = 5;
    /// `OVS_VPORT_TYPE_NETDEV`
    pub const DEVICE: u32 = 1;
}

/// `OVS_FLOW_ATTR_…`
mod flow {
    pub const KEY: u16 = 1;
    pub const ACTIONS: u16 = 2;
    pub const MASK: u16 = 7;
}

/// `OVS_KEY_ATTR_…`
mod key {
    pub const IN_PORT: u16 = 3;
    pub const ETHERNET: u16 = 4;
    pub const ETHER_TYPE: u16 = 6;
    pub const IPV4: u16 = 7;
    pub const IPV6: u16 = 8;
    pub const ARP: u16 = 13;
    pub const TUNNEL: u16 = 16;
    pub const NSH: u16 = 28;
}

/// `OVS_TUNNEL_KEY_ATTR_…`
mod tunnel {
    pub const ID: u16 = 0;
    /// Of IPv4, and of IPv6.
    pub const SOURCE: [u16; 2] = [1, 12];
    pub const DESTINATION: [u16; 2] = [2, 13];
    pub const TTL: u16 = 4;
}

/// `OVS_NSH_KEY_ATTR_…`
mod service {
    pub const BASE: u16 = 1;
    pub const METADATA: u16 = 2;
}

/// `OVS_ACTION_ATTR_…`
mod action {
    pub const OUTPUT: u16 = 1;
    pub const SET: u16 = 3;
    pub const PUSH_NSH: u16 = 17;
    pub const POP_NSH: u16 = 18;
}
