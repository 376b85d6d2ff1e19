//! Packets in, packets out: each program on this kernel, without a device.

mod groups;
mod guard;
mod learning;
mod million;
mod mirror;
mod receive;
mod relay;
mod room;
mod spoofed;
#[path = "../support/mod.rs"]
mod support;
mod transmit;

use plait_dataplane_bpf::{Mirror, Program, RELAYED, Verdict, names};
use plait_dataplane_links::scratch::Namespace;
use plait_dataplane_reference::Outcome;
use plait_dataplane_reference::tables::*;
use plait_model_wire::ethernet::Mac;
use plait_model_wire::number::{ether_type, protocol};
use plait_model_wire::*;
use std::cell::RefCell;
use std::net::IpAddr;
use support::line::Line;
use support::*;
