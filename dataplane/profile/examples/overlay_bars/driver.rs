//! What a relay in a device's driver takes, beside the least that a driver does with a packet that leaves again: in the
//! kernel's test-run with live frames, which leave by a veth whose other end lets go of them.

use crate::measure::stay_on;
use crate::node::{APPLICATION, BEFORE, FAR, HARDWARE, HERE, PATH, VNI, node};
use plait_dataplane_bpf::{Mirror, RELAYED};
use plait_dataplane_links::scratch::Namespace;
use plait_dataplane_profile::device::index;
use plait_dataplane_reference::tables::{driver, encapsulation};
use plait_model_wire::ethernet::{self, Mac};
use plait_model_wire::number::{ether_type, port, protocol};
use plait_model_wire::{ipv4, ovstack, push, udp};
use std::error::Error;

const FRAME: usize = 64;

/// Nanoseconds a packet of [`RELAYED`] bytes and a frame of 64 in it: relayed, and sent back as it is; a pair a round.
pub fn rounds(count: usize, times: u32) -> Result<Vec<(f64, f64)>, Box<dyn Error>> {
    let (near, far) = (Namespace::new()?, Namespace::new()?);
    near.veth("near", &far, "far")?;
    let (here, there) = (index(&near, "near")?, index(&far, "far")?);
    let measured = near.run(|| measure(&far, here, there, count, times).map_err(|why| why.to_string()))?;
    Ok(measured?)
}

fn measure(
    far: &Namespace,
    here: u32,
    there: u32,
    count: usize,
    times: u32,
) -> Result<Vec<(f64, f64)>, Box<dyn Error>> {
    stay_on(0);
    let packet = packet();
    let original = packet[..RELAYED].try_into()?;
    // Back by the device that it comes by.
    let programs = node(driver::ETHERNET, encapsulation::OVSTACK, here)?;
    let mirror = Mirror::load(original)?;
    let _sink = far.run(|| {
        // What the other end does is the same for both.
        let sink = Mirror::load(original).and_then(|mirror| mirror.restore_on(there));
        sink.map_err(|why| why.to_string())
    })??;
    let nanoseconds = |took: std::time::Duration| took.as_nanos() as f64;
    let mut rounds = Vec::new();
    for _ in 0..count {
        let relayed = nanoseconds(programs.relay_live(&packet, here, times)?);
        rounds.push((relayed, nanoseconds(mirror.reflect_live(&packet, here, times)?)));
    }
    let passed = programs.path_count(PATH)?.packets;
    let sent = count as u64 * u64::from(times);
    if passed != sent {
        return Err(format!("{passed} of {sent} packets were relayed").into());
    }
    Ok(rounds)
}

/// What a peer sends for another node.
fn packet() -> Vec<u8> {
    let mut packet = vec![0; FRAME];
    let (destination, source) = (ovstack::NodeId(FAR), ovstack::NodeId(0x0a00_0003));
    let ttl = ovstack::DEFAULT_TTL;
    let application = APPLICATION as u8;
    let overlay =
        ovstack::Repr { ttl, application, is_control: false, vni: VNI, hash: 5, destination, source };
    push(&mut packet, &overlay);
    push(&mut packet, &udp::Repr { source: 50_123, destination: port::OVSTACK, checked: None });
    let ip = ipv4::Repr {
        source: BEFORE,
        destination: HERE,
        protocol: protocol::UDP,
        ttl: 64,
        tos: 0,
        dont_fragment: true,
        identification: 0,
    };
    push(&mut packet, &ip);
    let [source, destination] = HARDWARE.map(Mac);
    push(&mut packet, &ethernet::Repr { destination, source, ether_type: ether_type::IPV4 });
    packet
}
