//! Rust's types and WIT's.

use plait_control_runtime::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq)]
struct Neighbour {
    router_id: u32,
    address: Ipv6Addr,
    state: State,
    last_seen: Option<Duration>,
    r#type: char,
}
wit!(struct Neighbour { router_id, address, state, last_seen, r#type });

#[derive(Debug, Clone, PartialEq)]
enum State {
    Down,
    TwoWay,
}
wit!(
    enum State {
        Down,
        TwoWay,
    }
);

#[derive(Debug, Clone, PartialEq)]
enum Verdict {
    Drop,
    Forward((u16, i64)),
    Mark(f64),
}
wit!(variant Verdict { Drop, Forward(_), Mark(_) });

type All = (Vec<Neighbour>, BTreeMap<String, Verdict>, Result<u8, bool>);

fn all() -> impl Strategy<Value = All> {
    let state = prop_oneof![Just(State::Down), Just(State::TwoWay)];
    let neighbour = (any::<u32>(), any::<u128>(), state, proptest::option::of(any::<u64>()), any::<char>())
        .prop_map(|(router_id, address, state, last_seen, letter)| Neighbour {
            router_id,
            address: Ipv6Addr::from_bits(address),
            state,
            last_seen: last_seen.map(Duration::from_nanos),
            r#type: letter,
        });
    let verdict = prop_oneof![
        Just(Verdict::Drop),
        any::<(u16, i64)>().prop_map(Verdict::Forward),
        (-1e9..1e9).prop_map(Verdict::Mark)
    ];
    let verdicts = proptest::collection::btree_map("[a-zß]{0,5}", verdict, 0..5);
    (proptest::collection::vec(neighbour, 0..5), verdicts, any::<Result<u8, bool>>())
}

#[test]
fn a_schema_is_written_as_wit_has_it() {
    assert_eq!(
        All::schema().to_string(),
        "tuple<list<record { router-id: u32, address: tuple<u64, u64>, state: enum { down, two-way }, \
         last-seen: option<u64>, type: char }>, list<tuple<string, variant { drop, forward(tuple<u16, s64>), \
         mark(f64) }>>, result<u8, bool>>"
    );
}

#[test]
fn a_value_of_another_type_is_refused_with_its_place() {
    let good = (vec![1u32, 2], true).to_value();
    let Value::Tuple(parts) = &good else { panic!("{good:?}") };
    let bad = Value::Tuple([Value::List([Value::U32(1), Value::U8(2)].into()), parts[1].clone()].into());
    let fault = <(Vec<u32>, bool)>::from_value(&bad).unwrap_err();
    assert_eq!(fault.to_string(), ".0[1]: a u8 where u32 is due");
    assert_eq!(<(Vec<u32>, bool)>::schema().check(&bad).unwrap_err(), fault);
}

#[test]
fn what_is_no_name_is_refused() {
    for text in ["", "-", "a-", "Links", "9a", "a--b", "a_b", "größe", "links@1"] {
        assert!(text.parse::<Name>().is_err(), "{text}");
    }
    for text in ["links", "links@", "links@0", "links@+1", "links@01x", "@1", "links@99999999999"] {
        assert!(text.parse::<ViewId>().is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn what_is_written_as_wit_is_read_again(value in all()) {
        let written = value.to_value();
        prop_assert!(All::schema().check(&written).is_ok());
        prop_assert_eq!(&All::from_value(&written).unwrap(), &value);
        let json = serde_json::to_string(&written).unwrap();
        prop_assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), written);
    }

    #[test]
    fn no_text_makes_a_manifest_or_a_recording_panic(text in "\\PC{0,60}") {
        let _ = serde_json::from_str::<Manifest>(&text);
        let _ = serde_json::from_str::<Entry>(&text);
        let _ = text.parse::<ViewId>();
    }
}
