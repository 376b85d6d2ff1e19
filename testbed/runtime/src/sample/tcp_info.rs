//! `struct tcp_info` of `linux/tcp.h`, as far as rows need it.
//!
//! The struct only ever grows at its end. Each field is therefore read where the answer is long enough to hold it, so
//! that older kernels give fewer fields and newer ones no surprise.

use std::time::Duration;

// Offsets in bytes. Times are microseconds, rates bytes a second.
const OPTIONS: usize = 7;
const RTO: usize = 8;
const SND_MSS: usize = 16;
const UNACKED: usize = 24;
const LOST: usize = 32;
const RTT: usize = 68;
const RTTVAR: usize = 72;
const SND_SSTHRESH: usize = 76;
const SND_CWND: usize = 80;
const TOTAL_RETRANS: usize = 100;
const PACING_RATE: usize = 104;
const BYTES_ACKED: usize = 120;
const BYTES_RECEIVED: usize = 128;
const MIN_RTT: usize = 148;
const DELIVERY_RATE: usize = 160;
const BYTES_SENT: usize = 200;

/// `TCP_INFINITE_SSTHRESH` of `net/tcp.h`.
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// The bytes of a `tcp_info`, of whatever length this kernel gives.
#[derive(Debug, Clone, Copy)]
pub(super) struct TcpInfo<'a>(&'a [u8]);

impl<'a> TcpInfo<'a> {
    /// A view of a `tcp_info`; none when it lacks fields that every kernel since 2.6 gives.
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        (bytes.len() >= TOTAL_RETRANS + 4).then_some(Self(bytes))
    }

    fn word(self, at: usize) -> u32 {
        self.0.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_ne_bytes)
    }

    fn long(self, at: usize) -> Option<u64> {
        self.0.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_ne_bytes)
    }

    fn micros(self, at: usize) -> Duration {
        Duration::from_micros(self.word(at).into())
    }

    pub fn cwnd(self) -> u32 {
        self.word(SND_CWND)
    }

    pub fn ssthresh(self) -> Option<u32> {
        Some(self.word(SND_SSTHRESH)).filter(|threshold| *threshold < INFINITE_SSTHRESH)
    }

    pub fn srtt(self) -> Duration {
        self.micros(RTT)
    }

    pub fn rttvar(self) -> Duration {
        self.micros(RTTVAR)
    }

    /// Absent before the first measurement, which the kernel writes as all ones.
    pub fn min_rtt(self) -> Option<Duration> {
        let known = self.0.len() >= MIN_RTT + 4 && !matches!(self.word(MIN_RTT), 0 | u32::MAX);
        known.then(|| self.micros(MIN_RTT))
    }

    pub fn rto(self) -> Duration {
        self.micros(RTO)
    }

    pub fn mss(self) -> u32 {
        self.word(SND_MSS)
    }

    pub fn unacked(self) -> u32 {
        self.word(UNACKED)
    }

    pub fn lost(self) -> u32 {
        self.word(LOST)
    }

    pub fn total_retransmits(self) -> u32 {
        self.word(TOTAL_RETRANS)
    }

    /// Bits per second.
    pub fn delivery_rate(self) -> Option<u64> {
        self.long(DELIVERY_RATE).filter(|rate| *rate > 0).map(|rate| rate.saturating_mul(8))
    }

    /// Bits per second; absent where nothing is paced, which the kernel writes as all ones.
    pub fn pacing_rate(self) -> Option<u64> {
        self.long(PACING_RATE)
            .filter(|rate| *rate != u64::MAX && *rate > 0)
            .map(|rate| rate.saturating_mul(8))
    }

    /// Meaningful beside a delivery rate only.
    pub fn application_limited(self) -> Option<bool> {
        self.delivery_rate().map(|_| self.0[OPTIONS] & 1 == 1)
    }

    pub fn bytes_acked(self) -> Option<u64> {
        self.long(BYTES_ACKED)
    }

    pub fn bytes_received(self) -> Option<u64> {
        self.long(BYTES_RECEIVED)
    }

    pub fn bytes_sent(self) -> Option<u64> {
        self.long(BYTES_SENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_older_kernel_does_not_tell_is_absent_and_what_a_newer_adds_is_ignored() {
        let mut bytes = vec![0u8; 512];
        bytes[SND_CWND] = 10;
        bytes[BYTES_ACKED] = 7;
        bytes[DELIVERY_RATE] = 100;
        bytes[BYTES_SENT] = 9;
        let new = TcpInfo::new(&bytes).unwrap();
        assert_eq!(
            (new.cwnd(), new.bytes_acked(), new.delivery_rate(), new.bytes_sent()),
            (10, Some(7), Some(800), Some(9))
        );
        let old = TcpInfo::new(&bytes[..104]).unwrap();
        assert_eq!(
            (old.cwnd(), old.bytes_acked(), old.delivery_rate(), old.min_rtt()),
            (10, None, None, None)
        );
        assert!(TcpInfo::new(&bytes[..103]).is_none());
    }
}
