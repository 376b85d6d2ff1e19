//! What nodes of an overlay say to each other, and the seal that shows it was one of them.
//!
//! ```text
//!  0         1      2             3      4        8             16         24        n−16
//! ┌─────────┬──────┬─────────────┬──────┬────────┬─────────────┬──────────┬─────────┬──────┐
//! │ version │ kind │ application │  0   │ sender │ incarnation │ sequence │ message │ seal │
//! └─────────┴──────┴─────────────┴──────┴────────┴─────────────┴──────────┴─────────┴──────┘
//! ```
//!
//! The seal is HMAC-SHA-256 (RFC 2104) over everything before it, of which the first half is sent (RFC 4868). Whoever
//! has the key is believed; nothing is secret.

use crate::{Direction, Inquiry};
use hmac::{Hmac, Mac};
use plait_model_overlay::{Application, Locators, NodeId, Weight};
use sha2::Sha256;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;
use thiserror::Error;

const VERSION: u8 = 1;
const HEADER: usize = 24;
const SEAL: usize = 16;
/// Choice: what every underlay carries whole, IPv6's least MTU less headers.
pub(crate) const LARGEST: usize = 1200;
/// Pairs of node and delay that fit.
pub(crate) const MOST_DELAYS: usize = (LARGEST - HEADER - SEAL - 20) / 8;
/// Choice: a key shorter than this can be guessed.
const SHORTEST_KEY: usize = 16;

/// What all nodes of an overlay share.
#[derive(Clone)]
pub struct Key(Vec<u8>);

impl Key {
    /// A key of some bytes.
    ///
    /// # Errors
    /// Fewer than sixteen.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, NoKey> {
        let bytes = bytes.into();
        if bytes.len() < SHORTEST_KEY { Err(NoKey) } else { Ok(Self(bytes)) }
    }

    fn seal(&self, bytes: &[u8]) -> Hmac<Sha256> {
        let mut mac = <Hmac<Sha256> as Mac>::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        mac.update(bytes);
        mac
    }
}

/// Keys are in no log.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// Bytes that make no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a key has at least {SHORTEST_KEY} bytes")]
pub struct NoKey;

/// A node that takes part, as others tell of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Introduced {
    /// The node.
    pub node: NodeId,
    /// Which life of it.
    pub incarnation: u64,
    /// How often its locators changed in this life.
    pub revision: u32,
    /// Where it is.
    pub locators: Locators,
}

/// What a node says of its way to others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The node.
    pub node: NodeId,
    /// Which life of it.
    pub incarnation: u64,
    /// Counts up with each report, of which there is one an interval.
    pub number: u32,
    /// Which part of the report this is, and of how many.
    pub part: (u8, u8),
    /// One-way delays to those that it reaches itself, in whole microseconds.
    pub delays: Vec<(NodeId, Duration)>,
}

/// What nodes say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Show that you are there now, and not a recording: answer with this number.
    Challenge(u64),
    /// The number of a challenge.
    Answer(u64),
    /// How far are you? The token comes back; the digest is of all members that the sender knows.
    Probe {
        /// The sender's business.
        token: u64,
        /// Two nodes with the same digest have nothing to tell each other of members.
        digest: u64,
    },
    /// So far.
    Echo {
        /// That of the probe.
        token: u64,
        /// As in a probe.
        digest: u64,
    },
    /// These take part.
    Members(Vec<Introduced>),
    /// A node's delays, its own words or passed on.
    Report(Report),
    /// The sender takes part no more.
    Leave,
    /// What one node asks or tells another by those between them.
    Inquiry(Direction, Inquiry),
}

/// A message with who says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// Whose overlay.
    pub application: Application,
    /// Who says it.
    pub sender: NodeId,
    /// Which life of the sender: drawn at its start.
    pub incarnation: u64,
    /// Counts up with each message.
    pub sequence: u64,
    /// What.
    pub message: Message,
}

