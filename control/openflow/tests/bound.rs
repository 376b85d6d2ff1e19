//! A bound on latency from end to end, over a worker in virtual time.

use plait_control_openflow::bound::{LatencyBound, Waiting};
use std::collections::VecDeque;
use std::time::Duration;

/// What a byte takes to read and to answer, in nanoseconds: half a microsecond a request together.
const READING: f64 = 1.0;
const ANSWERING: f64 = 4.0;
const READ: usize = 64 << 10;
const REQUEST: usize = 100;
/// Bytes of a full batch.
const BATCH: usize = 2048 * REQUEST;

fn ns(nanoseconds: f64) -> Duration {
    Duration::from_nanos(nanoseconds as u64)
}

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// Numbers from 0 to 1, the same in each run.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A worker over loud switches, which always have more than is read, and a quiet one that asks now and then.
struct World {
    loud: usize,
    bound: Option<Duration>,
    /// Whether the worker is told when its batches were answered.
    is_told: bool,
    /// What a batch waits for beside what it takes: other workers' batches, and output.
    beside: fn(f64) -> Duration,
}

/// What came of it.
struct Came {
    /// How long the quiet switch's requests waited, in order.
    waits: Vec<Duration>,
    /// Bytes that were answered in a second.
    rate: f64,
}

impl Came {
    fn of_hundred(&self, hundredths: usize) -> Duration {
        self.waits[self.waits.len() * hundredths / 100]
    }
}

impl World {
    fn run(&self) -> Came {
        let mut bound = LatencyBound::new(self.bound.unwrap_or(ms(1000)));
        let mut chance = Chance(7);
        let (mut now, mut bytes, mut waits) = (ms(1), 0, Vec::new());
        // When each switch was read last, the quiet one first.
        let mut read = vec![Duration::ZERO; self.loud + 1];
        let mut asks: VecDeque<Duration> = VecDeque::new();
        let (mut next, mut batched, mut batch) = (ms(1), Vec::new(), 0);
        let end = ms(8000);
        while now < end {
            bound.begin(now, READ);
            for (place, last) in read.iter_mut().enumerate() {
                while next < now {
                    asks.push_back(next);
                    next += ns(chance.next() * 4e5);
                }
                let came = std::mem::replace(last, now);
                let found = if place == 0 { asks.len() * REQUEST } else { bound.turn() };
                now += Duration::from_micros(1);
                if found == 0 {
                    continue;
                }
                if place == 0 {
                    batched.extend(asks.drain(..));
                }
                now += ns(found as f64 * READING);
                batch += found;
                bound.took(found, Some(came));
                let is_last = place == self.loud;
                if batch >= BATCH
                    || (self.bound.is_some() && bound.is_due(now))
                    || (self.loud == 0 && is_last)
                {
                    let origin = bound.hand_over(now).unwrap();
                    assert_eq!(origin.size, batch as u64);
                    now += ns(batch as f64 * ANSWERING);
                    let written = now + (self.beside)(chance.next());
                    bytes += batch;
                    // What a beginning was like is not counted.
                    waits.extend(batched.drain(..).map(|came| written - came).filter(|_| now > ms(1000)));
                    batch = 0;
                    if self.is_told {
                        bound.answered(written, &origin);
                    }
                }
            }
            bound.end(now);
        }
        waits.sort_unstable();
        Came { waits, rate: bytes as f64 / now.as_secs_f64() }
    }
}

#[test]
fn a_quiet_switch_waits_no_longer_than_the_bound_while_a_round_over_the_loud_fits_into_half_of_it() {
    let beside = |_| Duration::ZERO;
    for loud in [0, 1, 4, 16, 64, 200] {
        let without = World { loud, bound: None, is_told: false, beside }.run();
        let with = World { loud, bound: Some(ms(5)), is_told: true, beside }.run();
        let longest = *with.waits.last().unwrap();
        assert!(longest <= ms(5), "{longest:?} with {loud} loud switches");
        if loud >= 16 {
            assert!(
                without.of_hundred(90) > ms(5),
                "there is nothing to bound: {:?}",
                without.of_hundred(90)
            );
        }
        assert!(with.rate > 0.9 * without.rate, "{} of {} bytes a second", with.rate, without.rate);
    }
    // Of 1347 the least that is read is more than that; they wait for a tenth of what they would.
    let without = World { loud: 1347, bound: None, is_told: false, beside }.run();
    let with = World { loud: 1347, bound: Some(ms(5)), is_told: true, beside }.run();
    let [without, with] = [without, with].map(|came| came.of_hundred(99));
    assert!(with > ms(5) && with * 10 < without, "{with:?} of {without:?}");
}

