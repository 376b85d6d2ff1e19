//! The answering side.

use crate::connection::Connection;
use crate::conversation::{Conversation, request};
use crate::scrape::{Asked, Heard, Scrape, response};
use rustix::event::{PollFd, PollFlags};
use std::fs;
use std::io;
use std::marker::PhantomData;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;

/// Who asks beyond these waits.
const MOST: usize = 128;

/// Who asks. No two in an agent's life have the same.
pub type Number = u64;

/// All who ask at the moment, and the socket that more come by.
///
/// In an agent's loop: wait for [`waited`](Self::waited), [`receive`](Self::receive), [`say`](Self::say) what is to say, then
/// [`flush`](Self::flush).
#[derive(Debug)]
pub struct Clients<C> {
    listener: UnixListener,
    connections: Vec<Connection>,
    count: Number,
    speaks: PhantomData<C>,
}

impl<C: Conversation> Clients<C> {
    /// Opens a socket that its owner alone may speak to. One that is there is taken for a former life's: hold the
    /// [lock](crate::home::lock).
    ///
    /// # Errors
    /// It cannot be there.
    pub fn open(socket: &Path) -> io::Result<Self> {
        match fs::remove_file(socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(socket)?;
        fs::set_permissions(socket, fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, connections: Vec::new(), count: 0, speaks: PhantomData })
    }

    /// The sockets, and what of them is waited for.
    pub fn waited(&self) -> impl Iterator<Item = PollFd<'_>> {
        let listener = (self.connections.len() < MOST)
            .then(|| PollFd::from_borrowed_fd(self.listener.as_fd(), PollFlags::IN));
        let all = self.connections.iter().map(|connection| {
            let write = if connection.has_unsent() { PollFlags::OUT } else { PollFlags::empty() };
            let read = if connection.has_ended { PollFlags::empty() } else { PollFlags::IN };
            PollFd::from_borrowed_fd(connection.stream.as_fd(), read | write)
        });
        listener.into_iter().chain(all)
    }

    /// What was asked since, and by whom. What was no request is answered here.
    pub fn receive(&mut self) -> Vec<(Number, C::Request)> {
        self.accept();
        let mut requests = Vec::new();
        for connection in &mut self.connections {
            connection.read();
            while let Some(line) = connection.line() {
                match connection.scrape.hear(&line) {
                    Heard::Line => match request::<C>(&line) {
                        Ok(request) => requests.push((connection.number, request)),
                        Err(refusal) => tell::<C>(connection, &refusal),
                    },
                    Heard::Part => {}
                    Heard::End(Asked::Metrics) => requests.push((connection.number, C::scrape())),
                    Heard::End(Asked::Other) => {
                        connection.end_with(&response("404 Not Found", "there is /metrics alone\n"));
                    }
                    Heard::End(Asked::Done) => {
                        connection.end_with(&response("405 Method Not Allowed", "there is GET alone\n"));
                    }
                }
            }
        }
        requests
    }

    /// Says something to one who asked. Who is gone hears nothing.
    pub fn say(&mut self, number: Number, reply: &C::Reply) {
        if let Some(connection) = self.find(number) {
            tell::<C>(connection, reply);
        }
    }

    /// What one asked is answered later: until [`pay`](Self::pay) it is not let go, though it may ask no more.
    pub fn owe(&mut self, number: Number) {
        if let Some(connection) = self.find(number) {
            connection.owed += 1;
        }
    }

    /// Answers what was owed.
    pub fn pay(&mut self, number: Number, reply: &C::Reply) {
        if let Some(connection) = self.find(number) {
            connection.owed = connection.owed.saturating_sub(1);
            tell::<C>(connection, reply);
        }
    }

    /// Sends what can be sent, and forgets who is gone.
    pub fn flush(&mut self) {
        self.connections.iter_mut().for_each(Connection::write);
        self.connections.retain(Connection::is_alive);
    }

    /// Whether one who asked still listens.
    pub fn is_there(&self, number: Number) -> bool {
        self.connections.iter().any(|connection| connection.number == number)
    }

    fn find(&mut self, number: Number) -> Option<&mut Connection> {
        self.connections.iter_mut().find(|connection| connection.number == number)
    }

    fn accept(&mut self) {
        while self.connections.len() < MOST {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    if stream.set_nonblocking(true).is_ok() {
                        self.count += 1;
                        self.connections.push(Connection::new(self.count, stream));
                    }
                }
                Err(error) => {
                    // Out of descriptors, say: the socket stays readable, and asking again at once would be all that is
                    // done.
                    if error.kind() != io::ErrorKind::WouldBlock {
                        std::thread::sleep(Duration::from_millis(20));
                    }
                    return;
                }
            }
        }
    }
}

fn tell<C: Conversation>(connection: &mut Connection, reply: &C::Reply) {
    if connection.scrape == Scrape::Whole {
        let fault = || C::refused(reply).unwrap_or("the agent has no page").to_owned() + "\n";
        let page = C::page(reply).map(|page| response("200 OK", page));
        return connection.end_with(&page.unwrap_or_else(|| response("500 Internal Server Error", &fault())));
    }
    match serde_json::to_vec(reply) {
        Ok(line) => connection.say(&line),
        Err(error) => tracing::error!(%error, "a reply that cannot be written"),
    }
}
