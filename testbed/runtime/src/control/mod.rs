//! The control socket: what a supervisor is asked, and how.
//!
//! One Unix socket a testbed, for its owner only. A connection carries one request: a line of JSON, with descriptors
//! beside it where the request wants some, answered by lines of JSON until one says `done` or `failed`. A line that
//! begins with `GET ` is HTTP instead, so that `curl --unix-socket` and Prometheus can read `/metrics`.

mod client;
mod directory;
mod line;
mod protocol;

pub use client::{Awake, Capture, ExecStatus, Running, Samples, Terminal, Testbed};
pub use directory::{Directory, Found, OwnSocket};
pub use line::Line;
pub use protocol::{
    Envelope, ExecRequest, Exited, LinkReport, NodeReport, PROTOCOL_VERSION, PingRequest, Reply, Report,
    Request, SampleRequest, Traces,
};
