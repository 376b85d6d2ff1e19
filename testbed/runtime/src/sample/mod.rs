//! What the kernels of all nodes say about their connections and interfaces, at an interval.
//!
//! [`TcpSampler`] and [`InterfaceSampler`] open one netlink socket a node. A socket stays in the namespace it was
//! opened in, so one thread then polls all nodes without entering any.

mod row;

pub use row::{InterfaceRow, TcpRow, TcpState};
