//! The agent's loop: its socket, the fabric, the flows.

use super::{Agent, AgentError, error};
use crate::protocol::{Reply, Speech};
use plait_dataplane_agent::{Clients, now};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// From one look at the flows to the next, at most.
const TICK: Duration = Duration::from_secs(1);

impl Agent {
    /// Serves until it is killed.
    ///
    /// # Errors
    /// The socket cannot be; the kernel no longer answers.
    pub fn serve(mut self) -> Result<(), AgentError> {
        let path = self.options.places.socket();
        let mut clients = Clients::<Speech>::open(&path).map_err(error::at(&path))?;
        tracing::info!(socket = %path.display(), "the agent serves");
        loop {
            self.wait(&clients).map_err(|error| AgentError::Kernel("poll", error))?;
            self.tick();
            for (number, request) in clients.receive() {
                let reply = self.handle(request).unwrap_or_else(|error| Reply::Error(error.to_string()));
                clients.say(number, &reply);
            }
            clients.flush();
        }
    }

    /// Follows devices, learns, and rearranges.
    fn tick(&mut self) {
        self.watch_devices();
        let operations = self.learning.run(now());
        self.follow(operations);
        self.rearrange();
        if let Err(error) = self.save() {
            tracing::error!(%error, "an agent that starts again will know less");
            // It is tried again when something changes, not all the time.
            self.is_changed = false;
        }
    }

    fn wait(&self, clients: &Clients<Speech>) -> io::Result<()> {
        let mut waited: Vec<_> = clients.waited().collect();
        waited.push(PollFd::from_borrowed_fd(self.watch.as_fd(), PollFlags::IN));
        waited.extend(self.learning.waited().map(|(socket, flags)| PollFd::from_borrowed_fd(socket, flags)));
        let due = self.learning.timeout().map_or(TICK, |due| due.saturating_sub(now()).min(TICK));
        let timeout = Timespec::try_from(due).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
        match poll(&mut waited, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
