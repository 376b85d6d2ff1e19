//! A switch of a load with its connection: how it is told, written to and read from.

use crate::link::Link;
use crate::load::Load;
use crate::source::Source;
use crate::switch::Switch;
use rustix::event::epoll;
use std::io;
use std::time::Duration;

/// Nanoseconds between two tries to connect again.
const RECONNECT: u64 = 200_000_000;
/// How long connecting again may take.
const CONNECT: Duration = Duration::from_millis(100);

/// A switch, its requests and its connection.
pub struct Member {
    pub switch: Switch,
    pub source: Source,
    pub link: Option<Link>,
    pub is_probe: bool,
    pub place: u64,
    pub tried: u64,
    pub written: usize,
    pub is_blocked: bool,
    /// When its connection took no more the last time, and what its controller could have had when requests ended.
    pub blocked_at: Option<u64>,
    pub wanted: Option<u64>,
    /// Whether it stands among those that are due.
    pub is_queued: bool,
    pub disconnected: Option<String>,
}

impl Member {
    /// Connects again before the start, as a switch does that a controller has turned away: some do so while they begin.
    pub fn again(&mut self, load: &Load, now: u64, epoll: &rustix::fd::OwnedFd) {
        if self.link.is_some() || now < self.tried + RECONNECT {
            return;
        }
        self.tried = now;
        // Who cannot, tries again; what it lacks in the end is counted.
        let room = self.source.room();
        let Ok(link) = Link::connect(load.controller, load.security.as_ref(), CONNECT, room) else { return };
        let data = epoll::EventData::new_u64(self.place);
        if epoll::add(epoll, &link, data, epoll::EventFlags::IN).is_ok() {
            self.switch = Switch::new(self.switch.version(), self.switch.datapath(), load.ports);
            (self.written, self.is_blocked) = (0, false);
            self.disconnected = None;
            self.link = Some(link);
        }
    }

    pub fn tell(&mut self, now: u64, epoll: &rustix::fd::OwnedFd) {
        if self.switch.is_ready() && self.link.is_some() {
            self.source.tell(now, self.switch.output());
        }
        self.write(epoll);
    }

    /// Writes what there is, and notes whether the connection took it.
    pub fn write_at(&mut self, now: u64, epoll: &rustix::fd::OwnedFd) {
        self.write(epoll);
        if self.is_blocked {
            self.blocked_at = Some(now);
        }
    }

    /// Notes once, when requests end, how many the controller could have had: all that were due, if its connection was
    /// full in the last tenth of the time; otherwise those that were made, since a load that is late has held back the
    /// others itself.
    pub fn note_wanted(&mut self, duration: u64) {
        let (_, due) = self.source.offered(duration);
        let is_full = self.blocked_at.is_some_and(|at| at >= duration - duration / 10);
        self.wanted.get_or_insert(if is_full { due } else { due.min(self.source.counts.sent) });
    }

    /// Writes what there is; if not all of it is taken, epoll says when more is.
    pub fn write(&mut self, epoll: &rustix::fd::OwnedFd) {
        let Some(link) = &mut self.link else { return };
        let output = self.switch.output();
        while self.written < output.len() {
            match link.write(&output[self.written..]) {
                Ok(count) if count > 0 => self.written += count,
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => break,
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                other => {
                    let why = other.map_or_else(|why| why.to_string(), |_| "nothing is taken".to_owned());
                    self.disconnected.get_or_insert(why);
                    self.link = None;
                    return;
                }
            }
        }
        let is_sent = match link.push() {
            Ok(is_sent) => is_sent,
            Err(why) => {
                self.disconnected.get_or_insert(why.to_string());
                self.link = None;
                return;
            }
        };
        let is_blocked = self.written < output.len() || !is_sent;
        if self.written == output.len() {
            output.clear();
            self.written = 0;
        }
        if is_blocked != self.is_blocked {
            self.is_blocked = is_blocked;
            let flags = if is_blocked {
                epoll::EventFlags::IN | epoll::EventFlags::OUT
            } else {
                epoll::EventFlags::IN
            };
            let data = epoll::EventData::new_u64(self.place);
            if let Err(why) = epoll::modify(epoll, link, data, flags) {
                self.disconnected.get_or_insert(why.to_string());
                self.link = None;
            }
        }
    }
}

/// Reads once, as much as there is room for: what is left is there the next time.
#[inline]
pub fn read(
    link: &mut Option<Link>,
    switch: &mut Switch,
    disconnected: &mut Option<String>,
    buffer: &mut [u8],
    mut named: impl FnMut(crate::switch::Named),
) {
    let Some(connected) = link else { return };
    let why = loop {
        match connected.read(buffer) {
            Ok(0) => break "the controller ended the connection".to_owned(),
            Ok(count) => {
                switch.handle_input(&buffer[..count], &mut named);
                match switch.closed() {
                    Some(why) => break why.to_owned(),
                    None if connected.may_hold_input(count, buffer.len()) => {}
                    None => return,
                }
            }
            Err(why) if matches!(why.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                return;
            }
            Err(why) => break why.to_string(),
        }
    };
    disconnected.get_or_insert(why);
    *link = None;
}
