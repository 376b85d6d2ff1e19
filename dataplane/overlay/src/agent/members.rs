//! Control planes, and nodes that only ask and answer, driven: sockets and time for `control/overlay`.

use super::AgentError;
use super::recording::Recording;
use super::sources::Sources;
use crate::Rerouted;
use crate::config::Control;
use plait_control_overlay::record::Recorded;
use plait_control_overlay::{Config, Correspondent, Direction, Inquiry, Key, Routes, Sealed};
use plait_model_overlay::{Application, Locators, NodeId, Operation, Overlay, Tables};
use plait_model_wire::number::port::OVERLAY_CONTROL;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// Datagrams taken from a socket before anything else is looked at.
const MOST_AT_ONCE: usize = 256;

/// The control planes of a node.
pub(super) struct Members {
    members: BTreeMap<Application, Driven>,
    /// Of applications without a control plane.
    correspondents: BTreeMap<Application, Correspondent>,
    /// What they are told and do, if that is written down.
    recording: Option<Recording>,
    /// Where the kernel would send from, of which only several own locators of a family ask.
    sources: Sources,
    /// A socket for each own locator.
    pub sockets: BTreeMap<IpAddr, UdpSocket>,
}

struct Driven {
    control: Control,
    member: Recorded,
}

impl Members {
    /// None yet.
    pub fn new(recording: Option<Recording>) -> Self {
        let (members, correspondents) = (BTreeMap::new(), BTreeMap::new());
        Self { members, correspondents, recording, sources: Sources::default(), sockets: BTreeMap::new() }
    }

    /// Starts, changes or ends the control plane of an application, whose tables are as given; or has it only ask and answer.
    pub fn set(
        &mut self,
        application: Application,
        control: Option<&Control>,
        group: Option<NodeId>,
        tables: &Tables,
        now: Duration,
    ) -> Result<(), AgentError> {
        let Some((control, plane)) = control.and_then(|control| Some((control, control.plane.plane()?)))
        else {
            let correspondent = control.map(|control| -> Result<_, AgentError> {
                Ok(Correspondent::new(application, read_key(&control.key)?, random()?))
            });
            let correspondent = correspondent.transpose()?;
            if let Some(mut driven) = self.members.remove(&application) {
                driven.member.leave();
                send(|| driven.member.poll_transmit(), &self.sockets, &mut self.sources);
                note(&mut self.recording, &mut driven.member);
            }
            match correspondent {
                Some(correspondent) => self.correspondents.insert(application, correspondent),
                None => self.correspondents.remove(&application),
            };
            return Ok(());
        };
        if let Some(driven) = self.members.get_mut(&application) {
            // Only the plane: it changes under traffic.
            let rest = Control { plane: driven.control.plane, ..control.clone() };
            if rest == driven.control {
                driven.member.set_plane(now, plane);
                driven.control = control.clone();
                return Ok(());
            }
        }
        let own = tables.own.ok_or(AgentError::NoIdentity(application))?;
        let config = Config {
            application,
            own,
            locators: tables.locators.clone(),
            group,
            key: read_key(&control.key)?,
            seeds: control.seeds.iter().copied().filter(|seed| !tables.locators.contains_key(seed)).collect(),
            plane,
            interval: control.interval(),
            neighbours: control.neighbours,
        };
        let mut member = Recorded::new(config, now, self.recording.is_some(), random()?);
        if !tables.nodes.is_empty() || !tables.routes.is_empty() {
            let routes: Routes = tables.routes.clone();
            member.adopt(now, tables.nodes.clone(), routes);
        }
        self.correspondents.remove(&application);
        if let Some(mut former) =
            self.members.insert(application, Driven { control: control.clone(), member })
        {
            note(&mut self.recording, &mut former.member);
        }
        Ok(())
    }

    /// This node's locators in an application changed.
    pub fn locators(&mut self, application: Application, locators: &Locators) {
        if let Some(driven) = self.members.get_mut(&application) {
            driven.member.handle_locators(locators.clone());
        }
    }

