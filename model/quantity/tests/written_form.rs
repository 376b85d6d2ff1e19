//! What people write is what they get back, and a bare number never passes.

use plait_model_quantity::{Bandwidth, ByteCount, Probability, TimeSpan};
use proptest::prelude::*;

#[test]
fn a_bare_number_is_refused_with_the_unit_to_add() {
    let error = "10".parse::<Bandwidth>().unwrap_err().to_string();
    assert_eq!(
        error,
        "`10` has no unit: write one of bit, kbit, Mbit, Gbit, Tbit (per second), for example `10Mbit`"
    );
    assert!("20".parse::<TimeSpan>().unwrap_err().to_string().contains("`20ms`"));
    assert!("1".parse::<Probability>().unwrap_err().to_string().contains("`1%`"));
    assert!(serde_json::from_str::<ByteCount>("1500").unwrap_err().to_string().contains("no unit"));
}

#[test]
fn nought_needs_no_unit() {
    assert_eq!("0".parse::<TimeSpan>().unwrap(), TimeSpan::ZERO);
    assert_eq!(serde_json::from_str::<Probability>("0").unwrap(), Probability::ZERO);
}

#[test]
fn bps_is_ambiguous_and_refused() {
    assert!("10Mbps".parse::<Bandwidth>().unwrap_err().to_string().contains("not a unit of bandwidth"));
}

#[test]
fn a_thousand_byte_frame_takes_eight_microseconds_at_a_gigabit() {
    let rate: Bandwidth = "1Gbit".parse().unwrap();
    assert_eq!(rate.time_for(ByteCount::new(1000)), TimeSpan::from_nanos(8_000));
    assert_eq!(rate.bytes_in(TimeSpan::from_nanos(8_000)), ByteCount::new(1000));
}

#[test]
fn quantities_print_as_people_write_them() {
    assert_eq!("0.02s".parse::<TimeSpan>().unwrap().to_string(), "20ms");
    assert_eq!("90s".parse::<TimeSpan>().unwrap().to_string(), "90s");
    assert_eq!("1500kbit".parse::<Bandwidth>().unwrap().to_string(), "1.5Mbit");
    assert_eq!("65536B".parse::<ByteCount>().unwrap().to_string(), "64KiB");
    assert_eq!("0.1%".parse::<Probability>().unwrap().to_string(), "0.1%");
}

proptest! {
    #[test]
    fn every_value_prints_to_a_form_that_reads_back(nanos in 0u64..1 << 53, bits in 0u64..1 << 53, share in 0.0f64..=1.0) {
        let span = TimeSpan::from_nanos(nanos);
        prop_assert_eq!(span.to_string().parse::<TimeSpan>().unwrap(), span);
        let rate = Bandwidth::from_bits_per_second(bits);
        prop_assert_eq!(rate.to_string().parse::<Bandwidth>().unwrap(), rate);
        let share = Probability::new(share).unwrap();
        let back: Probability = share.to_string().parse().unwrap();
        prop_assert!((back.value() - share.value()).abs() < 1e-12);
    }

    #[test]
    fn no_text_makes_a_parser_panic(text in "\\PC{0,20}") {
        let _ = text.parse::<Bandwidth>();
        let _ = text.parse::<ByteCount>();
        let _ = text.parse::<TimeSpan>();
        let _ = text.parse::<Probability>();
    }
}
