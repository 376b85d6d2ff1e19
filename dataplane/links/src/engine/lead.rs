//! How early packets leave, so that they arrive on time.

use super::Calibration;
use crate::port::PortKind;

/// The calibrated constants, which follow the machine.
///
/// What a packet spends in the kernel was measured at one moment. Minutes later, with other caches and another
/// neighbour on the host, the same way takes half as long or twice. The way in cannot be seen, the way out can: it is
/// one send. So each direction follows its typical send, and its constant moves in proportion.
///
/// Choice: in the proportion that the whole way had to the send while both were measured. In 30 calibrations within a minute
/// sends were 4.0 to 8.1 us and constants 4.8 to 9.3 us, within 1 us of a line through nought. A fixed slope of five
/// quarters did as well there, and was 5 us off where a calibration met a moment in which sends were slow, and the way
/// in was not: 10.9 and 8.1 us.
#[derive(Debug, Default)]
pub(super) struct Lead {
    packet: u64,
    tap: u64,
    /// The typical send while the constants were measured; nought is not known.
    send: u64,
}

/// A lead moves away from its constant by at most this much: past it the machine is not slow but busy.
const MOST: i64 = 10_000;

impl Lead {
    /// Takes new constants.
    pub fn calibrate(&mut self, constants: Calibration) {
        self.packet = constants.packet.as_nanos();
        self.tap = constants.tap.map_or(0, |tap| tap.as_nanos());
        self.send = constants.send.as_nanos();
    }

    /// Nanoseconds by which packets leave early that came from a port of this kind and are sent like this.
    pub fn of(&self, kind: PortKind, sends: Sends) -> u64 {
        let constant = match kind {
            PortKind::Packet => self.packet,
            PortKind::Tap => self.tap,
        };
        if constant == 0 || self.send == 0 || sends.typical == 0 {
            return constant;
        }
        let moved = (sends.typical as i64 - self.send as i64) * self.packet as i64 / self.send as i64;
        constant.saturating_add_signed(moved.clamp(-MOST, MOST))
    }
}

/// How long it takes to send one packet: the median, found by steps up for each send that took longer and down for each that
/// did not. Steps are an eighth at first and one part in 64 later, since the first send of a process may take ten times
/// as long as those that follow.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sends {
    /// In nanoseconds; nought before the first.
    pub typical: u64,
    /// How many were noted, as far as steps depend on it.
    noted: u64,
}

impl Sends {
    /// Notes how long a packet took.
    pub fn note(&mut self, nanos: u64) {
        self.noted = (self.noted + 1).min(64);
        let step = self.typical / self.noted.max(8);
        self.typical = match self.typical {
            0 => nanos,
            typical if nanos > typical => typical + step,
            typical => typical - step,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plait_model_quantity::TimeSpan;

    const CONSTANT: u64 = 9_000;

    /// By how much the lead moved from its constant, which was measured when a send took 6,000 ns.
    fn moved(sends: impl IntoIterator<Item = u64>) -> i64 {
        let mut lead = Lead::default();
        let [packet, tap, send] = [CONSTANT, 40_000, 6_000].map(TimeSpan::from_nanos);
        lead.calibrate(Calibration { packet, tap: Some(tap), send, samples: 100 });
        let mut seen = Sends::default();
        sends.into_iter().for_each(|nanos| seen.note(nanos));
        lead.of(PortKind::Packet, seen) as i64 - CONSTANT as i64
    }

    #[test]
    fn a_machine_that_stays_as_it_was_keeps_its_constants() {
        assert_eq!(moved([]), 0, "nothing was sent yet");
        assert_eq!(moved([6_000]), 0);
        let unknown = Lead::default();
        assert_eq!(
            unknown.of(PortKind::Packet, Sends { typical: 6_000, noted: 64 }),
            0,
            "nothing was calibrated"
        );
    }

    #[test]
    fn a_lead_follows_the_median_send_and_not_the_worst() {
        let slow = moved((0..2_000).map(|number| if number % 10 == 0 { 900_000 } else { 8_000 }));
        assert!((2_500..3_500).contains(&slow), "{slow} ns for sends that take 2,000 ns longer, a third");
        let fast = moved((0..2_000).map(|_| 4_000));
        assert!((-3_500..-2_500).contains(&fast), "{fast} ns for sends that take 2,000 ns less, a third");
    }

    #[test]
    fn a_first_send_that_takes_long_is_forgotten_within_a_calibration() {
        let mut seen = Sends::default();
        (0..100).for_each(|number| seen.note(if number == 0 { 50_000 } else { 3_000 }));
        assert!((2_900..3_100).contains(&seen.typical), "{} ns", seen.typical);
    }

    #[test]
    fn a_lead_moves_only_so_far() {
        assert_eq!(moved([1_000_000]), MOST);
        assert!(moved([1]) >= -(CONSTANT as i64), "never before the packet came");
    }
}