    /// Addresses are perhaps reached another way, and so from another address, than before.
    pub fn reroute(&mut self, changed: &Rerouted) {
        self.sources.forget(changed);
    }

    /// Opens sockets at own locators, and closes those at others. Until an address is there, there is none at it.
    pub fn listen(&mut self, locators: impl Iterator<Item = IpAddr>) {
        let is_silent = self.members.is_empty() && self.correspondents.is_empty();
        let wanted: Vec<IpAddr> = if is_silent { Vec::new() } else { locators.collect() };
        self.sockets.retain(|address, _| wanted.contains(address));
        for address in wanted {
            if self.sockets.contains_key(&address) {
                continue;
            }
            let opened = UdpSocket::bind((address, OVERLAY_CONTROL)).and_then(|socket| {
                socket.set_nonblocking(true)?;
                Ok(socket)
            });
            match opened {
                Ok(socket) => drop(self.sockets.insert(address, socket)),
                Err(error) => tracing::debug!(%address, %error, "no socket at an own locator yet"),
            }
        }
    }

    /// Takes what came in. `own` names this node in an application.
    pub fn receive(&mut self, now: Duration, overlay: &Overlay, own: impl Fn(Application) -> Option<NodeId>) {
        let mut buffer = [0; 2048];
        for socket in self.sockets.values() {
            // Whoever sends more keeps nobody else waiting.
            for _ in 0..MOST_AT_ONCE {
                let Ok((length, from)) = socket.recv_from(&mut buffer) else { break };
                let bytes = &buffer[..length];
                let Some(application) = Sealed::application_of(bytes) else { continue };
                let driven = self.members.get_mut(&application);
                let correspondent = self.correspondents.get_mut(&application);
                let taken = match (driven, correspondent, overlay.tables(application)) {
                    (Some(driven), ..) => driven.member.handle_datagram(now, from.ip(), bytes),
                    (None, Some(correspondent), Some(tables)) => match own(application) {
                        Some(own) => correspondent.handle_datagram(now, from.ip(), bytes, own, tables),
                        None => continue,
                    },
                    _ => continue,
                };
                if let Err(error) = taken {
                    tracing::debug!(%from, %error, "a datagram that no node of the overlay sent");
                }
            }
        }
    }

    /// Does what is due, and gives the changes to make. Once they are made, [`transmit`](Self::transmit): others send
    /// packets here as soon as they hear of it.
    pub fn run(&mut self, now: Duration) -> Vec<Operation> {
        let mut operations = Vec::new();
        for driven in self.members.values_mut() {
            if driven.member.poll_timeout() <= now {
                driven.member.handle_timeout(now);
            }
            operations.extend(std::iter::from_fn(|| driven.member.poll_operation()));
            note(&mut self.recording, &mut driven.member);
        }
        operations
    }

    /// Whether nodes of an application can ask each other.
    pub fn speak(&self, application: Application) -> bool {
        self.members.contains_key(&application) || self.correspondents.contains_key(&application)
    }

    /// Asks another node, or answers one; whether it was sent. This one is `own`.
    pub fn inquire(
        &mut self,
        application: Application,
        direction: Direction,
        inquiry: Inquiry,
        own: NodeId,
        overlay: &Overlay,
    ) -> bool {
        if let Some(driven) = self.members.get_mut(&application) {
            return driven.member.inquire(direction, inquiry);
        }
        let (correspondent, tables) =
            (self.correspondents.get_mut(&application), overlay.tables(application));
        let both = correspondent.zip(tables);
        both.is_some_and(|(correspondent, tables)| correspondent.inquire(direction, inquiry, own, tables))
    }

