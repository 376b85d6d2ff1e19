//! What a datagram of a flow begins with.

/// What a datagram of a flow begins with. The rest of it is nought.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                          "plaitudp"                           |
/// |                                                               |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                              run                              |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                             flow                              |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                            number                             |
/// |                                                               |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Tells two runs of one sender apart, whose flows have the same ports.
    pub run: u32,
    /// The flow's number among those of its run.
    pub flow: u32,
    /// The datagram's number in its flow, from 0.
    pub number: u64,
}

const MARK: [u8; 8] = *b"plaitudp";

impl Head {
    /// Its length, and so the least payload of a datagram.
    pub const LENGTH: usize = 24;

    /// The head of a payload, where it has one.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let rest = payload.strip_prefix(&MARK)?;
        let (run, rest) = rest.split_first_chunk()?;
        let (flow, rest) = rest.split_first_chunk()?;
        let number = rest.first_chunk()?;
        Some(Self {
            run: u32::from_be_bytes(*run),
            flow: u32::from_be_bytes(*flow),
            number: u64::from_be_bytes(*number),
        })
    }

    /// Its bytes.
    pub fn bytes(&self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[..8].copy_from_slice(&MARK);
        bytes[8..12].copy_from_slice(&self.run.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.flow.to_be_bytes());
        bytes[16..].copy_from_slice(&self.number.to_be_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::{Head, MARK};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_bytes_make_the_parser_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..64), marked: bool) {
            if marked {
                bytes.splice(..bytes.len().min(8), MARK);
            }
            match Head::parse(&bytes) {
                Some(head) => prop_assert_eq!(&head.bytes()[..], &bytes[..Head::LENGTH]),
                None => prop_assert!(!bytes.starts_with(&MARK) || bytes.len() < Head::LENGTH),
            }
        }
    }
}
