//! What running parts of Plait answer over HTTP: at present a controller's northbound API.
//!
//! ```text
//!  GET    /v1/switches                  what is known of each switch
//!  GET    /v1/switches/DATAPATH/flows   its flows, asked of it now
//!  POST   /v1/switches/DATAPATH/release keeps it for its last switch's certificate no longer
//!  GET    /v1/views                     views, their schemas, who reads and writes them
//!  GET    /v1/views/NAME@VERSION        what a view holds: links@1, hosts@1, topology@1…
//!  PUT    /v1/views/NAME@VERSION        writes a view that somebody reads and nobody else writes
//!  DELETE /v1/views/NAME@VERSION        lets it go, for an application to write
//!  GET    /v1/applications              applications, what they read and write, which DAGs run them
//!  POST   /v1/applications              a change of them and of DAGs: all of it, or nothing
//!  POST   /v1/dags/NAME/run             has a DAG run now
//!  POST   /v1/dags/NAME/dry-run         what it would write, now or then; nothing changes
//!  GET    /v1/history                   states that are remembered
//!  GET    /v1/statistics                what each worker has counted
//!  GET    /v1/graph[?as=dot|text]       DAGs, conflicts and live timings
//!  GET    /v1/role                      what the controller is to its switches beside others
//!  POST   /v1/role                      has it ask to be something else
//!  GET    /metrics                      the same counts in Prometheus' text form
//! ```
//!
//! It listens on a Unix socket that its owner alone may use (mode 0600, in a folder of mode 0700): who may connect is
//! the kernel's to say, and no secret is needed. What changes a network is an application: one that is added, or that
//! obeys a view.
//!
//! 1. [`serve()`]: the socket,
//! 2. [`router`]: the table above; [`Wanted`]: a change of applications, which come from a [`Source`],
//! 3. [`json`]: any view as JSON, by its schema, and back,
//! 4. [`ask`], [`tell`]: the other end,
//! 5. [`Recording`]: all that happens in a controller, in a file.

#![forbid(unsafe_code)]

mod applications;
mod client;
mod flows;
pub mod json;
mod operator;
pub mod recording;
mod role;
mod router;
mod serve;

pub use applications::{Component, Source, Wanted, begin_with};
pub use client::{Method, NotAsked, ask, tell};
pub use operator::set_view;
pub use recording::Recording;
pub use router::router;
pub use serve::{NotServed, serve, socket};
