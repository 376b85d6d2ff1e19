//! What cannot be of a configuration, and what to say instead.

use super::MOST_VNI;
use crate::Encapsulation;
use thiserror::Error;

/// Why a configuration cannot be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadConfig {
    /// An encapsulation that cannot say what an application carries.
    #[error("{encapsulation} carries no {what}: choose another encapsulation{}", if *.what == "frames" { ", such as gre" } else { ", such as geneve" })]
    Carries {
        /// Which.
        encapsulation: Encapsulation,
        /// Frames or packets.
        what: &'static str,
    },
    /// A virtual network beyond its bits.
    #[error("there is no virtual network {0}: the largest is {largest}", largest = MOST_VNI)]
    Vni(u32),
    /// A virtual network that an encapsulation cannot name.
    #[error(
        "{encapsulation} does not name virtual network {vni}: packets would arrive in {named}. Say `--vni {vni}` of the \
         application too, or choose an encapsulation that names it, such as geneve"
    )]
    Unnamed {
        /// Which.
        encapsulation: Encapsulation,
        /// The device's.
        vni: u32,
        /// What it would be taken for.
        named: u32,
    },
    /// Frames that the kernel knows no way for.
    #[error(
        "the kernel has no route for a frame: a miss goes to `kernel` where an application carries ip, bits or payload; of \
         ethernet it goes to the group, or is dropped"
    )]
    MissedFrames,
    /// A packet that dies where it begins.
    #[error("a TTL of 0 lets no packet leave")]
    Ttl,
    /// A prefix longer than its address.
    #[error("an address of {bits} bits has no prefix of {prefix}")]
    Prefix {
        /// Of the address.
        bits: u8,
        /// As asked.
        prefix: u8,
    },
    /// A name that no device can have.
    #[error("no device can be called `{0}`: write 1 to 15 letters, digits, `-`, `_` or `.`")]
    Name(String),
    /// An MTU that IPv4 does not allow, or a VXLAN device does not.
    #[error("an MTU of {0} cannot be: it is between 576 and 65000")]
    Mtu(u32),
    /// Bits that a program cannot cut out.
    #[error(
        "{length} bits from {offset} on cannot be: they begin at bit 8191 at most, and are 1 to 128 with those of their first byte \
         before them"
    )]
    Bits {
        /// As asked.
        offset: u16,
        /// As asked.
        length: u8,
    },
    /// A device with what it has no use for.
    #[error(
        "`--offset` and `--length` say by which bits packets are found where an application carries `bits` or `payload`, and \
         nowhere else"
    )]
    NoBits,
    /// Encapsulations that cannot be told from each other when they arrive.
    #[error("{one} and {other} arrive alike, and an application takes only one of them: leave out the other")]
    Alike {
        /// The one.
        one: Encapsulation,
        /// The other.
        other: Encapsulation,
    },
    /// An AS that there is not.
    #[error("0 is no AS: write a number from 1 to 4294967295")]
    As,
    /// A hold time that BGP does not know.
    #[error("a hold time of {0} s cannot be: it is at least 3 s")]
    Hold(u16),
    /// EVPN of something else than VXLAN.
    #[error(
        "EVPN fills applications that carry ethernet in vxlan: say `plait overlay config application APP --encapsulation \
         vxlan`, or take it away with `plait overlay config evpn --delete`"
    )]
    NoVxlan,
    /// What only those who find each other need.
    #[error(
        "`static` probes nobody: leave out `--seed`, `--interval` and `--neighbours`, or choose `mesh` or `delay`"
    )]
    NothingProbed,
    /// An interval of nought.
    #[error("an interval of {0} ms cannot be: it is between 10 ms and an hour")]
    Interval(u64),
}
