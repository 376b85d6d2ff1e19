//! The thread that decides: woken when links have changed, it runs applications without holding anything that others
//! wait for.

use super::install::{decide, lock};
use crate::supervisor::Supervisor;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// Starts it. Whoever sends wakes it; it ends with the last sender.
pub(crate) fn start(supervisor: &Arc<Supervisor>, woken: Receiver<()>) -> io::Result<()> {
    let supervisor = Arc::downgrade(supervisor);
    std::thread::Builder::new().name("plait-routing".into()).spawn(move || {
        while woken.recv().is_ok() {
            // What happened at once is looked at once.
            while woken.try_recv().is_ok() {}
            let Some(supervisor) = supervisor.upgrade() else { return };
            let Some((decider, delays)) = supervisor.builder().asked() else { continue };
            let decided = decide(&decider, &delays, supervisor.up_for());
            // Others need not wait while the kernel does: it changes no route while it takes somebody's namespaces down.
            let mut builder = supervisor.builder();
            let writing = builder.writing.clone();
            let writing = lock(&writing);
            let messages = builder.reroute(&decider, &decided);
            drop(builder);
            let sent = messages.send();
            drop(writing);
            if let Err(error) = sent {
                tracing::error!(%error, "routes that were decided are not there");
            }
        }
    })?;
    Ok(())
}
