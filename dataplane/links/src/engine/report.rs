//! What the engine says about itself.

use crate::LatenessSummary;
use plait_model_link::{Counters, Journal};
use plait_model_quantity::TimeSpan;
use serde::Serialize;

/// How far the engine's timing can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum AccuracyClass {
    /// Real-time scheduling and a calibrated constant.
    A,
    /// One of the two is missing.
    B,
    /// One packet in a hundred left more than a millisecond late: results need a second look.
    C,
}

/// The engine's own constant lateness, which is subtracted from every due time, as it was measured. It includes what
/// the two devices add.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Calibration {
    /// For packets that arrive through a packet socket, stamped by the kernel.
    pub packet: TimeSpan,
    /// For packets that arrive through a TAP, stamped by the engine; `None` if this user may not make TAPs.
    pub tap: Option<TimeSpan>,
    /// The typical send of one packet meanwhile: as it changes, so do the constants.
    pub send: TimeSpan,
    /// Packets measured for each.
    pub samples: u64,
}

/// How exact an engine was, over all its links.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EngineReport {
    /// How far the timing can be trusted.
    pub class: AccuracyClass,
    /// Whether all threads have real-time scheduling.
    pub real_time: bool,
    /// The constant that is subtracted, once measured.
    pub calibration: Option<Calibration>,
    /// How late packets left.
    pub lateness: LatenessSummary,
    /// Each link.
    pub links: Vec<LinkReport>,
    /// Seconds in which packets left late or were dropped outside the model.
    pub tainted: Vec<TaintedSecond>,
    /// How long all processors together stood still since the engine started, because the hypervisor ran others.
    pub steal: TimeSpan,
    /// Packets dropped by kernels because the engine did not fetch them in time.
    pub missed: u64,
    /// Packets that kernels refused to send.
    pub refused: u64,
    /// How often the clock of the kernel's stamps was set.
    pub clock_jumps: u64,
}

/// How exact one link was.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkReport {
    /// The link's number.
    pub id: u64,
    /// The link's name.
    pub name: String,
    /// How late packets left, both directions together.
    pub lateness: LatenessSummary,
    /// For each direction, whether the queue's limit was raised to two full frames.
    pub queue_raised: [bool; 2],
    /// For each direction, what was decided about its first packets.
    pub fates: [Journal; 2],
}

/// A second in which the engine did not do what the model said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaintedSecond {
    /// Seconds since the engine started.
    pub second: u64,
    /// The links concerned.
    pub links: Vec<String>,
    /// Packets that left these links late or in time.
    pub packets: u64,
    /// How many of them left more than a millisecond late.
    pub late: u64,
    /// The latest packet.
    pub latest: TimeSpan,
    /// Packets dropped outside the model.
    pub dropped: u64,
}

/// What a link did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkStats {
    /// The link's number.
    pub id: u64,
    /// The link's name.
    pub name: String,
    /// Nanoseconds of CLOCK_MONOTONIC at which all of this was so. Who asks hears of it later.
    pub at: u64,
    /// Which of its directions were taken down.
    pub down: [bool; 2],
    /// From the first end to the second, and back.
    pub directions: [DirectionStats; 2],
    /// The two ends.
    pub ends: [PortStats; 2],
}

/// What one direction of a link did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DirectionStats {
    /// What became of the packets.
    pub counters: Counters,
    /// Bytes in the queue now.
    pub backlog_bytes: u64,
    /// The conditions in force, as a line of text.
    pub conditions: String,
    /// How late packets left.
    pub lateness: LatenessSummary,
}

/// What an end of a link saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PortStats {
    /// Packets or trains fetched from the kernel.
    pub received: u64,
    /// Packets or trains given to the kernel.
    pub sent: u64,
    /// Packets that the kernel dropped because the engine did not fetch them in time.
    ///
    /// A TAP does not tell its descriptor: look at its device's `tx_dropped`.
    pub missed: u64,
    /// Packets that the kernel refused to send.
    pub refused: u64,
    /// Packets that could not be understood.
    pub malformed: u64,
}
