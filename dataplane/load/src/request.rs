//! A packet-in, made once and stamped for each request.

use plait_control_openflow::Version;
use plait_model_wire::ethernet::{self, Mac};
use plait_model_wire::openflow::v13::{self, Oxm, TableId};
use plait_model_wire::openflow::{BufferId, TooLong, v10};
use plait_model_wire::{ipv4, push, udp};
use std::net::Ipv4Addr;

/// Requests are numbered below this: a number is a transaction and a buffer, and [`BufferId::NO_BUFFER`] is none.
pub const NUMBERS: u32 = 1 << 31;
/// What a frame's data begins with, the request's number after it.
const MARK: [u8; 4] = *b"plai";
/// Where the data lies behind Ethernet, IPv4 and UDP.
const DATA: usize = 14 + 20 + 8;

/// The station `address` of a switch. Choice: a locally administered address that tells process, switch and station,
/// so that no two switches of a run have one in common.
pub fn station(process: u8, switch: u16, address: u16) -> Mac {
    let ([s0, s1], [a0, a1]) = (switch.to_be_bytes(), address.to_be_bytes());
    Mac([0x02, process, s0, s1, a0, a1])
}

/// Which station an address is.
pub fn address_of(mac: &[u8]) -> Option<u16> {
    match mac {
        [0x02, _, _, _, a0, a1] => Some(u16::from_be_bytes([*a0, *a1])),
        _ => None,
    }
}

/// The datapath of the switch at which the frame's sender is.
pub fn switch_of(frame: &[u8]) -> Option<u64> {
    let [0x02, process, s0, s1, ..] = *frame.get(6..12)? else { return None };
    Some(datapath(process, u16::from_be_bytes([s0, s1])))
}

/// The datapath of a process's switch.
pub fn datapath(process: u8, switch: u16) -> u64 {
    u64::from(process) << 16 | (u64::from(switch) + 1)
}

/// The number of the request whose frame this is.
pub fn number_in(frame: &[u8]) -> Option<u32> {
    let (mark, number) = frame.get(DATA..DATA + 8)?.split_at(4);
    (mark == MARK).then_some(())?;
    number.try_into().ok().map(u32::from_be_bytes)
}

/// The packet-ins of one switch, but for what differs. Choice: all frames are IPv4 and UDP, of 60 bytes, and each station
/// has an address of its own, which ends with its number.
#[derive(Debug, Clone)]
pub struct Template {
    bytes: Vec<u8>,
    version: Version,
    frame: usize,
    /// The sum of IPv4's header without its checksum and the ends of its addresses.
    sum: u32,
    buffered: bool,
    ports: u16,
}

impl Template {
    /// Of a switch that has `ports` ports, an even number, and keeps packets or does not.
    ///
    /// # Errors
    /// Never for frames of this length.
    pub fn new(
        version: Version,
        process: u8,
        switch: u16,
        ports: u16,
        buffered: bool,
    ) -> Result<Self, TooLong> {
        let mut frame = vec![0; 18];
        frame[..4].copy_from_slice(&MARK);
        push(&mut frame, &udp::Repr { source: 4000, destination: 4000, checked: None });
        let [high, low] = switch.to_be_bytes();
        // Any network but those of loopback and groups.
        let network = 1 + (u16::from(high) + 16 * u16::from(process)) % 120;
        let address = Ipv4Addr::new(network as u8, low, 0, 0);
        push(
            &mut frame,
            &ipv4::Repr {
                source: address,
                destination: address,
                protocol: 17,
                ttl: 64,
                tos: 0,
                dont_fragment: true,
                identification: 0,
            },
        );
        let sum = !u16::from_be_bytes([frame[10], frame[11]]);
        let mac = station(process, switch, 0);
        push(&mut frame, &ethernet::Repr { destination: mac, source: mac, ether_type: 0x0800 });
        let (buffer, total_length) = (BufferId::NO_BUFFER, u16::try_from(frame.len()).map_err(|_| TooLong)?);
        let mut bytes = Vec::new();
        match version {
            Version::V10 => v10::packet_in::Parts {
                buffer,
                total_length,
                in_port: v10::PortNumber(1),
                reason: v10::packet_in::PacketInReason::NO_MATCH,
                data: &frame,
            }
            .emit_into(0, &mut bytes)?,
            Version::V13 => v13::packet_in::Parts {
                buffer,
                total_length,
                reason: v13::packet_in::PacketInReason::NO_MATCH,
                table: TableId(0),
                cookie: 0,
                fields: &[Oxm::InPort(v13::PortNumber(1).into())],
                data: &frame,
            }
            .emit_into(0, &mut bytes)?,
        }
        let frame = bytes.len() - frame.len();
        Ok(Self { bytes, version, frame, sum: sum.into(), buffered, ports })
    }

