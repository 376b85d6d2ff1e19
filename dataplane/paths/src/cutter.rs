//! A pair of devices by which the kernel cuts superpackets that cannot go under a stack as they are: `cut` and the index of
//! the steered device, and its other end.
//!
//! ```text
//! steer ─► cut3, of which the kernel makes segments ─► cut3e ─► again ─► the device, where steer meets segments
//! ```
//!
//! Choice: of a veth, since no program can cut, and since it goes on when no agent runs.

use crate::device::Device;
use crate::error::Error;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoData, InfoKind, InfoVeth, LinkAttribute, LinkInfo, LinkMessage};
use plait_dataplane_bpf::{Attachment, PathProgram, PathPrograms, path_names, release_path};
use plait_dataplane_netlink::Netlink;
use plait_dataplane_reference::paths::tables::Cutter as Row;
use std::io;
use std::path::Path;

/// The longest packet of a veth, so that it carries what any device does.
const MTU: u32 = 65_535;

/// Cuts superpackets for one device. It goes when this is dropped, but where it was kept.
pub struct Cutter {
    /// Open in the namespace of the device.
    front: Device,
    is_kept: bool,
    _again: Attachment,
}

impl Cutter {
    /// Begins to cut what the programs of a device give it, in the device's namespace, which is the calling thread's. Where a
    /// path of a BPF file system is named, it stays until [`release`], and one of a former life goes on.
    ///
    /// # Errors
    /// Somebody else has devices of that name; the kernel's refusal; the path cannot be.
    pub fn start(device: &Device, programs: &PathPrograms, kept: Option<&Path>) -> Result<Self, Error> {
        let failed = |error| Error::Device(device.index, error);
        let [front, back] = names(device.index);
        match make(device.netlink(), &front, &back) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && kept.is_some_and(Path::exists) => {}
            made => made.map_err(failed)?,
        }
        let index = |name: &str| index(device.netlink(), name).map_err(failed);
        let (front, back) = (Device::open(index(&front)?)?, Device::open(index(&back)?)?);
        let table = programs.table(&path_names::CUTTERS)?;
        let again = match kept {
            Some(path) => programs.succeed(PathProgram::Again, back.index, path)?,
            None => programs.attach(PathProgram::Again, back.index)?,
        };
        front.bring_up_silent()?;
        back.bring_up_silent()?;
        table.set(&0, &Row { front: front.index, back: back.index, device: device.index })?;
        Ok(Self { front, is_kept: kept.is_some(), _again: again })
    }
}

impl Drop for Cutter {
    fn drop(&mut self) {
        if !self.is_kept {
            // Where the namespace is gone, so is the pair.
            let _ = remove(self.front.netlink(), self.front.index);
        }
    }
}

/// Takes away what a former life kept at a path for a device of the calling thread's namespace.
///
/// # Errors
/// The kernel's refusal.
pub fn release(device: u32, path: &Path) -> Result<(), Error> {
    let [front, back] = names(device);
    let failed = |error| Error::Device(device, error);
    let netlink = Netlink::open().map_err(failed)?;
    let back = index(&netlink, &back).unwrap_or_default();
    release_path(PathProgram::Again, back, path)?;
    match index(&netlink, &front) {
        Ok(front) => remove(&netlink, front).map_err(failed),
        // It went with the device's namespace, which this is not.
        Err(_) => Ok(()),
    }
}

/// The names of both ends.
fn names(device: u32) -> [String; 2] {
    [format!("cut{device}"), format!("cut{device}e")]
}

fn make(netlink: &Netlink, front: &str, back: &str) -> io::Result<()> {
    let end = |name: &str| {
        let mut message = LinkMessage::default();
        message.attributes = vec![
            LinkAttribute::IfName(name.to_owned()),
            LinkAttribute::Mtu(MTU),
            // Otherwise the kernel makes a queue for each processor it could ever have.
            LinkAttribute::NumTxQueues(1),
            LinkAttribute::NumRxQueues(1),
        ];
        message
    };
    let mut pair = end(front);
    // The kernel cuts for a device what has more segments than it takes.
    pair.attributes.push(LinkAttribute::GsoMaxSegs(1));
    let peer = InfoData::Veth(InfoVeth::Peer(end(back)));
    pair.attributes.push(LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Veth), LinkInfo::Data(peer)]));
    netlink.request(RouteNetlinkMessage::NewLink(pair), NLM_F_CREATE | NLM_F_EXCL)
}

fn index(netlink: &Netlink, name: &str) -> io::Result<u32> {
    let mut asked = LinkMessage::default();
    asked.attributes = vec![LinkAttribute::IfName(name.to_owned())];
    match netlink.get(RouteNetlinkMessage::GetLink(asked))? {
        RouteNetlinkMessage::NewLink(link) => Ok(link.header.index),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

fn remove(netlink: &Netlink, device: u32) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = device;
    netlink.request(RouteNetlinkMessage::DelLink(message), 0)
}
