//! What stands between outer IP and payload.

use plait_dataplane_reference::tables::encapsulation;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

macro_rules! encapsulations {
    ($($(#[$doc:meta])* $name:ident = $number:ident as $text:literal,)+) => {
        /// What stands between outer IP and payload on the way to a next hop.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
        )]
        #[repr(u32)]
        pub enum Encapsulation {
            $($(#[$doc])* #[serde(rename = $text)] $name = encapsulation::$number,)+
        }

        impl Encapsulation {
            /// All that there are.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// Its name in files and commands.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }
        }
    };
}

encapsulations! {
    /// UDP and ovstack.
    #[default]
    Ovstack = OVSTACK as "ovstack",
    /// UDP and VXLAN, RFC 7348: frames only.
    Vxlan = VXLAN as "vxlan",
    /// UDP and Geneve, RFC 8926.
    Geneve = GENEVE as "geneve",
    /// GRE with the VNI in its key, RFC 7637: frames only.
    Nvgre = NVGRE as "nvgre",
    /// GRE, RFC 2784. The VNI is the application's.
    Gre = GRE as "gre",
    /// IP in IP, RFC 2003 and RFC 2473: packets only. The VNI is the application's.
    Ipip = IPIP as "ipip",
    /// GRE and one label, RFC 4023: the VNI's lower 20 bits.
    Mpls = MPLS as "mpls",
    /// UDP, VXLAN-GPE and NSH, RFC 8300, whose path is the VNI.
    Nsh = NSH as "nsh",
    /// UDP and GUE: packets only. The VNI is the application's.
    Gue = GUE as "gue",
    /// UDP and VXLAN-GPE, draft-ietf-nvo3-vxlan-gpe: VXLAN that says what it carries.
    Gpe = GPE as "vxlan-gpe",
}

impl Encapsulation {
    /// Whether it can say that its payload is a frame, or that it is a packet.
    pub fn carries(self, frames: bool) -> bool {
        match self {
            Self::Vxlan | Self::Nvgre => frames,
            Self::Ipip | Self::Gue => !frames,
            _ => true,
        }
    }

    /// The virtual network that its header says of packets of one; none of those that say none.
    pub fn named(self, vni: u32) -> Option<u32> {
        match self {
            Self::Gre | Self::Ipip | Self::Gue => None,
            Self::Mpls => Some(vni & 0xf_ffff),
            _ => Some(vni),
        }
    }

    /// Bytes between the outer IP header and what is carried.
    pub fn shim_bytes(self) -> u16 {
        plait_dataplane_reference::shim_bytes(self as u32).map_or(0, |bytes| bytes as u16)
    }

    /// Whether its header names nodes, so that who is under way need not open the payload.
    pub fn names_nodes(self) -> bool {
        self == Self::Ovstack
    }
}

impl fmt::Display for Encapsulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name of no encapsulation.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "there is no encapsulation `{name}`: there are {}",
    Encapsulation::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ")
)]
pub struct NoEncapsulation {
    name: String,
}

impl FromStr for Encapsulation {
    type Err = NoEncapsulation;

    fn from_str(text: &str) -> Result<Self, NoEncapsulation> {
        let found = Self::ALL.iter().find(|kind| kind.name() == text);
        found.copied().ok_or_else(|| NoEncapsulation { name: text.to_owned() })
    }
}
