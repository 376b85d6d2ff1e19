//! What the kernels of all nodes say about their connections and interfaces, at an interval.
//!
//! [`TcpSampler`] and [`InterfaceSampler`] open one netlink socket a node. A socket stays in the namespace it was
//! opened in, so one thread then polls all nodes without entering any.

mod row;

pub use row::{InterfaceRow, TcpRow, TcpState};
pub struct TcpSampler; impl TcpSampler { pub fn open(_: &[(String, std::os::fd::BorrowedFd)]) -> std::io::Result<Self> { Ok(Self) } pub fn sample(&mut self) -> std::io::Result<Vec<TcpRow>> { Ok(vec![]) } }
pub struct InterfaceSampler; impl InterfaceSampler { pub fn open(_: &[(String, std::os::fd::BorrowedFd)]) -> std::io::Result<Self> { Ok(Self) } pub fn sample(&mut self) -> std::io::Result<Vec<InterfaceRow>> { Ok(vec![]) } }
