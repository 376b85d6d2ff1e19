//! What a controller is told at its start, and the presets of the thesis's rivals.

use crate::{Recorder, Security};
use plait_control_openflow::{Batching, Design, Mark, Role, connection};
use std::collections::BTreeMap;
use std::time::Duration;

/// How a controller works. What is true by default is the thesis's preferred design; everything can be switched off to
/// see what it brings.
#[derive(Debug, Clone)]
pub struct Config {
    /// Threads. Choice: one for each processor, at most eight by default; who measures says how many.
    pub workers: usize,
    /// Whether each keeps to a processor of its own.
    pub pin: bool,
    /// Who serves whom.
    pub design: Design,
    /// How often a switch is visited in a round, by its datapath; the others once. Who is visited twice has twice the share.
    pub weights: BTreeMap<u64, u32>,
    /// Which worker has a switch where the design has that.
    pub partition: Partition,
    /// How many requests at once. Choice: as many as take a processor a millisecond, where the thesis has three; memory that a
    /// batch goes through is then still in the processor's cache when its answers are written, and nobody waits as long.
    pub batching: Batching,
    /// From when a request can have come until its answer is in the socket, for switches that ask for no more than their share.
    /// Choice: none by default, since many loud switches make reads small then, which costs throughput.
    pub latency_bound: Option<Duration>,
    /// Requests that a batch never exceeds by more than one read. Choice: 2048, whose frames and answers have half a
    /// megabyte, for the same reason.
    pub most_batch: usize,
    /// Whether each read is a batch, whatever is in it.
    pub batch_per_read: bool,
    /// Bytes that are read from a switch at once, at least a header. Choice: 64 KiB, some 600 requests. With 2 KiB half of the
    /// time goes into reading and writing, with 16 KiB a third; every switch has as much in each round, so that shares stay
    /// fair.
    pub read: usize,
    /// Whether sockets that nothing waits in are passed by.
    pub idleness: Idleness,
    /// Whether a switch that another worker holds when its turn comes is tried again in the same round.
    pub revisits: bool,
    /// Whether all of a batch for one switch is sent at once.
    pub output_batching: bool,
    /// Whether a worker uses the room of a batch again.
    pub pools: bool,
    /// Whether workers without work sleep, and wake when there is some for them.
    pub scale: bool,
    /// From one measurement of rates to the next, in the dynamic partition. Choice: a second, in which a switch of 1000
    /// requests a second is measured within 3 %.
    pub repartition: Duration,
    /// Connections; more are refused.
    pub most_connections: usize,
    /// Bytes that may wait for all switches together to read them. With more, a switch is ended when something is added for it and
    /// more waits than its share, which is that of one of `most_connections`; so that there are never twice as many. What is
    /// encrypted already, 64 KiB of a connection at most, does not count. Choice: 1 GiB, which a few thousand switches that are
    /// merely slow never reach.
    pub most_unread: usize,
    /// Ports that may be known of all connected switches together. With more, a switch that tells of one is ended if it has more than
    /// its share, as with [`most_unread`](Self::most_unread). Choice: a million, 64 of each connection.
    pub most_ports: usize,
    /// For how long a datapath whose switch showed a certificate is kept for that certificate when the switch has gone. Choice: 3 s,
    /// for which routing keeps its place.
    pub keep_datapath: Duration,
    /// The mark that cookies of its own flows have, by which they are told from those of others.
    pub mark: Mark,
    /// What it is to its switches beside other controllers; equal, which is asked of nobody.
    pub role: Role,
    /// The number of its election as master, if not that of a new one.
    pub generation: Option<u64>,
    /// What each connection is told.
    pub connection: connection::Config,
    /// TLS, with which a switch must show a certificate; without it anybody who can connect is a switch.
    pub security: Option<Security>,
    /// Who is told all that happens, if the runtime records.
    pub recorder: Option<Recorder>,
}

/// Which worker has a switch in the static partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Partition {
    /// As many switches for each.
    #[default]
    Even,
    /// By a hash of the socket's descriptor, as Beacon does.
    Descriptor,
}

/// Who finds out where something waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idleness {
    /// Nobody: every socket is read in every round.
    Unknown,
    /// One worker at a time, once in so many rounds of its own; 1 is the thesis's.
    OnePoller(u32),
    /// One worker at a time, so many times in each round of its own, as far as it reads so many sockets in it.
    EagerPoller(u32),
    /// Every worker, once in a round.
    AllPoll,
}

impl Default for Config {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
        Self {
            workers: processors.min(8),
            pin: true,
            design: Design::RoundRobin,
            weights: BTreeMap::new(),
            partition: Partition::Even,
            batching: Batching::Adaptive(Duration::from_millis(1)),
            latency_bound: None,
            most_batch: 2048,
            batch_per_read: false,
            read: 64 << 10,
            idleness: Idleness::OnePoller(1),
            revisits: true,
            output_batching: true,
            pools: true,
            scale: true,
            repartition: Duration::from_secs(1),
            most_connections: 16_384,
            most_unread: 1 << 30,
            most_ports: 1 << 20,
            keep_datapath: Duration::from_secs(3),
            mark: Mark::default(),
            role: Role::Equal,
            generation: None,
            connection: connection::Config::default(),
            security: None,
            recorder: None,
        }
    }
}

impl Config {
    /// As NOX: static partition, 512 KiB a read, each read a batch (thesis section 4.3).
    pub fn nox() -> Self {
        Self {
            design: Design::StaticPartition,
            batching: Batching::Static(usize::MAX),
            batch_per_read: true,
            read: 512 << 10,
            ..Self::default()
        }
    }

    /// As Beacon: partition by a hash of descriptors, static batches of one read of 64 KiB.
    pub fn beacon() -> Self {
        Self {
            design: Design::StaticPartition,
            partition: Partition::Descriptor,
            batching: Batching::Static(usize::MAX),
            batch_per_read: true,
            read: 64 << 10,
            ..Self::default()
        }
    }
}
