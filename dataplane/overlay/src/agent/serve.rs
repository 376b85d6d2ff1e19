//! The agent's loop: its socket, the kernel's news, the control planes.

use super::{Agent, AgentError, at, doing};
use crate::protocol::{Reply, Request, Speech};
use plait_dataplane_agent::{Clients, Number};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

impl Agent {
    /// Serves until it is killed.
    ///
    /// # Errors
    /// The socket cannot be; the kernel no longer answers.
    pub fn serve(mut self) -> Result<(), AgentError> {
        let path = self.places.socket();
        let mut clients = Clients::open(&path).map_err(at(&path))?;
        tracing::info!(socket = %path.display(), "the agent serves");
        let mut watching: BTreeSet<Number> = BTreeSet::new();
        loop {
            self.wait(&clients).map_err(doing("poll"))?;
            if let Err(error) = self.hear() {
                tracing::error!(%error, "the data plane does not follow the underlay");
            }
            if let Err(error) = self.tick() {
                tracing::error!(%error, "a control plane is not followed");
            }
            self.turn();
            for (number, request) in clients.receive() {
                let is_watch = request == Request::Watch;
                match self.answer(request, number) {
                    Ok(Some(reply)) => {
                        clients.say(number, &reply);
                        if is_watch {
                            watching.insert(number);
                            self.untold.is_watched = true;
                        }
                    }
                    Ok(None) => clients.owe(number),
                    Err(error) => clients.say(number, &Reply::Error(error.to_string())),
                }
            }
            for (number, reply) in self.trace() {
                clients.pay(number, &reply);
            }
            self.members.transmit();
            for change in std::mem::take(&mut self.untold.changes).into_iter().map(Reply::Event) {
                watching.iter().for_each(|number| clients.say(*number, &change));
            }
            clients.flush();
            watching.retain(|number| clients.is_there(*number));
            self.untold.is_watched = !watching.is_empty();
        }
    }

    fn wait(&self, clients: &Clients<Speech>) -> io::Result<()> {
        let readable = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
        let mut waited = vec![readable(self.underlay.as_fd())];
        waited.extend(self.members.sockets.values().map(|socket| readable(socket.as_fd() as BorrowedFd<'_>)));
        waited.extend(self.feeds.waited().map(|(socket, flags)| PollFd::from_borrowed_fd(socket, flags)));
        waited.extend(clients.waited());
        let timeout = Timespec::try_from(self.timeout()).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
        match poll(&mut waited, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes what was written count for what is known of packets that came in lately.
    fn turn(&self) {
        if let Err(error) = self.tables.programs.turn() {
            tracing::error!(%error, "what comes in may be met by what tables were, for a moment");
        }
    }

    /// The answer to a request; none yet to one whose answer takes others.
    fn answer(&mut self, request: Request, number: Number) -> Result<Option<Reply>, AgentError> {
        let Request::Trace(trace) = request else {
            let reply = self.handle(request);
            self.turn();
            return reply.map(Some);
        };
        let mut tracing = self.start_trace(&trace, number)?;
        Ok(match tracing.done() {
            Some(reply) => Some(reply),
            None => {
                self.traces.push(tracing);
                None
            }
        })
    }
}