/// Why bytes were no message of this overlay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refused {
    /// They are shorter or longer than a message, or of another version.
    #[error("no message of this version")]
    NoMessage,
    /// The seal is not that of this key.
    #[error("sealed with another key")]
    Key,
    /// The seal fits, and yet what it seals makes no sense.
    #[error("malformed")]
    Malformed,
}

impl Sealed {
    /// The bytes, with their seal.
    pub fn seal(&self, key: &Key) -> Vec<u8> {
        let mut bytes = vec![VERSION, self.message.kind(), self.application.0, 0];
        bytes.extend_from_slice(&self.sender.0.to_be_bytes());
        bytes.extend_from_slice(&self.incarnation.to_be_bytes());
        bytes.extend_from_slice(&self.sequence.to_be_bytes());
        self.message.write(&mut bytes);
        let seal = key.seal(&bytes).finalize().into_bytes();
        bytes.extend_from_slice(&seal[..SEAL]);
        bytes
    }

    /// Which life of its sender said some bytes, and as the how manieth message: together they are those of one message alone.
    /// None of bytes that are too short to say.
    pub fn number_of(bytes: &[u8]) -> Option<(u64, u64)> {
        let (incarnation, rest) = bytes.get(8..)?.split_first_chunk()?;
        let sequence = rest.first_chunk()?;
        Some((u64::from_be_bytes(*incarnation), u64::from_be_bytes(*sequence)))
    }

    /// The application that some bytes say they are of, to choose whose key they are opened with.
    pub fn application_of(bytes: &[u8]) -> Option<Application> {
        bytes.get(2).copied().map(Application)
    }

    /// The message of some bytes.
    ///
    /// # Errors
    /// Bytes that are none, or whose seal is not of this key. Nothing but version and length is looked at before the
    /// seal.
    pub fn open(bytes: &[u8], key: &Key) -> Result<Self, Refused> {
        if bytes.len() < HEADER + SEAL || bytes.len() > LARGEST || bytes[0] != VERSION {
            return Err(Refused::NoMessage);
        }
        let (said, seal) = bytes.split_at(bytes.len() - SEAL);
        key.seal(said).verify_truncated_left(seal).map_err(|_| Refused::Key)?;
        let mut reader = Reader(&said[1..]);
        let read = |reader: &mut Reader<'_>| {
            let kind = reader.byte()?;
            let application = Application(reader.byte()?);
            reader.byte()?;
            let (sender, incarnation, sequence) = (NodeId(reader.word()?), reader.long()?, reader.long()?);
            let message = Message::read(kind, reader)?;
            let whole = reader.0.is_empty() && sender != NodeId(0);
            whole.then_some(Self { application, sender, incarnation, sequence, message })
        };
        read(&mut reader).ok_or(Refused::Malformed)
    }
}

/// A datagram without its seal, which is all that depends on the key.
pub(crate) fn unsealed(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().saturating_sub(SEAL)]
}

/// The same with the seal of a key.
pub(crate) fn sealed_again(said: &[u8], key: &Key) -> Vec<u8> {
    let seal = key.seal(said).finalize().into_bytes();
    [said, &seal[..SEAL]].concat()
}

