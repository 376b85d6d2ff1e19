//! Existing control planes that fill tables: connections and time for speakers of EVPN.

use super::AgentError;
use crate::config::Evpn;
use crate::protocol::EvpnReport;
use plait_control_overlay::Routes;
use plait_control_overlay::evpn::{Action, Change, Config, Speaker, State, Station};
use plait_model_overlay::{Application, NodeId, Tables};
use plait_model_wire::bgp::PORT;
use plait_model_wire::ethernet::Mac;
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with, sockopt};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Bytes taken from a connection before anything else is looked at.
const MOST_AT_ONCE: usize = 1 << 18;
/// A neighbour that reads so much slower than it is told things is as good as gone.
const MOST_UNSENT: usize = 16 << 20;

/// The speakers of a node.
#[derive(Default)]
pub(super) struct Feeds {
    feeds: BTreeMap<Application, Feed>,
}

struct Feed {
    evpn: Evpn,
    vtep: IpAddr,
    speaker: Speaker,
    connection: Option<Connection>,
}

struct Connection {
    stream: TcpStream,
    is_there: bool,
    unsent: Vec<u8>,
}

impl Feeds {
    /// Starts, changes or ends the speaker of an application, whose tables are as given. What is to be changed for one that
    /// ends.
    pub fn set(
        &mut self,
        application: Application,
        evpn: Option<&Evpn>,
        tables: &Tables,
        stations: BTreeMap<(u32, Mac), NodeId>,
        now: Duration,
    ) -> Result<Vec<Change>, AgentError> {
        let mut changes = Vec::new();
        let Some(evpn) = evpn else {
            if let Some(mut feed) = self.feeds.remove(&application) {
                feed.speaker.handle_end(now);
                changes.extend(std::iter::from_fn(|| feed.speaker.poll_change()));
                feed.act(now);
            }
            return Ok(changes);
        };
        let mut locators = tables.locators.keys().copied();
        let (Some(vtep), None) = (locators.next(), locators.next()) else {
            return Err(AgentError::Vtep(application));
        };
        if let Some(mut before) = self.feeds.remove(&application) {
            // What it told stays until its successor knows better.
            before.speaker.handle_end(now);
            before.act(now);
        }
        let config = Config {
            application,
            vtep,
            as_number: evpn.as_number,
            remote_as: evpn.remote_as.unwrap_or(evpn.as_number),
            hold: Duration::from_secs(evpn.hold.into()),
        };
        let speaker = if tables.nodes.is_empty() && tables.routes.is_empty() {
            Speaker::new(config, now)
        } else {
            let first = |(node, locators): (&NodeId, &plait_model_overlay::Locators)| {
                locators.keys().next().map(|locator| (*node, *locator))
            };
            let nodes = tables.nodes.iter().filter_map(first).collect();
            let routes: Routes = tables.routes.clone();
            Speaker::adopt(config, now, nodes, routes, stations)
        };
        self.feeds.insert(application, Feed { evpn: evpn.clone(), vtep, speaker, connection: None });
        Ok(changes)
    }

    /// Where others send an application's packets, as it is announced.
    pub fn vtep(&self, application: Application) -> Option<IpAddr> {
        self.feeds.get(&application).map(|feed| feed.vtep)
    }

    /// This node's VNIs of an application with their stations.
    pub fn local(
        &mut self,
        application: Application,
        local: BTreeMap<u32, BTreeSet<Station>>,
        now: Duration,
    ) {
        if let Some(feed) = self.feeds.get_mut(&application) {
            feed.speaker.handle_local(now, local);
        }
    }

    /// The connections, and what of them is waited for.
    pub fn waited(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        self.feeds.values().filter_map(|feed| feed.connection.as_ref()).map(|connection| {
            let write = !connection.is_there || !connection.unsent.is_empty();
            let write = if write { PollFlags::OUT } else { PollFlags::empty() };
            (connection.stream.as_fd(), PollFlags::IN | write)
        })
    }

    /// Takes what came, does what is due, and gives the changes to make.
    pub fn run(&mut self, now: Duration) -> Vec<(Application, Change)> {
        let mut changes = Vec::new();
        for (application, feed) in &mut self.feeds {
            feed.hear(now);
            if feed.speaker.poll_timeout().is_some_and(|due| due <= now) {
                feed.speaker.handle_timeout(now);
            }
            feed.act(now);
            let made = std::iter::from_fn(|| feed.speaker.poll_change());
            changes.extend(made.map(|change| (*application, change)));
        }
        changes
    }

