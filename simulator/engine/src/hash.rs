//! How switches spread flows: the hash that picks one of several equally good next hops.
//!
//! ```text
//! word   = fold(mix, [source high, source low, destination high, destination low, protocol:source port:destination port])
//! flow   = upper half of word xor lower half of word
//! next   = high 64 bits of (mix(flow xor seed of the switch) * number of next hops)
//! ```
//!
//! Each address is two 64-bit words (IPv4 as IPv4-mapped IPv6), the ports are nought where the header has none, and
//! `mix` is SplitMix64's finaliser, so that whoever knows a switch's seed can foretell its choice: [`choose`]. A switch
//! looks at the outermost header alone.

use std::net::IpAddr;

/// What a switch hashes of the outermost header. IPv4 and IPv6 alike.
pub fn flow_hash(source: IpAddr, destination: IpAddr, protocol: u8, ports: [u16; 2]) -> u32 {
    let words = |address: IpAddr| {
        let bits = match address {
            IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
            IpAddr::V6(address) => address.to_bits(),
        };
        [(bits >> 64) as u64, bits as u64]
    };
    let [a, b] = words(source);
    let [c, d] = words(destination);
    let rest = u64::from(protocol) << 32 | u64::from(ports[0]) << 16 | u64::from(ports[1]);
    let word = [a, b, c, d, rest].into_iter().fold(0, |state, word| mix(state ^ word));
    (word ^ word >> 32) as u32
}

/// Which of `count` next hops a switch of this seed takes for a flow.
#[inline]
pub fn choose(flow: u32, seed: u64, count: u32) -> u32 {
    ((u128::from(mix(u64::from(flow) ^ seed)) * u128::from(count)) >> 64) as u32
}

/// The seed of a switch, unless it is given another: of its own, so that switches in a row decide independently.
pub fn switch_seed(seed: u64, node: u32) -> u64 {
    mix(mix(seed ^ 0x6563_6d70) ^ u64::from(node))
}

/// SplitMix64's finaliser (Steele, Lea and Flood, OOPSLA 2014; Stafford's variant 13).
#[inline]
pub(crate) fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
