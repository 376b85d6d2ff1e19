//! A bound on latency from end to end, over a worker in virtual time.

use plait_control_openflow::bound::LatencyBound;
use std::time::Duration;

/// What a byte takes, in nanoseconds: half a microsecond a request.
const EACH: f64 = 5.0;
const READ: usize = 64 << 10;

/// Rounds of a worker over loud switches, which always have as much as is read, and one that asks for little. The longest that
/// a request of the quiet one waited, once all is measured, and the share of time that went into reading and answering.
fn longest(loud: usize, bound: Option<Duration>) -> Duration {
    let mut bound = bound.map(LatencyBound::new);
    let (mut now, mut longest) = (Duration::ZERO, Duration::ZERO);
    for round in 0..200 {
        let began = now;
        let read = bound.as_ref().map_or(READ, |bound| bound.read(READ));
        // The quiet switch was read first in the round before and asks right after that: it waits for all the others.
        let asked = began;
        let bytes = loud * read;
        now += Duration::from_nanos((bytes as f64 * EACH) as u64);
        if let Some(bound) = &mut bound {
            bound.round(loud + 1, bytes, now - began);
        }
        if round > 50 {
            longest = longest.max(now - asked);
        }
    }
    longest
}

#[test]
fn a_quiet_switch_waits_no_longer_than_the_bound_while_a_round_over_the_loud_fits_into_half_of_it() {
    let bound = Duration::from_millis(5);
    for loud in [1, 4, 16, 64, 200] {
        let (without, with) = (longest(loud, None), longest(loud, Some(bound)));
        assert!(with <= bound / 2, "{with:?} with {loud} loud switches");
        if loud >= 16 {
            assert!(without > bound, "there is nothing to bound: {without:?}");
        }
    }
    // Of 1347 the least that is read is more than that; they wait for a tenth of what they would.
    let (without, with) = (longest(1347, None), longest(1347, Some(bound)));
    assert!(with > bound && with * 10 < without, "{with:?} of {without:?}");
}

#[test]
fn what_is_read_shrinks_with_load_and_never_below_what_a_read_is_worth() {
    let mut bound = LatencyBound::new(Duration::from_millis(2));
    assert_eq!(bound.read(READ), READ, "nothing is known yet");
    for _ in 0..50 {
        bound.round(1, 1000, Duration::from_micros(5));
    }
    assert_eq!(bound.read(READ), READ, "one switch alone is no round");
    for _ in 0..50 {
        bound.round(10_000, 10_000_000, Duration::from_millis(50));
    }
    assert_eq!(bound.read(READ), 2 << 10);
    assert_eq!(bound.read(512), 512, "what is asked for is not exceeded");
    bound.round(0, 0, Duration::from_secs(1));
    assert_eq!(bound.read(READ), 2 << 10, "a round with nothing in it says nothing");
}

#[test]
fn a_batch_is_due_by_its_oldest_request_and_what_it_will_take() {
    let ms = Duration::from_millis;
    let mut bound = LatencyBound::new(ms(4));
    bound.round(1, 1000, ms(1));
    assert!(!bound.is_due(ms(11), ms(10), 900));
    assert!(bound.is_due(ms(11), ms(10), 1100), "it would be answered after half of the bound");
    assert!(bound.is_due(ms(13), ms(10), 0));
    assert!(!bound.is_late(ms(14), ms(10)) && bound.is_late(ms(15), ms(10)));
    // A clock that goes back is one that stands still.
    assert!(!bound.is_due(ms(9), ms(10), 0) && !bound.is_late(ms(9), ms(10)));
}
