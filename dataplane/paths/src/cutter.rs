//! A pair of devices by which the kernel cuts superpackets that cannot go under a stack as they are: `cut` and the index of
//! the steered device, and its other end.
//!
//! ```text
//! steer ─► cut3, of which the kernel makes segments ─► cut3e ─► again ─► the device, where steer meets segments
//! ```
//!
//! Choice: of a veth, since no program can cut, and since it goes on when no agent runs. Whose a pair is, its hardware address
//! says, which follows from the path that it is kept at: the kernel makes it with the pair, where an alias comes later.

use crate::device::Device;
use crate::error::Error;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoData, InfoKind, InfoVeth, LinkAttribute, LinkInfo, LinkMessage};
use plait_dataplane_bpf::{Attachment, PathProgram, PathPrograms, path_names, release_path};
use plait_dataplane_links::offload::{self, Policy};
use plait_dataplane_netlink::Netlink;
use plait_dataplane_reference::paths::tables::Cutter as Row;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The longest packet of a veth, so that it carries what any device does.
const MTU: u32 = 65_535;
/// Of what is cut for nobody.
const NOBODY: Row = Row { front: 0, back: 0, device: 0 };

/// Cuts superpackets for one device. It goes when this is dropped, but where it was kept.
pub struct Cutter {
    _pair: Pair,
    _again: Attachment,
}

impl Cutter {
    /// Begins to cut what the programs of a device give it, in the device's namespace, which is the calling thread's. Where a
    /// path of a BPF file system is named, it stays until [`release`], and one of a former life goes on.
    ///
    /// # Errors
    /// Somebody else has devices of that name; the kernel's refusal; the path cannot be. Nothing is left then.
    pub fn start(device: &Device, programs: &PathPrograms, kept: Option<&Path>) -> Result<Self, Error> {
        let failed = |error| Error::Device(device.index, error);
        let mut pair = Pair::make(device.index, kept).map_err(failed)?;
        let [front, back] = names(device.index);
        let open = |name: &str| Device::open(known(&pair.netlink, name).map_err(failed)?.index);
        let ends = (open(&front)?, open(&back)?);
        // What comes from outside may not say how many segments it has, so that their number alone does not tell.
        offload::set(&front, Policy::WholePackets).map_err(failed)?;
        ends.0.bring_up_silent()?;
        ends.1.bring_up_silent()?;
        let table = programs.table(&path_names::CUTTERS)?;
        // Before the program is there, which would drop what a former one still let go on.
        table.set(&0, &Row { front: ends.0.index, back: ends.1.index, device: device.index })?;
        let again = match kept {
            Some(path) => programs.succeed(PathProgram::Again, ends.1.index, path),
            None => programs.attach(PathProgram::Again, ends.1.index),
        };
        let again = again.inspect_err(|_| {
            let _ = table.set(&0, &NOBODY);
        })?;
        pair.stays = kept.is_some();
        Ok(Self { _pair: pair, _again: again })
    }
}

/// Takes away what a former life kept at a path for a device of the calling thread's namespace.
///
/// # Errors
/// The kernel's refusal.
pub fn release(device: u32, path: &Path) -> Result<(), Error> {
    let failed = |error| Error::Device(device, error);
    let netlink = Netlink::open().map_err(failed)?;
    let [front, back] = names(device);
    let back = known(&netlink, &back).map_or(0, |back| back.index);
    release_path(PathProgram::Again, back, path)?;
    remove(&netlink, &front, mark(Some(path))).map_err(failed)
}

/// Takes away pairs of the calling thread's namespace that nobody keeps, of an agent that died before it did. Of a device's
/// index it is asked at which path its pair would be kept.
///
/// # Errors
/// The kernel's refusal.
pub fn sweep(path: impl Fn(u32) -> PathBuf) -> io::Result<()> {
    let netlink = Netlink::open()?;
    for answer in netlink.dump(RouteNetlinkMessage::GetLink(LinkMessage::default()))? {
        let RouteNetlinkMessage::NewLink(link) = answer else { continue };
        let name = link.attributes.iter().find_map(|attribute| match attribute {
            LinkAttribute::IfName(name) => Some(name),
            _ => None,
        });
        let device = name.and_then(|name| name.strip_prefix("cut")?.parse().ok());
        let Some((name, path)) = name.zip(device.map(&path)) else { continue };
        if !path.exists() {
            remove(&netlink, name, mark(Some(&path)))?;
        }
    }
    Ok(())
}

