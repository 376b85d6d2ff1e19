//! Programs on devices of kernels without TCX: filters of the clsact queueing discipline.
//!
//! A filter has a name, which is the path that its program is kept at: a later life finds it by that, and programs of
//! others, such as of an agent of another name, are never mistaken for it.

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{
    TcAttribute, TcBpfFlags, TcFilterBpf, TcFilterBpfOption, TcHandle, TcHeader, TcMessage, TcOption,
};
use plait_dataplane_netlink::Netlink;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Behind those of others: the kernel gives who asks for none 49152, and less and less to who comes later.
///
/// Choice: a filter on a clsact of ours is before one on another's, so that a later life knows which it has to take along. The kernel
/// does not tell who made one.
const ON_OURS: u32 = 60_002;
const ON_ANOTHERS: u32 = 60_003;
/// In network order.
const ALL_PROTOCOLS: u32 = (libc::ETH_P_ALL as u16).to_be() as u32;

/// As a filter has it.
fn priority(filter: &TcMessage) -> u32 {
    filter.header.info >> 16
}

/// One side of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Incoming,
    Outgoing,
}

impl Side {
    fn parent(self) -> TcHandle {
        let minor = match self {
            Self::Incoming => TcHandle::MIN_INGRESS,
            Self::Outgoing => TcHandle::MIN_EGRESS,
        };
        TcHandle { major: 0xffff, minor }
    }
}

/// A place on a device for a filter of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub interface: u32,
    pub side: Side,
    pub name: String,
}

impl Place {
    /// Puts a program here, in the place of one that is here: each packet meets the one or the other.
    pub fn put(&self, program: BorrowedFd<'_>) -> io::Result<()> {
        let netlink = Netlink::open()?;
        let mut clsact = self.message(TcHandle::CLSACT, TcHandle { major: 0xffff, minor: 0 });
        clsact.attributes = vec![TcAttribute::Kind("clsact".to_owned())];
        let is_ours = match netlink
            .request(RouteNetlinkMessage::NewQueueDiscipline(clsact), NLM_F_CREATE | NLM_F_EXCL)
        {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Err(_) => self.all(&netlink)?.iter().any(|filter| priority(filter) == ON_OURS),
            Ok(()) => true,
        };
        let before = self.find(&netlink)?;
        let (handle, priority) =
            before.unwrap_or((TcHandle::UNSPEC, if is_ours { ON_OURS } else { ON_ANOTHERS }));
        let mut filter = self.filter(handle, priority);
        let options = vec![
            TcFilterBpfOption::ProgFd(program.as_raw_fd() as u32),
            TcFilterBpfOption::ProgName(self.name.clone()),
            TcFilterBpfOption::Flags(TcBpfFlags::DirectAction),
        ];
        filter.attributes.push(TcAttribute::Options(options.into_iter().map(TcOption::Bpf).collect()));
        let flags = NLM_F_CREATE | if before.is_some() { NLM_F_REPLACE } else { NLM_F_EXCL };
        netlink.request(RouteNetlinkMessage::NewTrafficFilter(filter), flags)
    }

    /// Takes the program away, whether it is here or not; with the last filter of a clsact of ours that, too.
    pub fn clear(&self) -> io::Result<()> {
        let netlink = Netlink::open()?;
        let Some((handle, priority)) = self.find(&netlink)? else { return Ok(()) };
        netlink.request(RouteNetlinkMessage::DelTrafficFilter(self.filter(handle, priority)), 0)?;
        if priority == ON_OURS && self.all(&netlink)?.is_empty() {
            let clsact = self.message(TcHandle::CLSACT, TcHandle { major: 0xffff, minor: 0 });
            netlink.request(RouteNetlinkMessage::DelQueueDiscipline(clsact), 0)?;
        }
        Ok(())
    }

    /// Whether a program is here.
    pub fn is_taken(&self) -> bool {
        Netlink::open().and_then(|netlink| self.find(&netlink)).is_ok_and(|found| found.is_some())
    }

    /// The filter of this name, and its priority.
    fn find(&self, netlink: &Netlink) -> io::Result<Option<(TcHandle, u32)>> {
        let is_it = |filter: &TcMessage| {
            filter.attributes.iter().any(|attribute| match attribute {
                TcAttribute::Options(options) => options.iter().any(
                    |option| matches!(option, TcOption::Bpf(TcFilterBpfOption::ProgName(name)) if *name == self.name),
                ),
                _ => false,
            })
        };
        Ok(self
            .filters(netlink, self.side)?
            .iter()
            .find(|filter| is_it(filter))
            .map(|filter| (filter.header.handle, priority(filter))))
    }

    /// All filters on either side.
    fn all(&self, netlink: &Netlink) -> io::Result<Vec<TcMessage>> {
        Ok([self.filters(netlink, Side::Incoming)?, self.filters(netlink, Side::Outgoing)?].concat())
    }

    /// All filters on a side of the device.
    fn filters(&self, netlink: &Netlink, side: Side) -> io::Result<Vec<TcMessage>> {
        let ask = self.message(side.parent(), TcHandle::UNSPEC);
        let found = match netlink.dump(RouteNetlinkMessage::GetTrafficFilter(ask)) {
            // No device, or no clsact on it.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENODEV | libc::EINVAL)) => Vec::new(),
            found => found?,
        };
        let filter = |message| match message {
            RouteNetlinkMessage::NewTrafficFilter(filter) => Some(filter),
            _ => None,
        };
        Ok(found.into_iter().filter_map(filter).collect())
    }

    /// What names a filter here.
    fn filter(&self, handle: TcHandle, priority: u32) -> TcMessage {
        let mut message = self.message(self.side.parent(), handle);
        message.header.info = priority << 16 | ALL_PROTOCOLS;
        message.attributes = vec![TcAttribute::Kind(TcFilterBpf::KIND.to_owned())];
        message
    }

    fn message(&self, parent: TcHandle, handle: TcHandle) -> TcMessage {
        let index = self.interface as i32;
        TcMessage::from_parts(TcHeader { index, handle, parent, ..TcHeader::default() }, Vec::new())
    }
}
