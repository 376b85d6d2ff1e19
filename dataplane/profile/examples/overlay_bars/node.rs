//! A node of an overlay that knows one other, made of tables alone, without an agent.

use plait_dataplane_bpf::{Program, Programs, Sizes, names};
use plait_dataplane_reference::tables::*;
use plait_dataplane_reference::{arrivals, mapped};
use std::error::Error;
use std::net::Ipv4Addr;

pub const APPLICATION: u32 = 7;
pub const TENANT: u32 = 1;
pub const VNI: u32 = 1;
pub const FAR: u32 = 0x0a00_0002;
/// The path there.
pub const PATH: u32 = 1;
/// Locators of who is before, of this node, and of the other.
pub const BEFORE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
pub const HERE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub const THERE: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);
/// Of the neighbour and of the device by which packets leave.
pub const HARDWARE: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 1]];

const OWN: u32 = 0x0a00_0001;

/// Its programs, which send by a device in an encapsulation.
pub fn node(driver: u32, encapsulation: u32, interface: u32) -> Result<Programs, Box<dyn Error>> {
    let device = Device { tenant: TENANT, driver, prefix: [32, 128], offset: 0, mask: [0; 16] };
    let programs = Programs::load(&Program::ALL, &device, Sizes { identifiers: 16, nodes: 64 })?;
    let application = APPLICATION;
    programs.table(&names::APPLICATIONS)?.set(&application, &Application { own: OWN, ttl: 60, driver })?;
    let tenant = Tenant { application, vni: VNI, driver, prefix: [32, 128], ..Tenant::default() };
    programs.table(&names::TENANTS)?.set(&TENANT, &tenant)?;
    let [destination, source] = HARDWARE;
    let adjacency = Adjacency { interface, mtu: 1500, destination, source };
    programs.table(&names::ADJACENCY_SLOTS)?.set(&0, &adjacency)?;
    programs.table(&names::ADJACENCIES)?.set(&0, &0)?;
    let wire = Wire::new(HERE.into(), THERE.into(), encapsulation, 0).ok_or("no outer header")?;
    programs.table(&names::WIRES)?.set(&1, &wire)?;
    let mut choices = [Choice { below: 0, wire: 0 }; size::CHOICES as usize];
    choices[0] = Choice { below: 1, wire: 1 };
    let hop = Hop { node: FAR, weights: 1, count: 1, path: PATH, choices };
    programs.table(&names::HOPS)?.set(&1, &hop)?;
    programs.table(&names::PATHS)?.set(&PATH, &(u64::from(path::HOP) << 32 | 1))?;
    programs.table(&names::NODES)?.set(&NodeKey { application, node: FAR }, &PATH)?;
    let mut applications = [0; 8];
    applications[0] = 1 << application;
    let peer = Peer { encapsulation, application, vni: VNI, applications };
    for protocol_port in arrivals(encapsulation, driver) {
        let key = PeerKey { locator: mapped(BEFORE.into()), own: mapped(HERE.into()), protocol_port };
        programs.table(&names::PEERS)?.set(&key, &peer)?;
    }
    Ok(programs)
}

/// Has the other node be where an identifier is.
pub fn place(programs: &Programs, identifier: [u8; 16]) -> Result<(), Box<dyn Error>> {
    let entry = FibEntry { node: FAR, path: PATH, heard: 0, reserved: 0, packets: 0, bytes: 0 };
    Ok(programs.table(&names::FIB)?.set(&FibKey { tenant: TENANT, identifier }, &entry)?)
}
