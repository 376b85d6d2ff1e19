//! What nodes say to each other for a trace: the packet as it comes to one, and what that one does with it.
//!
//! ```text
//! question   version 1 │ frame
//! answer     version 2 │ foreign │ packets, bytes │ counters of all reasons │ reasons │ device │ left out │ copies
//!            copy: next hop, weight, weights, MTU │ device │ frame
//! ```
//!
//! All numbers are in network order. What is of any length begins with it; a frame with its length and that of what is
//! written, since the rest of it, a packet's payload, is nought.

use super::step::{Copy, Step};
use plait_control_overlay::Inquiry;
use plait_dataplane_reference::tables::{Count, Drop};
use plait_model_overlay::NodeId;

const QUESTION: u8 = 1;
/// A reason more is another version.
const ANSWER: u8 = 2;
/// The first version had so many reasons.
const FIRST: (u8, usize) = (1, 12);
/// The longest name of a device in Linux, without its end.
const LONGEST_NAME: usize = 15;

/// A question; none where the packet does not fit.
pub(super) fn question(frame: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = vec![QUESTION];
    write_frame(&mut bytes, frame)?;
    (bytes.len() <= Inquiry::MOST).then_some(bytes)
}

/// The packet of a question.
pub(super) fn asked(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut reader = Reader(bytes);
    let frame = (reader.byte()? == QUESTION).then(|| reader.frame())??;
    reader.0.is_empty().then_some(frame)
}

/// An answer. Copies that do not fit are left out of it, and counted.
pub(super) fn answer(step: &Step) -> Vec<u8> {
    let mut bytes = vec![ANSWER, step.is_foreign.into()];
    bytes.extend_from_slice(&step.count.packets.to_be_bytes());
    bytes.extend_from_slice(&step.count.bytes.to_be_bytes());
    for reason in Drop::ALL {
        bytes.extend_from_slice(&step.drops.get(reason).copied().unwrap_or(0).to_be_bytes());
    }
    bytes.push(step.dropped.len() as u8);
    bytes.extend(step.dropped.iter().map(|reason| reason.counter() as u8));
    write_name(&mut bytes, step.delivered.as_deref().unwrap_or(""));
    let mut copies = Vec::new();
    let mut left_out = step.left_out;
    for copy in &step.copies {
        let before = copies.len();
        for number in [copy.next_hop.0, copy.weight, copy.weights, copy.mtu] {
            copies.extend_from_slice(&number.to_be_bytes());
        }
        write_name(&mut copies, &copy.device);
        let fits = write_frame(&mut copies, &copy.frame).is_some();
        if !fits || bytes.len() + 2 + copies.len() > Inquiry::MOST {
            copies.truncate(before);
            left_out = left_out.saturating_add(1);
        }
    }
    bytes.extend_from_slice(&left_out.to_be_bytes());
    bytes.extend_from_slice(&copies);
    bytes
}

/// What an answer says.
pub(super) fn answered(bytes: &[u8]) -> Option<Step> {
    let mut reader = Reader(bytes);
    let reasons = match reader.byte()? {
        ANSWER => Drop::ALL,
        version if version == FIRST.0 => &Drop::ALL[..FIRST.1],
        _ => return None,
    };
    let is_foreign = reader.byte()? != 0;
    let count = Count { packets: reader.long()?, bytes: reader.long()? };
    let mut drops = std::collections::BTreeMap::new();
    for reason in reasons {
        let count = reader.long()?;
        if count > 0 {
            drops.insert(*reason, count);
        }
    }
    let mut dropped = Vec::new();
    for _ in 0..reader.byte()? {
        let counter = u32::from(reader.byte()?);
        dropped.push(*Drop::ALL.iter().find(|reason| reason.counter() == counter)?);
    }
    let delivered = Some(reader.name()?).filter(|name| !name.is_empty());
    let left_out = reader.half()?;
    let mut copies = Vec::new();
    while !reader.0.is_empty() {
        copies.push(Copy {
            next_hop: NodeId(reader.word()?),
            weight: reader.word()?,
            weights: reader.word()?,
            mtu: reader.word()?,
            device: reader.name()?,
            frame: reader.frame()?,
        });
    }
    Some(Step { is_foreign, delivered, dropped, count, drops, copies, left_out })
}

fn write_name(bytes: &mut Vec<u8>, name: &str) {
    let name = &name.as_bytes()[..name.len().min(LONGEST_NAME)];
    bytes.push(name.len() as u8);
    bytes.extend_from_slice(name);
}

