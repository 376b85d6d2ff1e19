//! An overlay whose tables an existing control plane fills: BGP EVPN, RFC 7432, with VXLAN, RFC 8365.
//!
//! ```text
//! bytes, time ─► Session ─► routes ─► Rib ─┬─► LIB, RIB      VTEPs, and of each VNI who wants what is for all
//! (one neighbour)   ▲                      └─► stations      of each VNI where each is
//!                   └── routes ◄── own VNIs and stations
//! ```
//!
//! A [`Speaker`] holds a session with one neighbour, a route reflector say, and passes nothing on. Of each VNI of this node
//! it announces a route of type 3, and one of type 2 for each local station; those of others become entries of the
//! application's tables. A VTEP's identity is made of its address ([`node_of`]), and that of all who want what is for all
//! of a VNI of the VNI ([`group_of`]).
//!
//! [`Speaker`] has four kinds of methods, as [`Member`](crate::Member) has: `handle_*`, then `poll_change` and
//! `poll_action` until they give nothing, then `poll_timeout`.
//!
//! - Distinguishers are derived: `ROUTER-ID:NUMBER`. Targets, too, in both forms that there are: `AS:VNI` as most speakers
//!   do, FRR among them, and with the type of the number before the VNI (RFC 8365 section 5.1.2.1). Of others' routes one of
//!   either form is enough. Choice: whatever the AS, since that of neighbours outside may be another (so does FRR).
//! - Choice: of a label only one that is the VNI of its target is taken: the data plane has the same VNI on both sides.
//! - Routes of type 1 and 4 are left out: a station with several ways to it is sent to by the one that is announced.

mod rib;
mod session;
mod speaker;

pub use session::State;
pub use speaker::{Action, Change, Config, Report, Speaker, Station};

use plait_model_overlay::NodeId;
use std::net::IpAddr;

/// The identity of a VTEP: of IPv4 its address. Choice: of IPv6 28 bits of a hash behind 240.0.0.0, where no address of
/// a host is; with a thousand VTEPs two meet in one overlay of five hundred, and the data plane spreads packets to both.
pub fn node_of(vtep: IpAddr) -> NodeId {
    match vtep {
        IpAddr::V4(four) => NodeId(four.into()),
        IpAddr::V6(six) => {
            // FNV-1a.
            let hash = |sum: u32, byte: &u8| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
            NodeId(0xf000_0000 | six.octets().iter().fold(0x811c_9dc5, hash) >> 4)
        }
    }
}

/// The identity that stands for all who want what is for all of a VNI: 239.0.0.0 and the VNI.
pub fn group_of(vni: u32) -> NodeId {
    NodeId(0xef00_0000 | vni & 0xff_ffff)
}
