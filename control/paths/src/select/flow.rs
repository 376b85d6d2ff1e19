//! What tells flows apart, and what is known of one.

use std::net::IpAddr;
use std::time::Duration;

/// The five numbers that all packets of a flow share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// Who sends.
    pub source: IpAddr,
    /// Who receives.
    pub destination: IpAddr,
    /// What IP carries: [`protocol`](plait_model_wire::number::protocol).
    pub protocol: u8,
    /// The sender's port; 0 where there are none.
    pub source_port: u16,
    /// The receiver's port; 0 where there are none.
    pub destination_port: u16,
}

impl FlowKey {
    /// A hash that is the same everywhere, for a salt that should be another on every host: addresses and numbers, 64 bits at
    /// a time, each mixed in by SplitMix64's finaliser. The thesis names no function.
    pub fn hash(&self, salt: u64) -> u64 {
        let wide = |address: IpAddr| match address {
            IpAddr::V4(four) => u128::from(u32::from(four)),
            IpAddr::V6(six) => six.into(),
        };
        let (source, destination) = (wide(self.source), wide(self.destination));
        let numbers = u64::from(self.protocol) << 32
            | u64::from(self.source_port) << 16
            | u64::from(self.destination_port);
        let words = [
            // Mixed in like the rest: a salt must not be as if an address were another.
            salt,
            source as u64,
            (source >> 64) as u64,
            destination as u64,
            (destination >> 64) as u64,
            numbers,
        ];
        words.into_iter().fold(0u64, |hash, word| {
            let mut mixed = (hash ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        })
    }
}

/// What is known of a flow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flow {
    /// By which list its last packet went.
    pub list: usize,
    /// When.
    pub sent: Duration,
    /// Bytes since the last rearrangement.
    pub bytes: u64,
    /// To which list it is to move, and until when it waits for a gap.
    pub moves: Option<(usize, Duration)>,
}
