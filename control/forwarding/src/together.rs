//! Packets with a host each, looked up together.

use crate::frame::Parsed;
use crate::hosts::{Hosts, Known};
use crate::shards::{First, Seek};
use plait_control_openflow::{PacketIn, PacketIns};
use plait_model_wire::ethernet::Mac;

/// How many packets are looked up before anything is done about them. Choice: 16, so that their look-ups, each of which
/// waits for memory and for no other, overlap.
pub(crate) const AT_ONCE: usize = 16;

/// Goes through a batch, in its order: a packet's place, the packet, its frame unless it is none, and what is known of
/// the host that the frame speaks of.
///
/// Where a batch's packets are of many hosts, each look-up is a wait for memory: of 79 switches with a thousand stations
/// each, two thirds of what routing took were such waits, one after the other.
pub(crate) fn look_up<'a>(
    batch: &'a PacketIns,
    hosts: Option<&'a Hosts>,
    of: impl Fn(&Parsed<'a>) -> Mac,
    mut each: impl FnMut(usize, PacketIn<'a>, Option<Parsed<'a>>, Option<&'a Known>),
) {
    let mut sought: Vec<Sought<'a>> = Vec::with_capacity(AT_ONCE);
    let mut begun: Vec<First> = Vec::with_capacity(AT_ONCE);
    for start in (0..batch.len()).step_by(AT_ONCE) {
        sought.extend((start..start + AT_ONCE).map_while(|place| batch.get(place)).map(|packet| {
            let parsed = Parsed::of(packet.frame).ok();
            Sought { packet, parsed, host: hosts.zip(parsed).map(|(hosts, parsed)| hosts.seek(of(&parsed))) }
        }));
        begun.extend(sought.iter().map(|of| of.host.as_ref().map(Seek::begin).unwrap_or_default()));
        for (place, (Sought { packet, parsed, host }, begun)) in
            (start..).zip(sought.drain(..).zip(begun.drain(..)))
        {
            each(place, packet, parsed, host.and_then(|host| host.end(begun)));
        }
    }
}

/// A packet whose host is looked for.
struct Sought<'a> {
    packet: PacketIn<'a>,
    parsed: Option<Parsed<'a>>,
    host: Option<Seek<'a, Known>>,
}