    /// What others ask, and what they answer.
    pub fn inquiries(&mut self) -> Vec<(Application, Direction, Inquiry)> {
        let mut all = Vec::new();
        for (application, driven) in &mut self.members {
            while let Some((direction, inquiry)) = driven.member.poll_inquiry() {
                all.push((*application, direction, inquiry));
            }
        }
        for (application, correspondent) in &mut self.correspondents {
            while let Some((direction, inquiry)) = correspondent.poll_inquiry() {
                all.push((*application, direction, inquiry));
            }
        }
        all
    }

    /// Sends what is to be sent.
    pub fn transmit(&mut self) {
        for driven in self.members.values_mut() {
            send(|| driven.member.poll_transmit(), &self.sockets, &mut self.sources);
            note(&mut self.recording, &mut driven.member);
        }
        for correspondent in self.correspondents.values_mut() {
            send(|| correspondent.poll_transmit(), &self.sockets, &mut self.sources);
        }
    }

    /// When to come back at the latest.
    pub fn timeout(&self) -> Option<Duration> {
        self.members.values().map(|driven| driven.member.poll_timeout()).min()
    }
}

/// Sends what there is to send.
fn send(
    mut next: impl FnMut() -> Option<(IpAddr, Vec<u8>)>,
    sockets: &BTreeMap<IpAddr, UdpSocket>,
    sources: &mut Sources,
) {
    while let Some((to, bytes)) = next() {
        if let Some(socket) = towards(to, sockets, sources)
            && let Err(error) = socket.send_to(&bytes, SocketAddr::new(to, OVERLAY_CONTROL))
        {
            tracing::debug!(%to, %error, "a datagram was not sent");
        }
    }
}

/// The socket to send to a locator by. Of several the one at the address that the kernel would send from: the networks of the
/// others may not reach the answer back.
fn towards<'a>(
    to: IpAddr,
    sockets: &'a BTreeMap<IpAddr, UdpSocket>,
    sources: &mut Sources,
) -> Option<&'a UdpSocket> {
    let mut of_family = sockets.iter().filter(|(own, _)| own.is_ipv4() == to.is_ipv4());
    let (first, is_only) = (of_family.next(), of_family.next().is_none());
    let nearest = if is_only { None } else { sources.of(to, source).and_then(|source| sockets.get(&source)) };
    nearest.or(first.map(|(_, socket)| socket))
}

/// The address that the kernel sends from to another.
fn source(to: IpAddr) -> io::Result<IpAddr> {
    let any: IpAddr = if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect((to, OVERLAY_CONTROL))?;
    Ok(socket.local_addr()?.ip())
}

/// Writes down what a member was told and did.
fn note(recording: &mut Option<Recording>, member: &mut Recorded) {
    if let Some(recording) = recording {
        recording.add(std::iter::from_fn(|| member.poll_entry()));
    }
}

/// A key's file, which nobody but its owner may read.
fn read_key(path: &Path) -> Result<Key, AgentError> {
    let refused = |error: io::Error| AgentError::File(path.to_owned(), error);
    let mode = fs::metadata(path).map_err(refused)?.mode();
    if mode & 0o077 != 0 {
        return Err(AgentError::OpenKey(path.to_owned()));
    }
    let bytes = fs::read(path).map_err(refused)?;
    // What an editor adds at the end belongs to no key.
    let end = bytes.iter().rposition(|byte| !byte.is_ascii_whitespace()).map_or(0, |last| last + 1);
    Key::new(&bytes[..end]).map_err(|error| AgentError::Key(path.to_owned(), error))
}

/// Numbers that nobody can guess.
fn random() -> Result<impl FnMut() -> u64 + Send, AgentError> {
    let path = Path::new("/dev/urandom");
    let mut file = fs::File::open(path).map_err(|error| AgentError::File(path.to_owned(), error))?;
    Ok(move || {
        let mut bytes = [0; 8];
        io::Read::read_exact(&mut file, &mut bytes).expect("/dev/urandom never ends");
        u64::from_ne_bytes(bytes)
    })
}
