//! Interface counters, by `rtnetlink(7)`.
//!
//! Choice: of a link message only its name and counters are read, by hand. A full parser would have to understand every
//! attribute that any kernel adds, and would spend most of its time on those nobody asks for.

use super::dump::{NodeSocket, open};
use super::tcp::{halfway, now};
use super::{InterfaceRow, SampleError};
use netlink_packet_core::NlasIterator;
use rustix::fd::BorrowedFd;
use std::time::Duration;

/// `NETLINK_ROUTE` of `linux/netlink.h` is protocol 0.
const NETLINK_ROUTE: Option<rustix::net::Protocol> = None;
/// `RTM_GETLINK`, `IFLA_IFNAME` and `IFLA_STATS64` of `linux/rtnetlink.h` and `linux/if_link.h`.
const RTM_GETLINK: u16 = 18;
const IFLA_IFNAME: u16 = 3;
const IFLA_STATS64: u16 = 23;
/// Bytes of `struct ifinfomsg`, and where its flags stand.
const IFINFOMSG: usize = 16;
const FLAGS: usize = 8;
const IFF_LOOPBACK: u32 = 0x8;

/// Samples the interface counters of all nodes, loopback apart.
#[derive(Debug)]
pub struct InterfaceSampler {
    sockets: Vec<NodeSocket>,
    buffer: Vec<u8>,
    sequence: u32,
    missed: u64,
}

impl InterfaceSampler {
    /// Opens a socket in each node's network namespace: one descriptor a node.
    ///
    /// # Errors
    /// A namespace that may not be entered.
    pub fn open(nodes: &[(String, BorrowedFd<'_>)]) -> Result<Self, SampleError> {
        Ok(Self { sockets: open(nodes, NETLINK_ROUTE)?, buffer: Vec::new(), sequence: 0, missed: 0 })
    }

    /// The counters of every interface of every node.
    pub fn sample(&mut self) -> Vec<InterfaceRow> {
        let mut rows = Vec::new();
        for socket in &self.sockets {
            let (known, asks) = (rows.len(), now());
            self.sequence = self.sequence.wrapping_add(1);
            let take = |payload: &[u8]| rows.extend(row(payload, &socket.node, asks));
            let asked = socket.dump(RTM_GETLINK, &[0; IFINFOMSG], self.sequence, &mut self.buffer, take);
            let at = halfway(asks);
            rows[known..].iter_mut().for_each(|row| row.at = at);
            if let Err(error) = asked {
                self.missed += 1;
                tracing::debug!(node = %socket.node, %error, "interfaces not sampled");
            }
        }
        rows
    }

    /// How many times a node gave no answer.
    pub fn missed(&self) -> u64 {
        self.missed
    }
}

fn row(payload: &[u8], node: &str, at: Duration) -> Option<InterfaceRow> {
    let (message, attributes) = payload.split_at_checked(IFINFOMSG)?;
    let flags = u32::from_ne_bytes(message[FLAGS..FLAGS + 4].try_into().ok()?);
    if flags & IFF_LOOPBACK != 0 {
        return None;
    }
    let mut name = None;
    let mut stats = None;
    for attribute in NlasIterator::new(attributes).flatten() {
        match attribute.kind() {
            IFLA_IFNAME => {
                let bytes = attribute.value().split(|byte| *byte == 0).next().unwrap_or_default();
                name = Some(String::from_utf8_lossy(bytes).into_owned());
            }
            IFLA_STATS64 => stats = Some(attribute.value().to_vec()),
            _ => {}
        }
    }
    let stats = stats?;
    // The order of `struct rtnl_link_stats64`.
    let counter = |position: usize| {
        let bytes = stats.get(8 * position..8 * position + 8)?;
        Some(u64::from_ne_bytes(bytes.try_into().ok()?))
    };
    Some(InterfaceRow {
        at,
        node: node.to_owned(),
        interface: name?,
        rx_packets: counter(0)?,
        tx_packets: counter(1)?,
        rx_bytes: counter(2)?,
        tx_bytes: counter(3)?,
        rx_errors: counter(4)?,
        tx_errors: counter(5)?,
        rx_dropped: counter(6)?,
        tx_dropped: counter(7)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn no_answer_makes_the_reader_panic(bytes in proptest::collection::vec(0u8.., 0..400)) {
            let _ = row(&bytes, "a", Duration::ZERO);
            let mut well_begun = vec![0; IFINFOMSG];
            well_begun.extend_from_slice(&[204, 0, IFLA_STATS64 as u8, 0]);
            well_begun.extend_from_slice(&bytes);
            let _ = row(&well_begun, "a", Duration::ZERO);
        }
    }
}
