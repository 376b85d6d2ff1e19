//! What all agents on nodes have in common: a socket for their owner alone, on which each line is a request or a reply.
//!
//! ```text
//! command ─ Client ─► agent.sock ─► Clients ─► the agent's loop
//!         ◄─ Reply ──────────────────────────── Clients::say
//! ```
//!
//! - [`Conversation`] – what an agent and its askers speak, and in which version;
//! - [`Client`] – the asking side;
//! - [`Clients`] – the answering side, which never waits: all who ask at the moment, scrapers of metrics by HTTP among them;
//! - [`now`] – the clock that agents and their programs share;
//! - [`open_many_files`] – as many as the system lets a process have;
//! - [`home`] – the folder of an agent, of which there is one in each.
//!
//! What is asked and answered is each agent's own.

#![forbid(unsafe_code)]

mod client;
mod clients;
mod clock;
mod connection;
mod conversation;
mod files;
pub mod home;
mod scrape;

pub use client::Client;
pub use clients::{Clients, Number};
pub use clock::now;
pub use conversation::{Conversation, Envelope};
pub use files::open_many_files;
