//! What a link does to a packet: conditions in, seeded fate and departure time out.
//!
//! Nothing here reads a clock, opens a socket or starts a thread. The link engine feeds real packets and real
//! time, the simulator virtual ones, and both get the same answers.
//!
//! Read in this order:
//!
//! 1. [`ConditionsSpec`]: one direction of a link as a person writes it (`rate: 10Mbit, delay: 20ms`).
//! 2. [`Conditions`]: the same, checked, with traces read and defaults filled in.
//! 3. [`Direction`]: one direction at work. Packets [`arrive`](Direction::arrive), and
//!    [`depart`](Direction::depart) says which leave and when exactly.
//! 4. [`Delays`]: the delays asked for, as a distribution to hold measurements against.
//! 5. [`draw()`]: the random numbers that decide a packet's fate, a pure function of seed, purpose and number.
#![forbid(unsafe_code)]

mod burst;
mod conditions;
mod delays;
mod direction;
mod draw;
mod prefetch;
mod preset;
mod spec;
mod trace;

pub use burst::tbf_burst;
pub use conditions::{
    Conditions, Discipline, Distribution, GilbertElliott, Jitter, Loss, MTU_FRAME, Queue, QueueLimit, Rate,
    Red,
};
pub use delays::Delays;
pub use direction::{Counters, Departure, Direction, Handover, Journal, PacketInfo, Parcel};
pub use draw::{Stream, direction_seed, draw};
pub use preset::{Preset, preset, preset_names};
pub use spec::{
    AqmSpec, CodelSpec, ConditionsError, ConditionsSpec, DisciplineSpec, DistributionSpec,
    GilbertElliottSpec, JitterShape, JitterSpec, LossModel, LossSpec, QueueShape, QueueSpec, RedSpec,
    SETTINGS,
};
pub use trace::{RateStep, RateTrace, TraceError};