impl Message {
    fn kind(&self) -> u8 {
        match self {
            Self::Challenge(_) => 1,
            Self::Answer(_) => 2,
            Self::Probe { .. } => 3,
            Self::Echo { .. } => 4,
            Self::Members(_) => 5,
            Self::Report(_) => 6,
            Self::Leave => 7,
            Self::Inquiry(Direction::Question, _) => 8,
            Self::Inquiry(Direction::Answer, _) => 9,
        }
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Challenge(nonce) | Self::Answer(nonce) => bytes.extend_from_slice(&nonce.to_be_bytes()),
            Self::Probe { token, digest } | Self::Echo { token, digest } => {
                bytes.extend_from_slice(&token.to_be_bytes());
                bytes.extend_from_slice(&digest.to_be_bytes());
            }
            Self::Members(members) => {
                for member in members {
                    bytes.extend_from_slice(&member.node.0.to_be_bytes());
                    bytes.extend_from_slice(&member.incarnation.to_be_bytes());
                    bytes.extend_from_slice(&member.revision.to_be_bytes());
                    bytes.push(member.locators.len() as u8);
                    for (locator, weight) in &member.locators {
                        bytes.push(weight.get());
                        match locator {
                            IpAddr::V4(address) => {
                                bytes.push(4);
                                bytes.extend_from_slice(&address.octets());
                            }
                            IpAddr::V6(address) => {
                                bytes.push(6);
                                bytes.extend_from_slice(&address.octets());
                            }
                        }
                    }
                }
            }
            Self::Report(report) => {
                bytes.extend_from_slice(&report.node.0.to_be_bytes());
                bytes.extend_from_slice(&report.incarnation.to_be_bytes());
                bytes.extend_from_slice(&report.number.to_be_bytes());
                bytes.extend_from_slice(&[report.part.0, report.part.1]);
                for (node, delay) in &report.delays {
                    bytes.extend_from_slice(&node.0.to_be_bytes());
                    let micros = u32::try_from(delay.as_micros()).unwrap_or(u32::MAX);
                    bytes.extend_from_slice(&micros.to_be_bytes());
                }
            }
            Self::Leave => {}
            Self::Inquiry(_, Inquiry { token, way, body }) => {
                bytes.extend_from_slice(&token.to_be_bytes());
                bytes.push(way.len() as u8);
                way.iter().for_each(|node| bytes.extend_from_slice(&node.0.to_be_bytes()));
                bytes.extend_from_slice(body);
            }
        }
    }

    fn read(kind: u8, reader: &mut Reader<'_>) -> Option<Self> {
        Some(match kind {
            1 => Self::Challenge(reader.long()?),
            2 => Self::Answer(reader.long()?),
            3 => Self::Probe { token: reader.long()?, digest: reader.long()? },
            4 => Self::Echo { token: reader.long()?, digest: reader.long()? },
            5 => {
                let mut members = Vec::new();
                while !reader.0.is_empty() {
                    members.push(Introduced::read(reader)?);
                }
                Self::Members(members)
            }
            6 => {
                let (node, incarnation, number) = (NodeId(reader.word()?), reader.long()?, reader.word()?);
                let part = (reader.byte()?, reader.byte()?);
                let mut delays = Vec::new();
                while !reader.0.is_empty() {
                    let (to, micros) = (NodeId(reader.word()?), reader.word()?);
                    delays.push((to, Duration::from_micros(micros.into())));
                }
                let possible = node != NodeId(0) && part.0 < part.1;
                return possible.then_some(Self::Report(Report { node, incarnation, number, part, delays }));
            }
            7 => Self::Leave,
            8 | 9 => {
                let (token, count) = (reader.long()?, reader.byte()?);
                let way = (0..count).map(|_| reader.word().map(NodeId)).collect::<Option<Vec<_>>>()?;
                let inquiry = Inquiry { token, way, body: std::mem::take(&mut reader.0).to_vec() };
                let direction = if kind == 8 { Direction::Question } else { Direction::Answer };
                return inquiry.is_possible().then_some(Self::Inquiry(direction, inquiry));
            }
            _ => return None,
        })
    }
}

impl Introduced {
    /// Bytes in a message.
    pub(crate) fn length(&self) -> usize {
        let locators = self.locators.keys().map(|locator| if locator.is_ipv4() { 6 } else { 18 });
        17 + locators.sum::<usize>()
    }

    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let (node, incarnation, revision) = (NodeId(reader.word()?), reader.long()?, reader.word()?);
        let mut locators = Locators::new();
        for _ in 0..reader.byte()? {
            let weight = Weight::try_from(reader.byte()?).ok()?;
            let locator = match reader.byte()? {
                4 => Ipv4Addr::from(reader.array::<4>()?).into(),
                6 => Ipv6Addr::from(reader.array::<16>()?).into(),
                _ => return None,
            };
            locators.insert(locator, weight);
        }
        (node != NodeId(0)).then_some(Self { node, incarnation, revision, locators })
    }
}

