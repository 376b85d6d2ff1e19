//! Match fields of 1.3, OXM TLVs: section 7.2.3.
//!
//! A field that the specification's table (7.2.3.7) has no line for is kept as [`Oxm::Other`], and so is one of another
//! length than its line says: a switch answers to it, a codec does not.

mod id;
mod view;

pub use id::Id;
pub use view::{Fields, View};

use super::{NAME, PortNumber};
use crate::Malformed;
use crate::ethernet::Mac;
use crate::layout::U24;
use crate::openflow::codec::{Reader, Wire, Writer};
use crate::openflow::tables::{codes, flags};
use std::net::{Ipv4Addr, Ipv6Addr};

codes! {
    /// Whose fields they are.
    pub struct Class(u16) {
        /// Nicira's first, of before OXM.
        NXM_0 = 0x0000,
        /// Nicira's second.
        NXM_1 = 0x0001,
        /// The specification's.
        OPENFLOW_BASIC = 0x8000,
        /// Somebody's own: whose, stand four bytes before the value.
        EXPERIMENTER = 0xffff,
    }
}

flags! {
    /// Which extension headers an IPv6 packet has.
    pub struct ExtensionHeaders(u16) {
        /// "No next header".
        NONEXT = 1,
        /// Encrypted payload.
        ESP = 1 << 1,
        /// Authentication.
        AUTH = 1 << 2,
        /// One or two for the destination.
        DEST = 1 << 3,
        /// Fragment.
        FRAG = 1 << 4,
        /// Router.
        ROUTER = 1 << 5,
        /// Hop by hop.
        HOP = 1 << 6,
        /// Repeated though they should not be.
        UNREP = 1 << 7,
        /// In another order than they should be.
        UNSEQ = 1 << 8,
    }
}

codes! {
    /// A VLAN's number as match fields have it: 12 bits, and [`VlanId::PRESENT`].
    pub struct VlanId(u16) {
        /// The frame has no VLAN.
        NONE = 0,
        /// The frame has a VLAN. With itself as mask: any.
        PRESENT = 0x1000,
    }
}

impl VlanId {
    /// A frame with this VLAN.
    pub fn of(number: u16) -> Self {
        Self(number & 0xfff | Self::PRESENT.0)
    }
}

/// A value, and which of its bits count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Masked<T> {
    /// The value.
    pub value: T,
    /// The bits that count, if not all do.
    pub mask: Option<T>,
}

impl<T> Masked<T> {
    /// A value of which only the bits of `mask` count.
    pub fn with_mask(value: T, mask: T) -> Self {
        Self { value, mask: Some(mask) }
    }
}

/// The whole value counts.
impl<T> From<T> for Masked<T> {
    fn from(value: T) -> Self {
        Self { value, mask: None }
    }
}

fn read_masked<T: Wire>(from: &mut Reader<'_>, has_mask: bool) -> Result<Masked<T>, Malformed> {
    let value = T::read(from)?;
    // Whoever writes a mask means it, all ones too.
    let mask = if has_mask { Some(T::read(from)?) } else { None };
    Ok(Masked { value, mask })
}

fn write_masked<T: Wire>(masked: &Masked<T>, to: &mut Writer<'_>) {
    masked.value.write(to);
    if let Some(mask) = &masked.mask {
        mask.write(to);
    }
}