    /// Bytes of each message.
    pub fn length(&self) -> usize {
        self.bytes.len()
    }

    /// Writes a request behind what `out` holds: from station `source`, whose port is one more than its number modulo the
    /// ports, to another.
    #[inline]
    pub fn stamp(&self, number: u32, source: u16, destination: u16, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        let message = &mut out[start..];
        message[4..8].copy_from_slice(&number.to_be_bytes());
        if self.buffered {
            message[8..12].copy_from_slice(&number.to_be_bytes());
        }
        let port = 1 + source % self.ports;
        match self.version {
            Version::V10 => message[14..16].copy_from_slice(&port.to_be_bytes()),
            Version::V13 => message[32..36].copy_from_slice(&u32::from(port).to_be_bytes()),
        }
        let frame = &mut message[self.frame..];
        frame[4..6].copy_from_slice(&destination.to_be_bytes());
        frame[10..12].copy_from_slice(&source.to_be_bytes());
        let sum = self.sum + u32::from(source) + u32::from(destination);
        let sum = (sum & 0xffff) + (sum >> 16);
        let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        frame[28..30].copy_from_slice(&source.to_be_bytes());
        frame[32..34].copy_from_slice(&destination.to_be_bytes());
        frame[DATA + 4..DATA + 8].copy_from_slice(&number.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plait_model_wire::openflow::Frame;

    #[test]
    fn a_stamped_request_is_a_packet_in_with_its_number_port_and_addresses() {
        for (version, buffered) in
            [(Version::V10, true), (Version::V13, true), (Version::V10, false), (Version::V13, false)]
        {
            let template = Template::new(version, 7, 300, 4, buffered).unwrap();
            let mut out = vec![9];
            template.stamp(123_456, 6, 7, &mut out);
            let frame = Frame::parse(&out[1..]).unwrap();
            let (buffer, port, data) = match version {
                Version::V10 => {
                    let view = v10::packet_in::View::of(&frame).unwrap();
                    (view.buffer(), u32::from(view.in_port().0), view.data())
                }
                Version::V13 => {
                    let view = v13::packet_in::View::of(&frame).unwrap();
                    (view.buffer(), view.in_port().unwrap().0, view.data())
                }
            };
            assert_eq!(frame.xid(), 123_456);
            assert_eq!(buffer, if buffered { BufferId(123_456) } else { BufferId::NO_BUFFER });
            assert_eq!((port, data.len(), number_in(data)), (3, 60, Some(123_456)));
            let ethernet = ethernet::Frame::parse(data).unwrap();
            assert_eq!(ethernet.source(), station(7, 300, 6));
            assert_eq!(ethernet.destination(), station(7, 300, 7));
            let packet = ipv4::Packet::parse(ethernet.payload()).unwrap();
            assert!(packet.checksum_fits());
            let addresses = (Ipv4Addr::new(114, 44, 0, 6), Ipv4Addr::new(114, 44, 0, 7));
            assert_eq!((packet.source(), packet.destination()), addresses);
        }
    }
}
