//! Processors that do not halt while somebody measures.

use super::Supervisor;
use super::exec::GRACE;
use crate::control::{Line, Reply};
use crate::kernel::files::Doing;
use crate::kernel::process::kill_group;
use crate::kernel::socket::wait_readable;
use plait_dataplane_processors::{Waker, allowed};
use rustix::process::Signal;
use serde_json::json;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

impl Supervisor {
    /// Keeps all processors awake until the other side of a line is gone, or the testbed is.
    pub(super) fn keep_awake(&self, line: &Line) -> io::Result<()> {
        let mut wakers = Vec::new();
        let begun = self.start_wakers(&mut wakers).and_then(|()| {
            tracing::info!(processors = wakers.len(), "processors are kept awake");
            line.send(&Reply::Row(json!({ "awake": wakers.len() })), &[])?;
            wait_readable(&line.socket, None)
        });
        wakers.iter().for_each(|waker| kill_group(*waker, Signal::KILL));
        self.builder().groups().release(&wakers);
        for waker in wakers {
            let _ = self.children.wait(waker, GRACE);
        }
        begun.map(drop)
    }

    fn start_wakers(&self, wakers: &mut Vec<i32>) -> io::Result<()> {
        // Until all stand: what ends the testbed kills them and removes their group while it holds the builder.
        let builder = self.builder();
        if self.ending.load(Ordering::Acquire) {
            return Err(io::Error::other("the testbed is being taken down"));
        }
        let group = builder.groups().spare()?;
        let processors = allowed();
        if processors.is_empty() {
            return Err(io::Error::other("the kernel does not say which processors there are"));
        }
        for processor in processors {
            let start = || Waker::start(processor, group.as_ref().map(AsFd::as_fd)).map(Waker::into_id);
            wakers.push(self.children.start(start).doing(|| format!("keep processor {processor} awake"))?);
        }
        Ok(())
    }
}
