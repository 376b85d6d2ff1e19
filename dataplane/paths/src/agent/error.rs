//! Why an agent did not do what it had to, each with what to do about it.

use super::places::LAYOUT;
use ipnet::IpNet;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why an agent did not do what it had to.
#[derive(Debug, Error)]
pub enum AgentError {
    /// A file or folder.
    #[error("{0}: {1}")]
    File(PathBuf, #[source] io::Error),
    /// What the data plane refuses.
    #[error(transparent)]
    Paths(#[from] crate::Error),
    /// A system call.
    #[error("{0}: {1}")]
    Kernel(&'static str, #[source] io::Error),
    /// It is done, and will be forgotten.
    #[error(
        "{0}: {1}: it is done, but an agent that starts again will not know of it; make room and say it again"
    )]
    Saved(PathBuf, #[source] io::Error),
    /// A device that there is not.
    #[error("there is no device `{0}` here: `--device` names one that packets leave by")]
    NoDevice(String),
    /// Nothing to steer.
    #[error("this agent steers no device: start it again with `--device`")]
    NothingSteered,
    /// Nothing to do.
    #[error(
        "there is nothing to do: name devices to steer (`--device`), an address to be a relay at (`--relay`), or both"
    )]
    Idle,
    /// Lists of one prefix with different encapsulations.
    #[error(
        "the lists of {0} are of type {1}: all of a prefix's are; take the prefix away first with `plait paths del prefix {0}`"
    )]
    OtherType(IpNet, crate::Encapsulation),
    /// A list of which nothing was said by hand.
    #[error(
        "nobody added that to {0} by hand: `plait paths show` lists what is there, and what iplbd learnt is not deleted but overruled"
    )]
    NotThere(IpNet),
    /// Shares of a policy that has none.
    #[error("lists of {0} have no weights by policy {1}: say `select weighted` with it")]
    NoWeights(IpNet, crate::protocol::Policy),
    /// Shares of lists that are learnt.
    #[error(
        "what is learnt of {0} has no weights: say `select hash`, `round-robin` or `flow-based`, or name lists with `relay`"
    )]
    LearntWeights(IpNet),
    /// A flow that nobody heard of.
    #[error("no flow `{0}` was heard of on a steered device: `plait paths flows` lists those that were")]
    NoFlow(crate::protocol::FlowName),
    /// A policy by which flows stay.
    #[error("flows to {0} are not moved: their policy is not `flow-based`")]
    NotMoved(IpNet),
    /// State of another version.
    #[error("{0} is of version {1} of what agents keep, this one's is {version}: start the plait that made it, or take it away with `plait paths agent --remove`, after which packets go by plain routing", version = super::state::VERSION)]
    Version(PathBuf, u32),
    /// Programs of another layout.
    #[error(
        "{0} holds programs of another plait's layout, this one's is layout-{LAYOUT}: start the plait that made them, or take them away with `plait paths agent --remove`"
    )]
    Layout(PathBuf),
    /// No place for programs to stay.
    #[error("{0} is in no BPF file system: `mount -t bpf bpf /sys/fs/bpf`")]
    NoBpfFs(PathBuf),
    /// A user.
    #[error("path control needs root: eBPF programs are loaded by nobody else")]
    NotRoot,
    /// Another agent is there.
    #[error("an agent runs already with {0}")]
    Running(PathBuf),
}

pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> AgentError {
    let path = path.to_owned();
    move |error| AgentError::File(path, error)
}
