//! One flow.

use plait_model_quantity::{Bandwidth, ByteCount};
use serde::{Deserialize, Serialize};

/// A flow of UDP datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Flow {
    /// Who sends, by its place among the hosts.
    pub from: usize,
    /// Who receives.
    pub to: usize,
    /// Its rate, counted over whole Ethernet frames without preamble, gap and checksum.
    pub rate: Bandwidth,
    /// Bytes of UDP payload of each datagram.
    pub size: ByteCount,
    /// The sender's port. No two flows of one sender have the same.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
}