#[test]
fn what_batches_wait_for_beside_their_own_time_is_kept_back_from_the_bound() {
    // Always as long; mostly short; seldom at all, but then for most of the bound.
    let beside: [fn(f64) -> Duration; 3] = [
        |_| ms(2),
        |chance| ns(2e6 * chance * chance),
        |chance| if chance < 0.03 { ns(2.2e6) } else { Duration::ZERO },
    ];
    for (place, beside) in beside.into_iter().enumerate() {
        let [told, untold] = [true, false]
            .map(|is_told| World { loud: 64, bound: Some(ms(5)), is_told, beside }.run())
            .map(|came| came.of_hundred(99));
        assert!(told <= ms(5), "{told:?} in world {place}");
        assert!(
            untold > told + told / 10,
            "the estimate does nothing: {untold:?} and {told:?} in world {place}"
        );
    }
    // What is kept back is let go again, and nobody keeps back more than half.
    let mut bound = LatencyBound::new(ms(4));
    let turn = |bound: &mut LatencyBound| {
        bound.begin(ms(0), READ);
        bound.took(10 << 10, Some(ms(0)));
        let origin = bound.hand_over(ms(0)).unwrap();
        bound.end(ms(1));
        (bound.turn(), origin)
    };
    let free = (0..50).map(|_| turn(&mut bound)).last().unwrap();
    (0..100).for_each(|_| bound.answered(ms(900), &free.1));
    turn(&mut bound);
    assert_eq!(turn(&mut bound).0, free.0 / 2, "half of the bound is left");
    (0..100_000).for_each(|_| bound.answered(ms(0), &free.1));
    assert_eq!(turn(&mut bound).0, free.0);
}

#[test]
fn what_is_read_shrinks_with_load_and_never_below_what_a_read_is_worth() {
    let mut bound = LatencyBound::new(ms(2));
    let round = |bound: &mut LatencyBound, switches: usize, bytes: usize, took| {
        bound.begin(ms(0), READ);
        (0..switches).for_each(|_| bound.took(bytes / switches, None));
        bound.end(took);
        bound.begin(ms(0), READ);
        bound.turn()
    };
    bound.begin(ms(0), READ);
    assert_eq!(bound.turn(), READ, "nothing is known yet");
    for _ in 0..50 {
        assert_eq!(
            round(&mut bound, 1, 1000, Duration::from_micros(5)),
            READ,
            "one switch alone is no round"
        );
    }
    for _ in 0..50 {
        round(&mut bound, 10_000, 10_000_000, ms(50));
    }
    assert_eq!(bound.turn(), 2 << 10);
    bound.begin(ms(0), 512);
    assert_eq!(bound.turn(), 512, "what is asked for is not exceeded");
    bound.end(ms(1000));
    bound.begin(ms(1000), READ);
    assert_eq!(bound.turn(), 2 << 10, "a round with nothing in it says nothing");
}

#[test]
fn a_batch_is_due_by_its_oldest_request_and_what_it_and_a_turn_will_take() {
    let mut bound = LatencyBound::new(ms(4));
    // A microsecond a byte, of which there are a thousand in a turn.
    bound.begin(ms(0), 1000);
    bound.took(1000, Some(ms(0)));
    bound.end(ms(1));
    assert_eq!(bound.take(), Some(Waiting { came: ms(0), bytes: 1000 }));
    bound.took(1000, None);
    assert!(!bound.is_due(ms(99)), "nothing waits");
    bound.begin(ms(10), 1000);
    bound.took(900, Some(ms(10)));
    assert!(!bound.is_due(ms(12)));
    bound.took(100, Some(ms(11)));
    assert!(bound.is_due(ms(12)), "it and a turn would be answered after four milliseconds");
    // What another worker has read is older.
    bound.take();
    bound.took(100, Some(ms(12)));
    assert!(!bound.is_due(ms(12)));
    bound.joined(Waiting { came: ms(9), bytes: 0 });
    assert!(bound.is_due(ms(12)));
    let origin = bound.hand_over(ms(12)).unwrap();
    assert_eq!((origin.came, origin.handed, origin.size), (ms(9), ms(12), 100));
    assert!(bound.hand_over(ms(12)).is_none() && !bound.is_due(ms(99)));
    assert!(!bound.is_behind(ms(10), ms(9)) && bound.is_behind(ms(11), ms(9)));
    // A clock that goes back is one that stands still.
    bound.took(100, Some(ms(12)));
    assert!(!bound.is_due(ms(9)) && !bound.is_behind(ms(9), ms(12)));
}