    /// When to come back at the latest.
    pub fn timeout(&self) -> Option<Duration> {
        self.feeds.values().filter_map(|feed| feed.speaker.poll_timeout()).min()
    }

    /// How they fare.
    pub fn report(&self) -> Vec<EvpnReport> {
        let of = |(application, feed): (&Application, &Feed)| {
            let report = feed.speaker.report();
            let state = match report.state {
                State::Idle => "Idle",
                State::Connect => "Connect",
                State::OpenSent => "OpenSent",
                State::OpenConfirm => "OpenConfirm",
                State::Established => "Established",
            };
            EvpnReport {
                application: *application,
                neighbor: feed.evpn.neighbor,
                state: state.to_owned(),
                received: report.received,
                announced: report.announced,
                last: report.last,
            }
        };
        self.feeds.iter().map(of).collect()
    }
}

impl Feed {
    /// Does with the connection what the speaker wants.
    fn act(&mut self, now: Duration) {
        while let Some(action) = self.speaker.poll_action() {
            match action {
                Action::Connect => match begin(self.vtep, self.evpn.neighbor) {
                    Ok(stream) => {
                        self.connection = Some(Connection { stream, is_there: false, unsent: Vec::new() })
                    }
                    Err(error) => self.speaker.handle_closed(now, &error.to_string()),
                },
                Action::Send(bytes) => {
                    if let Some(connection) = &mut self.connection {
                        connection.unsent.extend(bytes);
                    }
                }
                Action::Close => {
                    if let Some(mut connection) = self.connection.take() {
                        // What the kernel does not take at once is for nobody any more.
                        let _ = connection.write();
                    }
                }
            }
        }
        if let Some(connection) = &mut self.connection
            && connection.is_there
            && let Err(error) = connection.write()
        {
            self.lose(now, &error.to_string());
        }
    }

    fn hear(&mut self, now: Duration) {
        let Some(connection) = &mut self.connection else { return };
        if !connection.is_there {
            match is_connected(&connection.stream) {
                Ok(false) => return,
                Ok(true) => {
                    connection.is_there = true;
                    let _ = connection.stream.set_nodelay(true);
                    self.speaker.handle_connected(now);
                }
                Err(error) => return self.lose(now, &error.to_string()),
            }
            self.act(now);
        }
        let mut chunk = [0; 1 << 14];
        let mut taken = 0;
        while let Some(connection) = self.connection.as_mut().filter(|_| taken < MOST_AT_ONCE) {
            match connection.stream.read(&mut chunk) {
                Ok(0) => return self.lose(now, "the neighbour closed the connection"),
                Ok(length) => {
                    taken += length;
                    self.speaker.handle_bytes(now, &chunk[..length]);
                    self.act(now);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => return self.lose(now, &error.to_string()),
            }
        }
    }

    fn lose(&mut self, now: Duration, why: &str) {
        self.connection = None;
        self.speaker.handle_closed(now, why);
    }
}

impl Connection {
    fn write(&mut self) -> io::Result<()> {
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(length) => drop(self.unsent.drain(..length)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        match self.unsent.len() > MOST_UNSENT {
            true => Err(io::Error::new(io::ErrorKind::TimedOut, "the neighbour reads too slowly")),
            false => Ok(()),
        }
    }
}

/// Begins to connect, from the own VTEP where it is of the neighbour's family: neighbours know it by that.
fn begin(vtep: IpAddr, neighbor: IpAddr) -> io::Result<TcpStream> {
    let family = if neighbor.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    if vtep.is_ipv4() == neighbor.is_ipv4() {
        bind(&socket, &SocketAddr::new(vtep, 0))?;
    }
    match connect(&socket, &SocketAddr::new(neighbor, PORT)) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket.into()),
        Err(error) => Err(error.into()),
    }
}

/// Whether a connection that was begun is there by now.
fn is_connected(stream: &TcpStream) -> io::Result<bool> {
    sockopt::socket_error(stream)??;
    match stream.peer_addr() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(false),
        Err(error) => Err(error),
    }
}
