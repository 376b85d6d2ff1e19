//! One node's share of a run's traffic.

use crate::{Arrived, PortError, Sender, Sink, Source, now};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::thread;

/// What one node has to do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// The flows that it sends.
    pub sends: Vec<Source>,
    /// The ports that it listens on.
    pub receives: Vec<u16>,
    /// When it stops listening, from the run's beginning on.
    pub until: u64,
}

/// What became of a node's share.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// Datagrams sent, by flow.
    pub sent: BTreeMap<u32, u64>,
    /// What came, by flow.
    pub received: BTreeMap<u32, Received>,
}

/// What a node saw of a flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received {
    /// Datagrams.
    pub datagrams: u64,
    /// Bytes of payload.
    pub bytes: u64,
    /// Datagrams that came after one that was sent later.
    pub reordered: u64,
}

/// All runs of a testbed have networks of their own, so that one number does for them. A program of the run that sends to
/// the same ports by itself has another one.
const RUN: u32 = 0;

/// Carries a share until its end: one thread sends, one for each port listens. When that begins is asked once all ports are
/// taken: what is sent to them from then on is counted, even if it comes before a thread looks.
///
/// # Errors
/// Ports that are taken, or nobody who says when it begins.
pub fn carry(share: Share, begin: impl FnOnce() -> io::Result<u64>) -> io::Result<Told> {
    let sinks = share.receives.iter().map(|port| Sink::bind(*port)).collect::<Result<Vec<_>, PortError>>()?;
    let flows: Vec<u32> = share.sends.iter().map(|source| source.flow).collect();
    let sender = Sender::bind(RUN, share.sends, false)?;
    let begin = begin()?;
    let until = begin.saturating_add(share.until);
    thread::scope(|scope| {
        let listen = |sink: Sink| move || sink.listen(|_| now() < until);
        let sinks: Vec<_> = sinks.into_iter().map(|sink| scope.spawn(listen(sink))).collect();
        let sent = sender.send(begin, |_| true).into_iter().map(|sent| sent.datagrams);
        let mut told = Told { sent: flows.into_iter().zip(sent).collect(), received: BTreeMap::new() };
        for sink in sinks {
            let heard = sink.join().map_err(|_| io::Error::other("a sink broke"))??;
            for (key, arrived) in heard.flows.into_iter().filter(|(key, _)| key.run == RUN) {
                told.received.entry(key.flow).or_default().add(&arrived);
            }
        }
        Ok(told)
    })
}

impl Received {
    /// A sender with several addresses may change the one that a flow comes from.
    fn add(&mut self, arrived: &Arrived) {
        self.datagrams += arrived.datagrams;
        self.bytes += arrived.bytes;
        self.reordered += arrived.reordered;
    }
}
