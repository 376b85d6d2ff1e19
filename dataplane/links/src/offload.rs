//! Offloads: whether a device hands over trains of segments or whole packets.
//!
//! A sender's kernel likes to pass 64 KB at once and leave it to the device to cut it into packets. Nothing is faster
//! between two namespaces, but a link that drops, delays or reorders packets must see packets: one loss would take
//! forty of them. So the policy follows from the conditions of the direction that leaves the device.

use crate::sys::{InterfaceRequest, socket};
use plait_model_link::Conditions;
use std::io;
use std::os::fd::AsFd;
use std::sync::OnceLock;

// Commands of SIOCETHTOOL, linux/ethtool.h.
const GSTRINGS: u32 = 0x1b;
const GSSET_INFO: u32 = 0x37;
const GFEATURES: u32 = 0x3a;
const SFEATURES: u32 = 0x3b;

/// What a device hands over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Trains of segments where the sender has them, but none inside tunnels: what the engine reads with a packet has
    /// no words for two layers of headers, so that a train in a tunnel would never be cut again.
    Trains,
    /// Each packet as it would be on the wire.
    WholePackets,
    /// Each packet as it would be on the wire, its checksums computed.
    FinishedPackets,
}

impl Policy {
    /// What the conditions of the direction that leaves a device ask of it.
    pub fn of(conditions: &Conditions) -> Self {
        if conditions.needs_whole_packets() { Self::WholePackets } else { Self::Trains }
    }
}

/// Applies a policy to a device of the calling thread's namespace: the node's end of a veth. Works while traffic flows.
///
/// The device's segmentation features are switched (`tx-tcp-segmentation` and its kin). Checksums may stay open, but with
/// [`Policy::FinishedPackets`]: the engine carries that along, and completes them before it damages a packet. The other
/// policies leave alone what a device has of checksums.
pub fn set(ifname: &str, policy: Policy) -> io::Result<()> {
    let names = feature_names(ifname)?;
    // struct ethtool_sfeatures: command, number of blocks, and per block of 32 features which are meant and which of
    // those are wanted.
    let blocks = names.len().div_ceil(32);
    let mut request = vec![SFEATURES, blocks as u32];
    request.resize(2 + 2 * blocks, 0);
    for (index, name) in names.iter().enumerate() {
        if !(is_segmentation(name) || policy == Policy::FinishedPackets && is_checksum(name)) {
            continue;
        }
        request[2 + index / 32 * 2] |= 1 << (index % 32);
        if policy == Policy::Trains && !is_of_tunnels(name) {
            request[2 + index / 32 * 2 + 1] |= 1 << (index % 32);
        }
    }
    ethtool(ifname, &mut request)
}

/// Whether the device hands over trains now.
pub fn get(ifname: &str) -> io::Result<Policy> {
    let names = feature_names(ifname)?;
    // struct ethtool_gfeatures: command, number of blocks, and per block what is available, requested, active and
    // never changed.
    let blocks = names.len().div_ceil(32);
    let mut request = vec![GFEATURES, blocks as u32];
    request.resize(2 + 4 * blocks, 0);
    ethtool(ifname, &mut request)?;
    let active = |index: usize| request[2 + index / 32 * 4 + 2] >> (index % 32) & 1 == 1;
    let trains = names.iter().enumerate().any(|(index, name)| is_segmentation(name) && active(index));
    Ok(if trains { Policy::Trains } else { Policy::WholePackets })
}

fn is_segmentation(feature: &str) -> bool {
    feature.starts_with("tx-") && feature.ends_with("-segmentation")
}

/// Whether a feature leaves checksums to the device that sends.
fn is_checksum(feature: &str) -> bool {
    feature.starts_with("tx-checksum-")
}

/// Whether a feature is about packets in packets: GRE, IP in IP, and tunnels over UDP.
fn is_of_tunnels(feature: &str) -> bool {
    ["-gre-", "-ipxip", "-udp_tnl-"].iter().any(|tunnel| feature.contains(tunnel))
}

/// The names of all features this kernel knows, in the order of their bits. They are the same for every device, so that
/// one is asked for all.
fn feature_names(ifname: &str) -> io::Result<&'static [String]> {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    match NAMES.get() {
        Some(names) => Ok(names),
        None => {
            let names = ask_feature_names(ifname)?;
            Ok(NAMES.get_or_init(|| names))
        }
    }
}

fn ask_feature_names(ifname: &str) -> io::Result<Vec<String>> {
    const FEATURES: u32 = 4;
    const NAME: usize = 32;
    // struct ethtool_sset_info: command, reserved, 64 bits of sets, and room for one length.
    let sets = (1u64 << FEATURES).to_ne_bytes();
    let half = |at: usize| u32::from_ne_bytes([sets[at], sets[at + 1], sets[at + 2], sets[at + 3]]);
    let mut info = [GSSET_INFO, 0, half(0), half(4), 0];
    ethtool(ifname, &mut info)?;
    let count = info[4] as usize;
    // struct ethtool_gstrings: command, set, length, names of 32 bytes.
    let mut strings = vec![GSTRINGS, FEATURES, count as u32];
    strings.resize(3 + count * NAME / 4, 0);
    ethtool(ifname, &mut strings)?;
    let bytes: Vec<u8> = strings[3..].iter().flat_map(|word| word.to_ne_bytes()).collect();
    let name = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned();
    Ok(bytes.chunks_exact(NAME).map(name).collect())
}

/// An ethtool request: words that begin with the command, with room for the answer.
fn ethtool(ifname: &str, words: &mut [u32]) -> io::Result<()> {
    let socket = socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    let mut request = InterfaceRequest::new(ifname)?;
    request.payload.pointer = words.as_mut_ptr().cast();
    // SAFETY: SIOCETHTOOL takes a pointer to the words of an ethtool request; every caller gives it the room that its
    // command's answer takes, of which the lengths in the request are part.
    unsafe { request.send(socket.as_fd(), libc::SIOCETHTOOL as libc::Ioctl) }
}