/// What is left to read.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn array<const COUNT: usize>(&mut self) -> Option<[u8; COUNT]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn word(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    fn long(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key() -> Key {
        Key::new(*b"sixteen bytes or more").unwrap()
    }

    fn id() -> impl Strategy<Value = NodeId> {
        (1u32..).prop_map(NodeId)
    }

    fn introduced() -> impl Strategy<Value = Introduced> {
        let locator = (any::<IpAddr>(), (1u8..).prop_map(|weight| Weight::try_from(weight).unwrap()));
        let locators = proptest::collection::btree_map(
            locator.clone().prop_map(|pair| pair.0),
            locator.prop_map(|pair| pair.1),
            0..4,
        );
        (id(), any::<u64>(), any::<u32>(), locators).prop_map(|(node, incarnation, revision, locators)| {
            Introduced { node, incarnation, revision, locators }
        })
    }

    fn message() -> impl Strategy<Value = Message> {
        let delay =
            (id(), any::<u32>()).prop_map(|(node, micros)| (node, Duration::from_micros(micros.into())));
        let report = (id(), any::<u64>(), any::<u32>(), 0u8..3, proptest::collection::vec(delay, 0..20))
            .prop_map(|(node, incarnation, number, part, delays)| {
                Message::Report(Report { node, incarnation, number, part: (part, 3), delays })
            });
        let way = proptest::collection::btree_set(id(), 2..61);
        let inquiry = (any::<(bool, u64)>(), way, proptest::collection::vec(0u8.., 0..=Inquiry::MOST))
            .prop_map(|((is_answer, token), way, body)| {
                let direction = if is_answer { Direction::Answer } else { Direction::Question };
                Message::Inquiry(direction, Inquiry { token, way: way.into_iter().collect(), body })
            });
        prop_oneof![
            any::<u64>().prop_map(Message::Challenge),
            any::<u64>().prop_map(Message::Answer),
            any::<(u64, u64)>().prop_map(|(token, digest)| Message::Probe { token, digest }),
            any::<(u64, u64)>().prop_map(|(token, digest)| Message::Echo { token, digest }),
            proptest::collection::vec(introduced(), 0..5).prop_map(Message::Members),
            report,
            Just(Message::Leave),
            inquiry,
        ]
    }

    proptest! {
        #[test]
        fn what_is_sealed_is_opened(application: u8, sender in id(), numbers: (u64, u64), message in message()) {
            let (incarnation, sequence) = numbers;
            let sealed = Sealed { application: Application(application), sender, incarnation, sequence, message };
            prop_assert_eq!(Sealed::open(&sealed.seal(&key()), &key()), Ok(sealed));
        }

        #[test]
        fn a_single_wrong_bit_breaks_the_seal(message in message(), bit: prop::sample::Index) {
            let sealed =
                Sealed { application: Application::IPV4, sender: NodeId(7), incarnation: 1, sequence: 2, message };
            let mut bytes = sealed.seal(&key());
            let bit = bit.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Sealed::open(&bytes, &key()).is_err());
        }

        #[test]
        fn no_bytes_make_the_reader_panic(mut bytes in proptest::collection::vec(0u8.., 0..1300), kind in 0u8..11) {
            let _ = Sealed::open(&bytes, &key());
            // The same behind a seal that fits, as one who has the key may send them.
            if bytes.len() > 2 {
                (bytes[0], bytes[1]) = (VERSION, kind);
            }
            let seal = key().seal(&bytes).finalize().into_bytes();
            bytes.extend_from_slice(&seal[..SEAL]);
            let _ = Sealed::open(&bytes, &key());
        }
    }

    #[test]
    fn another_key_opens_nothing() {
        let message = Message::Leave;
        let sealed = Sealed {
            application: Application::IPV4,
            sender: NodeId(7),
            incarnation: 1,
            sequence: 2,
            message,
        };
        let other = Key::new(*b"another key of twenty").unwrap();
        assert_eq!(Sealed::open(&sealed.seal(&key()), &other), Err(Refused::Key));
        assert!(Key::new(*b"too short").is_err());
        assert_eq!(format!("{:?}", key()), "Key(…)");
    }
}