/// The specification's table of fields.
macro_rules! fields {
    ($($(#[$doc:meta])* $variant:ident($type:ty) = $number:literal $name:literal,)*) => {
        /// A match field.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Oxm {
            $($(#[$doc])* $variant(Masked<$type>),)*
            /// A field that the specification does not know, or knows with another length.
            Other {
                /// Whose field it is.
                class: Class,
                /// Which of them, 7 bits.
                field: u8,
                /// Whether a mask of the value's length follows the value.
                has_mask: bool,
                /// Of an experimenter's field who that is, then value and mask.
                payload: Vec<u8>,
            },
        }

        impl Oxm {
            /// What a field says that a view found.
            pub fn of(view: View<'_>) -> Self {
                let View { class, field, has_mask, payload } = view;
                let mut from = Reader::new(payload, NAME);
                let width = |size: usize| size * (1 + usize::from(has_mask));
                match (class, field) {
                    $((Class::OPENFLOW_BASIC, $number) if payload.len() == width(size_of::<$type>()) => {
                        read_masked::<$type>(&mut from, has_mask).ok().map(Self::$variant)
                    })*
                    _ => None,
                }
                .unwrap_or_else(|| Self::Other { class, field, has_mask, payload: payload.to_vec() })
            }

            /// Class, number and whether there is a mask: what stands in its header beside the length.
            pub fn header(&self) -> (Class, u8, bool) {
                match self {
                    $(Self::$variant(value) => (Class::OPENFLOW_BASIC, $number, value.mask.is_some()),)*
                    Self::Other { class, field, has_mask, .. } => (*class, *field & 0x7f, *has_mask),
                }
            }

            /// The specification's name of a field, in small letters.
            pub fn name_of(class: Class, field: u8) -> Option<&'static str> {
                match (class, field) {
                    $((Class::OPENFLOW_BASIC, $number) => Some($name),)*
                    _ => None,
                }
            }

            /// The specification's name, in small letters.
            pub fn name(&self) -> Option<&'static str> {
                let (class, field, _) = self.header();
                Self::name_of(class, field)
            }

            fn write_payload(&self, to: &mut Writer<'_>) {
                match self {
                    $(Self::$variant(value) => write_masked(value, to),)*
                    Self::Other { payload, .. } => to.put(payload),
                }
            }
        }

        /// Every field of the specification's table: its number, its name, and bytes of a value.
        pub const FIELDS: &[(u8, &str, usize)] = &[$(($number, $name, size_of::<$type>()),)*];
    };
}

fields! {
    /// The port that the packet came by.
    InPort(PortNumber) = 0 "in_port",
    /// The port of the switch below it, where that is a tunnel's or an aggregate's.
    InPhyPort(PortNumber) = 1 "in_phy_port",
    /// What an earlier table has written.
    Metadata(u64) = 2 "metadata",
    /// Ethernet's destination address.
    EthDst(Mac) = 3 "eth_dst",
    /// Ethernet's source address.
    EthSrc(Mac) = 4 "eth_src",
    /// EtherType, of what follows VLANs.
    EthType(u16) = 5 "eth_type",
    /// VLAN.
    VlanVid(VlanId) = 6 "vlan_vid",
    /// VLAN priority, 3 bits.
    VlanPcp(u8) = 7 "vlan_pcp",
    /// DSCP, 6 bits.
    IpDscp(u8) = 8 "ip_dscp",
    /// ECN, 2 bits.
    IpEcn(u8) = 9 "ip_ecn",
    /// Protocol of IP.
    IpProto(u8) = 10 "ip_proto",
    /// IPv4's source address.
    Ipv4Src(Ipv4Addr) = 11 "ipv4_src",
    /// IPv4's destination address.
    Ipv4Dst(Ipv4Addr) = 12 "ipv4_dst",
    /// TCP's source port.
    TcpSrc(u16) = 13 "tcp_src",
    /// TCP's destination port.
    TcpDst(u16) = 14 "tcp_dst",
    /// UDP's source port.
    UdpSrc(u16) = 15 "udp_src",
    /// UDP's destination port.
    UdpDst(u16) = 16 "udp_dst",
    /// SCTP's source port.
    SctpSrc(u16) = 17 "sctp_src",
    /// SCTP's destination port.
    SctpDst(u16) = 18 "sctp_dst",
    /// ICMP's type.
    Icmpv4Type(u8) = 19 "icmpv4_type",
    /// ICMP's code.
    Icmpv4Code(u8) = 20 "icmpv4_code",
    /// ARP's operation.
    ArpOp(u16) = 21 "arp_op",
    /// IPv4 address of who asks by ARP.
    ArpSpa(Ipv4Addr) = 22 "arp_spa",
    /// IPv4 address that is asked for.
    ArpTpa(Ipv4Addr) = 23 "arp_tpa",
    /// Hardware address of who asks by ARP.
    ArpSha(Mac) = 24 "arp_sha",
    /// Hardware address that is asked for.
    ArpTha(Mac) = 25 "arp_tha",
    /// IPv6's source address.
    Ipv6Src(Ipv6Addr) = 26 "ipv6_src",
    /// IPv6's destination address.
    Ipv6Dst(Ipv6Addr) = 27 "ipv6_dst",
    /// IPv6's flow label, 20 bits.
    Ipv6Flabel(u32) = 28 "ipv6_flabel",
    /// ICMPv6's type.
    Icmpv6Type(u8) = 29 "icmpv6_type",
    /// ICMPv6's code.
    Icmpv6Code(u8) = 30 "icmpv6_code",
    /// The address that neighbour discovery asks for.
    Ipv6NdTarget(Ipv6Addr) = 31 "ipv6_nd_target",
    /// Hardware address of who asks by neighbour discovery.
    Ipv6NdSll(Mac) = 32 "ipv6_nd_sll",
    /// Hardware address that is asked for.
    Ipv6NdTll(Mac) = 33 "ipv6_nd_tll",
    /// MPLS label, 20 bits.
    MplsLabel(u32) = 34 "mpls_label",
    /// MPLS traffic class, 3 bits.
    MplsTc(u8) = 35 "mpls_tc",
    /// Whether the MPLS label is the stack's last, 1 bit.
    MplsBos(u8) = 36 "mpls_bos",
    /// I-SID of a provider's backbone bridge.
    PbbIsid(U24) = 37 "pbb_isid",
    /// The tunnel that the packet came by, as a number.
    TunnelId(u64) = 38 "tunnel_id",
    /// IPv6's extension headers.
    Ipv6Exthdr(ExtensionHeaders) = 39 "ipv6_exthdr",
}

impl Wire for Oxm {
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        view::next(from).map(Self::of)
    }

    fn write(&self, to: &mut Writer<'_>) {
        let (class, field, has_mask) = self.header();
        class.write(to);
        to.put(&[field << 1 | u8::from(has_mask), 0]);
        let start = to.place();
        self.write_payload(to);
        to.short_length(start - 1, start);
    }
}

impl Wire for U24 {
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        from.array().map(|[a, b, c]| Self::new(u32::from_be_bytes([0, a, b, c])))
    }

    fn write(&self, to: &mut Writer<'_>) {
        let [_, bytes @ ..] = self.get().to_be_bytes();
        to.put(&bytes);
    }
}
