//! Numbers that say which protocol comes next.

/// EtherTypes, of IEEE 802's registry.
pub mod ether_type {
    /// IPv4.
    pub const IPV4: u16 = 0x0800;
    /// Address resolution for IPv4.
    pub const ARP: u16 = 0x0806;
    /// A whole Ethernet frame, in GRE and Geneve ("Trans Ether Bridging").
    pub const ETHERNET: u16 = 0x6558;
    /// A VLAN tag of IEEE 802.1Q.
    pub const VLAN: u16 = 0x8100;
    /// IPv6.
    pub const IPV6: u16 = 0x86dd;
    /// A stack of MPLS labels.
    pub const MPLS: u16 = 0x8847;
    /// A VLAN tag of a provider, before another one.
    pub const PROVIDER_VLAN: u16 = 0x88a8;
    /// Link layer discovery.
    pub const LLDP: u16 = 0x88cc;
    /// A network service header.
    pub const NSH: u16 = 0x894f;
}

/// Numbers of IANA's protocol registry.
pub mod protocol {
    /// ICMP for IPv4.
    pub const ICMP: u8 = 1;
    /// IPv4 in IP.
    pub const IPV4: u8 = 4;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
    /// IPv6 in IP.
    pub const IPV6: u8 = 41;
    /// IPv6's routing header.
    pub const ROUTING: u8 = 43;
    /// GRE.
    pub const GRE: u8 = 47;
    /// ICMP for IPv6.
    pub const ICMPV6: u8 = 58;
    /// OSPF.
    pub const OSPF: u8 = 89;
    /// SCTP.
    pub const SCTP: u8 = 132;
    /// MPLS in IP, RFC 4023.
    pub const MPLS: u8 = 137;
}

/// UDP ports.
pub mod port {
    /// VXLAN, RFC 7348.
    pub const VXLAN: u16 = 4789;
    /// VXLAN with a next protocol.
    pub const VXLAN_GPE: u16 = 4790;
    /// GUE.
    pub const GUE: u16 = 6080;
    /// Geneve, RFC 8926.
    pub const GENEVE: u16 = 6081;
    /// ovstack. Choice: the paper names no port; this is the one of its authors' own programs, in the range that
    /// nobody registers.
    pub const OVSTACK: u16 = 60002;
    /// What Plait's overlay nodes tell each other. Choice: the next one.
    pub const OVERLAY_CONTROL: u16 = 60003;
}
