//! Flows of UDP datagrams on real interfaces: sent at their instants, counted where they arrive. Which flows there are is
//! said by `plait_model_traffic`; the simulator's sources send the same ones in virtual time.
//!
//! Read in this order:
//!
//! 1. [`Source`] and [`Sender`] – many flows at even rates, from one thread;
//! 2. [`Sink`] – a port that counts each flow that comes;
//! 3. [`Share`] and [`carry`] – both at once, as one node's share of a run;
//! 4. [`Head`] – what each datagram begins with, by which sinks tell flows apart.
//!
//! Instants are nanoseconds of `CLOCK_MONOTONIC` ([`now`]), which all nodes of a testbed share.
#![forbid(unsafe_code)]

mod clock;
mod error;
mod head;
mod share;
mod sink;
mod socket;
mod source;

pub use clock::now;
pub use error::PortError;
pub use head::Head;
pub use share::{Share, Told, carry};
pub use sink::{Arrived, Heard, Key, Sink};
pub use socket::largest;
pub use source::{Sender, Sent, Source, frame};