/// The names of both ends.
fn names(device: u32) -> [String; 2] {
    [format!("cut{device}"), format!("cut{device}e")]
}

/// The hardware address of what is kept at a path, or of this process: FNV-1a, in an address of no manufacturer's.
fn mark(kept: Option<&Path>) -> [u8; 6] {
    let fold = |bytes: &[u8]| {
        bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        })
    };
    let hash = match kept {
        Some(path) => fold(path.as_os_str().as_bytes()),
        None => fold(&std::process::id().to_be_bytes()),
    };
    let [.., a, b, c, d, e] = hash.to_be_bytes();
    [2, a, b, c, d, e]
}

/// A pair, which goes when this is dropped, but where it is to stay.
struct Pair {
    /// Of the device's namespace.
    netlink: Netlink,
    front: String,
    mark: [u8; 6],
    stays: bool,
}

impl Pair {
    /// Makes a pair for a device, or finds the one that is kept at a path.
    fn make(device: u32, kept: Option<&Path>) -> io::Result<Self> {
        let ([front, back], mark, netlink) = (names(device), mark(kept), Netlink::open()?);
        match make(&netlink, &front, &back, mark) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let is_ours = known(&netlink, &front).is_ok_and(|front| front.mark == mark);
                if !is_ours || kept.is_none() {
                    return Err(error);
                }
                // One that no program was put on, whoever made it died.
                if !kept.is_some_and(Path::exists) {
                    remove(&netlink, &front, mark)?;
                    make(&netlink, &front, &back, mark)?;
                }
            }
            made => made?,
        }
        Ok(Self { netlink, front, mark, stays: false })
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        if !self.stays {
            // Where the namespace is gone, so is the pair.
            let _ = remove(&self.netlink, &self.front, self.mark);
        }
    }
}

fn make(netlink: &Netlink, front: &str, back: &str, mark: [u8; 6]) -> io::Result<()> {
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
    pair.attributes.push(LinkAttribute::Address(mark.to_vec()));
    // The kernel cuts for a device what has more segments than it takes.
    pair.attributes.push(LinkAttribute::GsoMaxSegs(1));
    let peer = InfoData::Veth(InfoVeth::Peer(end(back)));
    pair.attributes.push(LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Veth), LinkInfo::Data(peer)]));
    netlink.request(RouteNetlinkMessage::NewLink(pair), NLM_F_CREATE | NLM_F_EXCL)
}

/// A device that is there.
struct Known {
    index: u32,
    mark: Vec<u8>,
}

fn known(netlink: &Netlink, name: &str) -> io::Result<Known> {
    let mut asked = LinkMessage::default();
    asked.attributes = vec![LinkAttribute::IfName(name.to_owned())];
    let RouteNetlinkMessage::NewLink(link) = netlink.get(RouteNetlinkMessage::GetLink(asked))? else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let mark = link.attributes.into_iter().find_map(|attribute| match attribute {
        LinkAttribute::Address(address) => Some(address),
        _ => None,
    });
    Ok(Known { index: link.header.index, mark: mark.unwrap_or_default() })
}

/// Removes a pair by its first end, where that is there and has the mark: another's may have the same name.
fn remove(netlink: &Netlink, front: &str, mark: [u8; 6]) -> io::Result<()> {
    match known(netlink, front) {
        Ok(front) if front.mark == mark => {
            let mut message = LinkMessage::default();
            message.header.index = front.index;
            netlink.request(RouteNetlinkMessage::DelLink(message), 0)
        }
        _ => Ok(()),
    }
}