/// None of one that is longer than a device carries.
fn write_frame(bytes: &mut Vec<u8>, frame: &[u8]) -> Option<()> {
    let kept = frame.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    bytes.extend_from_slice(&u16::try_from(frame.len()).ok()?.to_be_bytes());
    bytes.extend_from_slice(&(kept as u16).to_be_bytes());
    bytes.extend_from_slice(&frame[..kept]);
    Some(())
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

    fn half(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    fn word(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    fn long(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    fn bytes(&mut self, count: usize) -> Option<Vec<u8>> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes.to_vec())
    }

    /// A device's name, which people read: nothing but what is printed.
    fn name(&mut self) -> Option<String> {
        let length = usize::from(self.byte()?);
        let name = String::from_utf8(self.bytes(length)?).ok()?;
        (length <= LONGEST_NAME && !name.contains(char::is_control)).then_some(name)
    }

    fn frame(&mut self) -> Option<Vec<u8>> {
        let (length, kept) = (usize::from(self.half()?), usize::from(self.half()?));
        let mut frame = self.bytes(kept)?;
        if kept > length {
            return None;
        }
        frame.resize(length, 0);
        Some(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn copy() -> impl Strategy<Value = Copy> {
        let frame = (proptest::collection::vec(0u8.., 0..200), 0usize..1500).prop_map(|(mut frame, more)| {
            frame.resize(frame.len() + more, 0);
            frame
        });
        (any::<[u32; 4]>(), "[a-z0-9]{1,15}", frame).prop_map(
            |([node, weight, weights, mtu], device, frame)| Copy {
                next_hop: NodeId(node),
                weight,
                weights,
                device,
                mtu,
                frame,
            },
        )
    }

    fn step() -> impl Strategy<Value = Step> {
        let reason = || proptest::sample::select(Drop::ALL);
        (
            any::<(bool, u64, u64, u16)>(),
            proptest::option::of("[a-z0-9]{1,15}"),
            proptest::collection::btree_set(reason(), 0..4),
            proptest::collection::btree_map(reason(), 1u64.., 0..12),
            proptest::collection::vec(copy(), 0..6),
        )
            .prop_map(
                |((is_foreign, packets, bytes, left_out), delivered, dropped, drops, copies)| Step {
                    is_foreign,
                    delivered,
                    dropped: dropped.into_iter().collect(),
                    count: Count { packets, bytes },
                    drops,
                    copies,
                    left_out,
                },
            )
    }

    proptest! {
        #[test]
        fn a_step_that_is_told_is_understood(step in step()) {
            let said = answer(&step);
            prop_assert!(said.len() <= Inquiry::MOST);
            let heard = answered(&said).unwrap();
            // What did not fit is counted.
            let missing = step.copies.len() - heard.copies.len();
            prop_assert_eq!(usize::from(heard.left_out), (usize::from(step.left_out) + missing).min(0xffff));
            prop_assert!(heard.copies.iter().all(|copy| step.copies.contains(copy)));
            let whole = Step { copies: step.copies.clone(), left_out: step.left_out, ..heard };
            prop_assert_eq!(whole, step);
        }

        #[test]
        fn a_packet_that_is_asked_about_is_the_packet(copy in copy()) {
            let question = question(&copy.frame).unwrap();
            prop_assert_eq!(asked(&question), Some(copy.frame));
        }

        #[test]
        fn no_bytes_make_the_reader_panic(mut bytes in proptest::collection::vec(0u8.., 0..1000)) {
            for version in [QUESTION, ANSWER] {
                bytes.insert(0, version);
                let _ = (asked(&bytes), answered(&bytes));
            }
        }

        #[test]
        fn an_answer_of_the_first_version_is_understood(step in step()) {
            let mut said = answer(&step);
            // Behind the version, a byte and two counts it had a counter less, and the last reason was never one.
            let last = Drop::ALL[FIRST.1];
            let at = 2 + 16 + 8 * FIRST.1;
            said.drain(at..at + 8);
            said[0] = FIRST.0;
            let heard = answered(&said).unwrap();
            let mut drops = step.drops.clone();
            drops.remove(&last);
            prop_assert_eq!((heard.drops, heard.dropped, heard.delivered), (drops, step.dropped, step.delivered));
        }

        #[test]
        fn no_answer_that_is_cut_is_understood_but_between_copies(step in step(), cut: prop::sample::Index) {
            let said = answer(&step);
            let cut = cut.index(said.len());
            let whole = answered(&said).unwrap();
            if let Some(heard) = answered(&said[..cut]) {
                prop_assert!(heard.copies.len() < whole.copies.len());
            }
        }
    }

    #[test]
    fn a_packet_too_long_for_a_question_is_not_asked_about() {
        assert_eq!(question(&[1; Inquiry::MOST]), None);
        assert!(question(&[0; 65_000]).is_some(), "what is nought is not written");
        assert_eq!(question(&vec![0; 70_000]), None);
    }
}
