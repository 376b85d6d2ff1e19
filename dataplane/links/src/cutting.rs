//! A pair of devices by which the kernel cuts superpackets: what goes to the front comes in by the back as segments.
//!
//! ```text
//! a program ─► the front, for which the kernel makes segments ─► the back ─► its programs
//! ```
//!
//! Choice: of a veth, since no program can cut, and since it goes on when no agent runs. Whose a pair is, its hardware address
//! says: the kernel makes it with the pair, where an alias comes later.

use crate::offload::{self, Policy};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoData, InfoKind, InfoVeth, LinkAttribute, LinkInfo, LinkMessage};
use plait_dataplane_netlink::Netlink;
use std::io;

/// The longest packet of a veth, so that it carries what any device does.
const MTU: u32 = 65_535;

/// A hardware address that says whose a pair is.
pub type Mark = [u8; 6];

/// The mark of who is known by some bytes, such as the path of what is kept: FNV-1a, in an address of no manufacturer's.
pub fn mark(bytes: &[u8]) -> Mark {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let [.., a, b, c, d, e] = hash.to_be_bytes();
    [2, a, b, c, d, e]
}

/// What becomes of a pair of that name and mark that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Former {
    /// It is in the way.
    Refused,
    /// It goes on.
    TakenOver,
    /// Another takes its place.
    Replaced,
}

/// A pair of the namespace in which it was made. It goes when this is dropped, but where it is to stay.
pub struct Pair {
    netlink: Netlink,
    front: String,
    back: String,
    mark: Mark,
    stays: bool,
}

impl Pair {
    /// Makes a pair of two names, in the calling thread's network namespace; or finds the one that is there.
    ///
    /// # Errors
    /// Somebody else has devices of that name; the kernel's refusal.
    pub fn make([front, back]: [String; 2], mark: Mark, former: Former) -> io::Result<Self> {
        // One that is in the way stays.
        let mut pair = Self { netlink: Netlink::open()?, front, back, mark, stays: true };
        match pair.create() {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let is_ours = known(&pair.netlink, &pair.front).is_ok_and(|front| front.mark == mark);
                match former {
                    Former::TakenOver if is_ours => {}
                    Former::Replaced if is_ours => {
                        remove_from(&pair.netlink, &pair.front, mark)?;
                        pair.create()?;
                    }
                    _ => return Err(error),
                }
            }
            made => made?,
        }
        pair.stays = false;
        Ok(pair)
    }

    /// Both ends' indices, the front's first.
    ///
    /// # Errors
    /// Somebody took it away.
    pub fn ends(&self) -> io::Result<[u32; 2]> {
        Ok([known(&self.netlink, &self.front)?.index, known(&self.netlink, &self.back)?.index])
    }

    /// Has it cut, and carry packets, and say nothing by itself: it gets no address of its own.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn start(&self) -> io::Result<()> {
        // What comes from outside may not say how many segments it has, so that their number alone does not tell.
        offload::set(&self.front, Policy::WholePackets)?;
        self.ends()?.into_iter().try_for_each(|index| self.netlink.bring_up_silent(index))
    }

    /// Has it stay when this is dropped.
    pub fn keep(&mut self) {
        self.stays = true;
    }

    fn create(&self) -> io::Result<()> {
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
        let mut pair = end(&self.front);
        pair.attributes.push(LinkAttribute::Address(self.mark.to_vec()));
        // The kernel cuts for a device what has more segments than it takes.
        pair.attributes.push(LinkAttribute::GsoMaxSegs(1));
        let peer = InfoData::Veth(InfoVeth::Peer(end(&self.back)));
        pair.attributes
            .push(LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Veth), LinkInfo::Data(peer)]));
        self.netlink.request(RouteNetlinkMessage::NewLink(pair), NLM_F_CREATE | NLM_F_EXCL)
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        if !self.stays {
            // Where the namespace is gone, so is the pair.
            let _ = remove_from(&self.netlink, &self.front, self.mark);
        }
    }
}

/// The index of an end of a pair, in the calling thread's namespace.
///
/// # Errors
/// There is none.
pub fn index(end: &str) -> io::Result<u32> {
    known(&Netlink::open()?, end).map(|known| known.index)
}

/// Removes a pair of the calling thread's namespace by its front, where that is there and has the mark: another's may have the
/// same name.
///
/// # Errors
/// The kernel's refusal.
pub fn remove(front: &str, mark: Mark) -> io::Result<()> {
    remove_from(&Netlink::open()?, front, mark)
}

fn remove_from(netlink: &Netlink, front: &str, mark: Mark) -> io::Result<()> {
    match known(netlink, front) {
        Ok(front) if front.mark == mark => {
            let mut message = LinkMessage::default();
            message.header.index = front.index;
            netlink.request(RouteNetlinkMessage::DelLink(message), 0)
        }
        _ => Ok(()),
    }
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
