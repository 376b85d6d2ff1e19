//! The burst of a kernel token bucket grows with the rate, as measured.

use plait_model_link::{MTU_FRAME, tbf_burst};
use plait_model_quantity::Bandwidth;

#[test]
fn the_burst_is_the_smallest_that_fills_the_link() {
    for (mbit, frames) in [(1, 3), (10, 3), (11, 4), (50, 4), (51, 5), (100, 5), (101, 7), (1000, 7)] {
        let rate = Bandwidth::from_bits_per_second(mbit * 1_000_000);
        assert_eq!(tbf_burst(rate, MTU_FRAME).bytes(), frames * 1514, "{mbit} Mbit/s");
    }
}
