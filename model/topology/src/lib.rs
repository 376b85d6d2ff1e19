//! What a network is.
//!
//! Read in this order:
//!
//! 1. [`network`] – the network everything above works on: nodes, links, LANs, with nothing left to look up;
//! 2. [`parse_network`] – from a YAML file to that network, every fault reported with its place and remedy;
//! 3. [`vocabulary`] – how other rooms add kinds and keys to the file without touching this crate;
//! 4. [`document`] and [`diagnostic`] – values that know their place, and the errors that point at it;
//! 5. [`json_schema`] – the published schema, made from the same types;
//! 6. [`graph`] – shortest paths and what else rooms ask of a graph;
//! 7. [`address`] and [`route`] – who has which address, and the smallest routing tables over them;
//! 8. [`generate`] and [`import`] – networks by rule, and from others' files, written as [`yaml`];
//! 9. [`random`] – the numbers that seeds stand for.
//!
//! Nothing here does I/O: text comes in, and a closure gives the text of files that a network file names.
#![forbid(unsafe_code)]

pub mod address;
pub mod diagnostic;
pub mod document;
mod file;
pub mod generate;
pub mod graph;
pub mod import;
pub mod network;
pub mod random;
mod resolve;
pub mod route;
mod schema;
pub mod vocabulary;
pub mod yaml;

pub use network::Network;
pub use resolve::{FILE_VERSION, ReadFile, parse_network, resolve_network, section};
pub use schema::json_schema;
pub use vocabulary::Vocabulary;
