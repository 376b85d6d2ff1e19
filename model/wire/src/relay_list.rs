//! A relay list behind one ovstack header: the relays that a packet still has to visit, and the packet.
//!
//! A stack of tunnel headers has a header for each relay, and when a device cuts a superpacket into segments it corrects the
//! outermost one alone. Here there is one outer header, of which each relay changes the destination, so that superpackets
//! stay whole. Choice: iplb has nothing like it (its relays are hardware switches); this is a source route as RFC 8754 has
//! it, in words of ovstack.

use crate::layout::header;
use crate::malformed::{split, take};
use crate::{Emit, Fault, Malformed};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use zerocopy::IntoBytes;

const NAME: &str = "relay list";
/// The ovstack application of packets with relay lists. Choice: the number behind those of IPv4, IPv6 and Ethernet.
pub const APPLICATION: u8 = 8;

header! {
    /// ```text
    ///  0      1       2       3      4
    /// ┌──────┬───────┬───────┬──────┐
    /// │ left │ count │ words │ next │
    /// ├──────┴───────┴───────┴──────┤
    /// │     addresses of relays     │
    /// └─────────────────────────────┘
    /// ```
    pub struct Header as "relay_list_header" {
        /// How many relays are still to be visited behind the one that the packet is on its way to: the last so many.
        pub left: u8,
        /// How many addresses follow.
        pub count: u8,
        /// 32-bit words of an address: 1 of IPv4, 4 of IPv6.
        pub words: u8,
        /// What it carries: [`protocol`](crate::number::protocol).
        pub next: u8,
    }
}

/// A list, and what follows it.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    header: &'a Header,
    addresses: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// A list of some bytes.
    ///
    /// # Errors
    /// Fewer bytes than addresses; addresses of neither IPv4 nor IPv6; more relays left than there are.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, rest) = split::<Header>(bytes, NAME)?;
        if !matches!(header.words, 1 | 4) {
            return Err(Fault::Field("words").of(NAME));
        }
        if header.left > header.count {
            return Err(Fault::Field("left").of(NAME));
        }
        let (addresses, payload) =
            take(rest, usize::from(header.count) * usize::from(header.words) * 4, NAME)?;
        Ok(Self { header, addresses, payload })
    }

    /// How many relays are still to be visited.
    pub fn left(&self) -> u8 {
        self.header.left
    }

    /// IP protocol of what it carries.
    pub fn next(&self) -> u8 {
        self.header.next
    }

    /// The relays of the list, in the order in which they are visited.
    pub fn relays(&self) -> impl Iterator<Item = IpAddr> + use<'a> {
        let bytes = usize::from(self.header.words) * 4;
        self.addresses.chunks_exact(bytes).map(|chunk| match <[u8; 16]>::try_from(chunk) {
            Ok(six) => Ipv6Addr::from(six).into(),
            Err(_) => Ipv4Addr::new(chunk[0], chunk[1], chunk[2], chunk[3]).into(),
        })
    }

    /// What it carries.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

/// What a list says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repr {
    /// How many relays are still to be visited.
    pub left: u8,
    /// All of one family, in the order in which they are visited.
    pub relays: Vec<IpAddr>,
    /// IP protocol of what it carries.
    pub next: u8,
}

impl Repr {
    /// What a packet's list says.
    pub fn of(packet: &Packet<'_>) -> Self {
        Self { left: packet.left(), relays: packet.relays().collect(), next: packet.next() }
    }
}

impl Emit for Repr {
    fn length(&self) -> usize {
        let address = |relay: &IpAddr| if relay.is_ipv4() { 4 } else { 16 };
        Header::LENGTH + self.relays.iter().map(address).sum::<usize>()
    }

    fn emit(&self, header: &mut [u8], _: &[u8]) {
        let words = if self.relays.first().is_some_and(IpAddr::is_ipv6) { 4 } else { 1 };
        let count = self.relays.len() as u8;
        let fields = Header { left: self.left, count, words, next: self.next };
        let (front, mut rest) = header.split_at_mut(Header::LENGTH);
        front.copy_from_slice(fields.as_bytes());
        for relay in &self.relays {
            let (place, behind) = rest.split_at_mut(if relay.is_ipv4() { 4 } else { 16 });
            match relay {
                IpAddr::V4(four) => place.copy_from_slice(&four.octets()),
                IpAddr::V6(six) => place.copy_from_slice(&six.octets()),
            }
            rest = behind;
        }
    }
}
