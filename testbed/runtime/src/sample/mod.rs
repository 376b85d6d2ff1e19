//! What the kernels of all nodes say about their connections and interfaces, at an interval.
//!
//! [`TcpSampler`] and [`InterfaceSampler`] open one netlink socket a node, on a thread that enters each node's network
//! namespace for the purpose. A socket stays in the namespace it was opened in, so that one thread then polls all nodes
//! without entering any. An open socket also keeps its namespace alive: drop the samplers before the nodes should go.

pub(crate) mod dump;
mod interface;
mod ping;
mod row;
mod tcp;
mod tcp_info;

pub use interface::InterfaceSampler;
pub use ping::Pinger;
pub use row::{InterfaceRow, PingRow, TcpRow, TcpState};
pub use tcp::TcpSampler;

use std::io;
use thiserror::Error;

/// Why a node cannot be sampled.
#[derive(Debug, Error)]
#[error("cannot sample {node}: {source}")]
pub struct SampleError {
    /// The node.
    pub node: String,
    /// Why.
    pub source: io::Error,
}
