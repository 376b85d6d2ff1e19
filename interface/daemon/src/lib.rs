//! What running parts of Plait answer over HTTP: at present a controller's northbound API.
//!
//! ```text
//!  GET  /v1/switches                  what is known of each switch
//!  GET  /v1/switches/DATAPATH/flows   its flows, asked of it now
//!  GET  /v1/views                     views, their schemas, who reads and writes them
//!  GET  /v1/views/NAME@VERSION        what a view holds: links@1, hosts@1, topology@1…
//!  GET  /v1/statistics                what each worker has counted
//!  GET  /v1/graph[?as=dot|text]       DAGs, conflicts and live timings
//!  GET  /metrics                      the same counts in Prometheus' text form
//!  GET  /v1/role                      what the controller is to its switches beside others
//!  POST /v1/role                      has it ask to be something else
//! ```
//!
//! It listens on a Unix socket that its owner alone may use (mode 0600, in a folder of mode 0700): who may connect is
//! the kernel's to say, and no secret is needed. What changes a network is an application: it answers, and says
//! which controller commands.
//!
//! 1. [`serve()`]: the socket,
//! 2. [`router`]: the table above,
//! 3. [`json`]: any view as JSON, by its schema,
//! 4. [`ask`]: the other end.

#![forbid(unsafe_code)]

mod client;
mod flows;
pub mod json;
mod role;
mod router;
mod serve;

pub use client::{NotAsked, ask, post};
pub use router::router;
pub use serve::{NotServed, serve, socket};
