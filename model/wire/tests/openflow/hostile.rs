//! What the network may send: nothing that is cut, changed or made up makes a parser panic, and what it takes comes out as
//! it came in.

use crate::{samples, vectors};
use plait_model_wire::openflow::{Frame, Header, Hello, Message, chop, v10, v13};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Every parser that may meet these bytes. What the whole parser takes must come out as it came in, but for reserved bytes,
/// which come out as zeros, and must then stay the same.
fn ask_all(bytes: &[u8]) -> Option<Message> {
    let frame = Frame::parse(bytes).ok()?;
    let _ = Hello::of(frame.body());
    look_at_views(&frame);
    let message = Message::of(&frame).ok()?;
    let again = message.emit().expect("what was read can be written");
    assert_eq!(again.len(), bytes.len(), "{message:?}");
    for (at, (after, before)) in again.iter().zip(bytes).enumerate() {
        assert!(after == before || *after == 0, "byte {at} was {before} and is {after}: {message:?}");
    }
    assert_eq!(Message::parse(&again).as_ref(), Ok(&message));
    Some(message)
}

/// What a view takes, all of it can be looked at; and it takes whatever the whole parser takes.
fn look_at_views(frame: &Frame<'_>) {
    if let Ok(view) = v10::packet_in::View::of(frame) {
        let _ = (view.buffer(), view.total_length(), view.in_port(), view.reason(), view.data());
    }
    if let Ok(view) = v10::packet_out::View::of(frame) {
        view.actions().iter().for_each(|action| drop(v10::Action::of(action)));
    }
    if let Ok(view) = v10::flow_mod::View::of(frame) {
        view.actions().iter().for_each(|action| drop(v10::Action::of(action)));
        let _ = view.flow_match();
    }
    if let Ok(view) = v13::packet_in::View::of(frame) {
        view.fields().iter().for_each(|field| drop(v13::Oxm::of(field)));
        let _ = view.in_port();
    }
    if let Ok(view) = v13::packet_out::View::of(frame) {
        view.actions().iter().for_each(|action| drop(v13::Action::of(action)));
    }
    if let Ok(view) = v13::flow_mod::View::of(frame) {
        view.fields().iter().for_each(|field| drop(v13::Oxm::of(field)));
        view.instructions().iter().for_each(|instruction| drop(v13::Instruction::of(instruction)));
    }
}

/// What other tests have of whole messages: ours, and os_ken's where they are.
fn whole() -> Vec<Vec<u8>> {
    let ours = samples::all().into_iter().map(|message| message.emit().unwrap());
    ours.chain(vectors::files().into_iter().flatten().map(|vector| vector.bytes)).collect()
}

/// Sets the header's length to what there is.
fn with_its_length(mut bytes: Vec<u8>) -> Vec<u8> {
    let length = (bytes.len() as u16).to_be_bytes();
    bytes[2..4].copy_from_slice(&length);
    bytes
}

#[test]
fn every_message_comes_out_as_it_went_in() {
    let mut kinds = BTreeSet::new();
    for message in samples::all() {
        let bytes = message.emit().unwrap();
        assert_eq!(Message::parse(&bytes).as_ref(), Ok(&message));
        assert_eq!(ask_all(&bytes).as_ref(), Some(&message));
        kinds.insert((bytes[0], bytes[1]));
    }
    let missing = |version, kinds_of: u8| (0..kinds_of).find(|kind| !kinds.contains(&(version, *kind)));
    assert_eq!((missing(1, 22), missing(4, 30)), (None, None), "a type without a sample");
}

#[test]
fn a_message_cut_at_any_byte_is_refused_and_waited_for() {
    for bytes in whole() {
        for length in 0..bytes.len() {
            assert!(Message::parse(&bytes[..length]).is_err());
            assert!(chop(&bytes[..length]).unwrap().is_none(), "more may come");
        }
        // A message that says that it ends there is read to its end, or refused.
        for length in Header::LENGTH..bytes.len().min(700) {
            ask_all(&with_its_length(bytes[..length].to_vec()));
        }
    }
}

#[test]
fn a_length_wrong_by_any_amount_harms_nobody() {
    for bytes in whole() {
        // Every two bytes might be a length.
        for at in 4..bytes.len().saturating_sub(1).min(240) {
            for wrong in [0u16, 1, 3, 4, 7, 8, 9, 16, 0x7fff, 0xffff] {
                let mut changed = bytes.clone();
                changed[at..at + 2].copy_from_slice(&wrong.to_be_bytes());
                ask_all(&changed);
            }
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_of_a_mutated_message_make_a_parser_panic(
        which: prop::sample::Index,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in prop::option::of(any::<prop::sample::Index>()),
        more in prop::collection::vec(any::<u8>(), 0..9),
    ) {
        let all = WHOLE.get_or_init(whole);
        let mut bytes = all[which.index(all.len())].clone();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(Header::LENGTH + cut.index(bytes.len() - Header::LENGTH + 1));
        }
        bytes.extend(more);
        let _ = chop(&bytes);
        ask_all(&with_its_length(bytes));
    }

    #[test]
    fn no_bytes_make_an_openflow_parser_panic(
        version in prop::sample::select(vec![1u8, 4, 6]), kind in 0u8..32, body in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let _ = chop(&body);
        let _ = Message::parse(&body);
        let bytes = [&[version, kind, 0, 0, 0, 0, 0, 0][..], &body].concat();
        ask_all(&with_its_length(bytes));
    }
}

static WHOLE: std::sync::OnceLock<Vec<Vec<u8>>> = std::sync::OnceLock::new();
