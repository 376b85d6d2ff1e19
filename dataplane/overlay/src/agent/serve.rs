//! The agent's loop: its socket, the kernel's news, the control planes.

use super::{Agent, AgentError, at, doing};
use crate::protocol::{Envelope, PROTOCOL_VERSION, Reply, Request};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Deserialize;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};

/// The longest request taken.
const LONGEST: usize = 1 << 20;
/// Who reads so much slower than things happen is let go.
const MOST_UNREAD: usize = 64 << 20;
/// Who asks beyond these waits.
const MOST_CLIENTS: usize = 128;

struct Client {
    number: u64,
    stream: UnixStream,
    unread: Vec<u8>,
    unsent: Vec<u8>,
    is_watching: bool,
    /// Traces that it waits for.
    traces: usize,
    /// It asks no more; what it asked is still answered.
    has_ended: bool,
    is_gone: bool,
}

impl Agent {
    /// Serves until it is killed.
    ///
    /// # Errors
    /// The socket cannot be; the kernel no longer answers.
    pub fn serve(mut self) -> Result<(), AgentError> {
        let path = self.places.socket();
        // One that is there is a former life's: this one holds the lock.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(&path)(error)),
            _ => {}
        }
        let listener = UnixListener::bind(&path).map_err(at(&path))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).map_err(at(&path))?;
        listener.set_nonblocking(true).map_err(at(&path))?;
        tracing::info!(socket = %path.display(), "the agent serves");
        let mut clients: Vec<Client> = Vec::new();
        let mut count = 0;
        loop {
            self.wait(&listener, &clients).map_err(doing("poll"))?;
            if let Err(error) = self.hear() {
                tracing::error!(%error, "the data plane does not follow the underlay");
            }
            if let Err(error) = self.tick() {
                tracing::error!(%error, "a control plane is not followed");
            }
            while clients.len() < MOST_CLIENTS {
                let stream = match listener.accept() {
                    Ok((stream, _)) => stream,
                    Err(error) => {
                        // Out of descriptors, say: the socket stays readable, and asking again at once would be all
                        // that is done.
                        if error.kind() != io::ErrorKind::WouldBlock {
                            std::thread::sleep(std::time::Duration::from_millis(20));
                        }
                        break;
                    }
                };
                if stream.set_nonblocking(true).is_ok() {
                    let (unread, unsent) = (Vec::new(), Vec::new());
                    count += 1;
                    let client = Client {
                        number: count,
                        stream,
                        unread,
                        unsent,
                        is_watching: false,
                        traces: 0,
                        has_ended: false,
                        is_gone: false,
                    };
                    clients.push(client);
                }
            }
            for client in &mut clients {
                client.read();
                while let Some(line) = client.line() {
                    if let Some(reply) = self.answer(&line, client) {
                        client.say(&reply);
                    }
                }
            }
            for (number, reply) in self.trace() {
                if let Some(client) = clients.iter_mut().find(|client| client.number == number) {
                    client.traces -= 1;
                    client.say(&reply);
                }
            }
            self.members.transmit();
            for event in std::mem::take(&mut self.events) {
                for client in clients.iter_mut().filter(|client| client.is_watching) {
                    client.say(&Reply::Event(event));
                }
            }
            for client in &mut clients {
                client.write();
            }
            clients.retain(|client| {
                !(client.is_gone || client.has_ended && client.unsent.is_empty() && client.traces == 0)
            });
        }
    }

    fn wait(&self, listener: &UnixListener, clients: &[Client]) -> io::Result<()> {
        let mut waited: Vec<PollFd<'_>> = vec![
            PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.underlay.as_fd(), PollFlags::IN),
        ];
        if clients.len() >= MOST_CLIENTS {
            waited.swap_remove(0);
        }
        let readable = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
        waited.extend(self.members.sockets.values().map(|socket| readable(socket.as_fd() as BorrowedFd<'_>)));
        waited.extend(self.feeds.waited().map(|(socket, flags)| PollFd::from_borrowed_fd(socket, flags)));
        waited.extend(clients.iter().map(|client| {
            let write = if client.unsent.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
            let read = if client.has_ended { PollFlags::empty() } else { PollFlags::IN };
            PollFd::from_borrowed_fd(client.stream.as_fd(), read | write)
        }));
        let timeout = Timespec::try_from(self.timeout()).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
        match poll(&mut waited, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The answer to a line; none yet to one whose answer takes others.
    fn answer(&mut self, line: &[u8], client: &mut Client) -> Option<Reply> {
        #[derive(Deserialize)]
        struct Version {
            plait: u32,
        }
        // Of another version even the request may read otherwise.
        match serde_json::from_slice::<Version>(line) {
            Ok(Version { plait: PROTOCOL_VERSION }) => {}
            Ok(Version { plait: other }) => {
                return Some(Reply::Error(format!(
                    "this agent speaks version {PROTOCOL_VERSION}, not {other}: use the plait that started it, or start \
                     the agent again with yours"
                )));
            }
            Err(error) => return Some(Reply::Error(format!("no request: {error}"))),
        }
        let reply = match serde_json::from_slice::<Envelope>(line) {
            Err(error) => Reply::Error(format!("no request: {error}")),
            Ok(Envelope { request: Request::Trace(trace), .. }) => {
                match self.start_trace(&trace, client.number) {
                    Ok(mut tracing) => match tracing.done() {
                        Some(reply) => reply,
                        None => {
                            self.traces.push(tracing);
                            client.traces += 1;
                            return None;
                        }
                    },
                    Err(error) => Reply::Error(error.to_string()),
                }
            }
            Ok(Envelope { request, .. }) => {
                let is_watch = request == Request::Watch;
                match self.handle(request) {
                    Ok(reply) => {
                        client.is_watching |= is_watch;
                        reply
                    }
                    Err(error) => Reply::Error(error.to_string()),
                }
            }
        };
        Some(reply)
    }
}

impl Client {
    fn read(&mut self) {
        let mut chunk = [0; 16 * 1024];
        // Who asks much does not keep the others waiting.
        for _ in 0..16 {
            match self.stream.read(&mut chunk) {
                Ok(0) => {
                    self.has_ended = true;
                    return;
                }
                Ok(length) => self.unread.extend_from_slice(&chunk[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.is_gone |= error.kind() != io::ErrorKind::WouldBlock;
                    return;
                }
            }
        }
    }

    /// The next whole line.
    fn line(&mut self) -> Option<Vec<u8>> {
        match self.unread.iter().position(|byte| *byte == b'\n') {
            Some(end) => {
                let rest = self.unread.split_off(end + 1);
                Some(std::mem::replace(&mut self.unread, rest))
            }
            None => {
                self.is_gone |= self.unread.len() > LONGEST;
                None
            }
        }
    }

    fn say(&mut self, reply: &Reply) {
        match serde_json::to_vec(reply) {
            Ok(bytes) => {
                self.unsent.extend_from_slice(&bytes);
                self.unsent.push(b'\n');
            }
            Err(error) => tracing::error!(%error, "a reply that cannot be written"),
        }
        self.is_gone |= self.unsent.len() > MOST_UNREAD;
    }

    fn write(&mut self) {
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(0) => return,
                Ok(length) => drop(self.unsent.drain(..length)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.is_gone |= error.kind() != io::ErrorKind::WouldBlock;
                    return;
                }
            }
        }
    }
}
