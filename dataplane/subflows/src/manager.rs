//! The path manager of one network namespace.

use crate::SubflowsError;
use crate::connections::{Connections, News, Wanted};
use crate::create::{Create, FAMILY};
use crate::event::{EVENTS, Event};
use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_packet_generic::GenlMessage;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_GENERIC};
use plait_dataplane_netlink::{Family, Generic};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs;
use std::io;
use std::time::{Duration, Instant};

/// Which path manager new connections get: a word since Linux 6.16, a number before.
const BY_NAME: (&str, &str) = ("/proc/sys/net/mptcp/path_manager", "userspace");
const BY_NUMBER: (&str, &str) = ("/proc/sys/net/mptcp/pm_type", "1");

/// What a manager does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Subflows of each connection, from 1 to 8.
    pub count: usize,
}

/// Opens subflows for the connections of the namespace that it was made in, and lets others open theirs.
pub struct Manager {
    connections: Connections,
    events: Socket,
    commands: Generic,
    family: Family,
    setting: Setting,
}

impl Manager {
    /// Takes over what happens to connections from here on; older ones keep the manager they have. What the kernel did
    /// before, it does again when this is dropped.
    ///
    /// # Errors
    /// Without Multipath TCP or the right to manage it, and for more subflows than the kernel keeps.
    pub fn new(options: Options) -> Result<Self, SubflowsError> {
        if !(1..=8).contains(&options.count) {
            return Err(SubflowsError::Count(options.count));
        }
        const SOCKET: &str = "a socket for the kernel's path manager";
        let commands = Generic::open().map_err(SubflowsError::of(SOCKET))?;
        let family =
            commands.family(FAMILY).map_err(SubflowsError::of("asking for the kernel's path manager"))?;
        let family = family.ok_or(SubflowsError::Missing)?;
        let group = family.group(EVENTS).ok_or(SubflowsError::Missing)?;
        let events = socket().map_err(SubflowsError::of(SOCKET))?;
        // Refused for users; the default then serves.
        let _ = events.set_rx_buf_sz(4 << 20);
        events.add_membership(group).map_err(SubflowsError::of("listening to events"))?;
        events.set_non_blocking(true).map_err(SubflowsError::of("listening to events"))?;
        // Listens first: of a connection made in between, events are not lost.
        let setting = Setting::userspace()?;
        let connections = Connections::new(options.count);
        Ok(Self { connections, events, commands, family, setting })
    }

    /// What the kernel did before, in its words.
    pub fn before(&self) -> &str {
        &self.setting.before
    }

    /// Waits for events up to that long, and opens what is to be opened.
    ///
    /// # Errors
    /// The kernel takes no more requests.
    pub fn step(&mut self, patience: Duration) -> Result<Vec<News>, SubflowsError> {
        let until = self.connections.next().map(|next| next.saturating_duration_since(Instant::now()));
        wait(&self.events, until.map_or(patience, |until| until.min(patience)))
            .map_err(SubflowsError::of("waiting for events"))?;
        let mut news = Vec::new();
        let mut wanted = Vec::new();
        for event in self.heard()? {
            let (more, became) = self.connections.heard(&event, Instant::now());
            wanted.extend(more);
            news.extend(became);
        }
        wanted.extend(self.connections.due(Instant::now()));
        for one in &wanted {
            if let Some(error) = self.open(one)? {
                news.push(News::Refused { connection: one.token, error });
            }
        }
        Ok(news)
    }

    fn heard(&self) -> Result<Vec<Event>, SubflowsError> {
        let mut heard = Vec::new();
        loop {
            match self.events.recv_from_full() {
                Ok((bytes, _)) => {
                    // What a newer kernel tells in another way is no concern here.
                    if let Ok(message) = NetlinkMessage::<GenlMessage<Event>>::deserialize(&bytes)
                        && let NetlinkPayload::InnerMessage(inner) = message.payload
                    {
                        heard.push(inner.payload);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(heard),
                // Choice: what was told while nobody listened is lost; later connections are not.
                Err(error) if matches!(error.raw_os_error(), Some(INTERRUPTED | TOO_MUCH)) => {}
                Err(error) => return Err(SubflowsError::of("hearing events")(error)),
            }
        }
    }

    /// Asks for one subflow; the kernel's reason when it will not.
    fn open(&self, wanted: &Wanted) -> Result<Option<i32>, SubflowsError> {
        let refused = self.commands.request(&self.family, Create::new(wanted));
        let refused = refused.map_err(SubflowsError::of("asking for a subflow"))?;
        Ok(refused.and_then(|error| error.raw_os_error()))
    }
}

const INTERRUPTED: i32 = rustix::io::Errno::INTR.raw_os_error();
const TOO_MUCH: i32 = rustix::io::Errno::NOBUFS.raw_os_error();

fn socket() -> io::Result<Socket> {
    let mut socket = Socket::new(NETLINK_GENERIC)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    Ok(socket)
}

fn wait(socket: &Socket, patience: Duration) -> io::Result<()> {
    use std::os::fd::AsFd;
    let patience = Timespec::try_from(patience).map_err(io::Error::other)?;
    match poll(&mut [PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN)], Some(&patience)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The kernel's choice of path manager, put back at the end.
struct Setting {
    file: &'static str,
    before: String,
}

impl Setting {
    fn userspace() -> Result<Self, SubflowsError> {
        for (file, word) in [BY_NAME, BY_NUMBER] {
            match fs::read_to_string(file) {
                Ok(before) => {
                    fs::write(file, word)
                        .map_err(SubflowsError::of("taking over from the kernel's path manager"))?;
                    return Ok(Self { file, before: before.trim().to_owned() });
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(SubflowsError::of("reading which path manager there is")(error)),
            }
        }
        Err(SubflowsError::Missing)
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        // Nobody is left to tell.
        let _ = fs::write(self.file, &self.before);
    }
}
