//! pcap-ng files, as Wireshark reads them: draft-ietf-opsawg-pcapng.
//!
//! ```text
//! section header │ interface description, one an interface │ enhanced packet, one a packet
//! ```

use super::Captured;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const LINK_TYPE_ETHERNET: u16 = 1;
const OPTION_NAME: u16 = 2;
const OPTION_RESOLUTION: u16 = 9;
const NANOSECONDS: u8 = 9;

/// The bytes of a file: interfaces by their names, packets in the order given. Instants count from 1970, as if the
/// simulation had begun then.
pub fn write<'a>(interfaces: &[String], packets: impl IntoIterator<Item = &'a Captured>) -> Vec<u8> {
    let mut file = Vec::new();
    let mut body = Vec::new();
    body.extend(BYTE_ORDER_MAGIC.to_le_bytes());
    body.extend(1u16.to_le_bytes());
    body.extend(0u16.to_le_bytes());
    body.extend(u64::MAX.to_le_bytes()); // The section's length is not said.
    block(&mut file, SECTION_HEADER, &body);
    for name in interfaces {
        body.clear();
        body.extend(LINK_TYPE_ETHERNET.to_le_bytes());
        body.extend([0; 2]);
        body.extend(0u32.to_le_bytes()); // Nothing is cut off by length.
        option(&mut body, OPTION_NAME, name.as_bytes());
        option(&mut body, OPTION_RESOLUTION, &[NANOSECONDS]);
        option(&mut body, 0, &[]);
        block(&mut file, INTERFACE_DESCRIPTION, &body);
    }
    for packet in packets {
        body.clear();
        body.extend(packet.capture.0.to_le_bytes());
        body.extend(((packet.at >> 32) as u32).to_le_bytes());
        body.extend((packet.at as u32).to_le_bytes());
        body.extend((packet.bytes.len() as u32).to_le_bytes());
        body.extend(packet.length.to_le_bytes());
        padded(&mut body, &packet.bytes);
        block(&mut file, ENHANCED_PACKET, &body);
    }
    file
}

/// Type, length, body, and the length again, so that a reader can go backwards.
fn block(file: &mut Vec<u8>, kind: u32, body: &[u8]) {
    let length = (body.len() + 12) as u32;
    file.extend(kind.to_le_bytes());
    file.extend(length.to_le_bytes());
    file.extend(body);
    file.extend(length.to_le_bytes());
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    padded(body, value);
}

/// Bytes up to a multiple of four.
fn padded(body: &mut Vec<u8>, bytes: &[u8]) {
    body.extend(bytes);
    body.extend(std::iter::repeat_n(0, bytes.len().next_multiple_of(4) - bytes.len()));
}
