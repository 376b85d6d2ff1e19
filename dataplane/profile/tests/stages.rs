//! Stamps of packets become stages.

use plait_dataplane_profile::stages::{Stage, cut};
use plait_dataplane_reference::tables::passage::{BACK, ENTER, LOOKUP, OUT, QUEUE, SEND, SENT, START};

fn stages(passages: &[u32]) -> Vec<(Stage, usize)> {
    let cuts = cut(passages).expect("a packet that got to a driver");
    assert!(
        cuts.windows(2).all(|pair| pair[0].to == pair[1].from),
        "one begins where the other ends: {cuts:?}"
    );
    assert_eq!(cuts[0].from, 0);
    cuts.iter().map(|cut| (cut.stage, cut.to)).collect()
}

#[test]
fn without_a_tunnel_there_are_the_stack_the_queue_and_the_driver() {
    assert_eq!(
        stages(&[SEND, OUT, QUEUE, START, SENT, BACK]),
        [(Stage::Socket, 1), (Stage::Inner, 2), (Stage::Queue, 3), (Stage::Device, 4)]
    );
}

#[test]
fn where_the_kernel_says_less_there_are_fewer_stages() {
    assert_eq!(
        stages(&[SEND, QUEUE, START, SENT, BACK]),
        [(Stage::Inner, 1), (Stage::Queue, 2), (Stage::Device, 3)]
    );
    assert_eq!(
        stages(&[SEND, QUEUE, START, QUEUE, START, SENT, SENT, BACK]),
        [(Stage::Inner, 1), (Stage::Tunnel, 3), (Stage::Queue, 4), (Stage::Device, 5)]
    );
}

#[test]
fn a_tunnel_of_the_kernel_goes_through_the_stack_twice() {
    assert_eq!(
        stages(&[SEND, OUT, QUEUE, START, OUT, QUEUE, START, SENT, SENT, BACK]),
        [
            (Stage::Socket, 1),
            (Stage::Inner, 2),
            (Stage::Tunnel, 4),
            (Stage::Outer, 5),
            (Stage::Queue, 6),
            (Stage::Device, 7)
        ]
    );
}

#[test]
fn a_route_that_is_looked_up_parts_the_tunnel_from_the_encapsulation() {
    assert_eq!(
        stages(&[SEND, OUT, QUEUE, START, LOOKUP, OUT, QUEUE, START, SENT, SENT, BACK])[2..5],
        [(Stage::Tunnel, 4), (Stage::Encapsulation, 5), (Stage::Outer, 6)]
    );
}

#[test]
fn a_program_of_ours_is_all_of_the_tunnel() {
    assert_eq!(
        stages(&[SEND, OUT, ENTER, QUEUE, START, SENT, BACK]),
        [(Stage::Socket, 1), (Stage::Inner, 2), (Stage::Tunnel, 3), (Stage::Queue, 4), (Stage::Device, 5)]
    );
}

#[test]
fn what_never_got_to_a_driver_has_no_stages() {
    for passages in [&[][..], &[SEND], &[SEND, OUT, QUEUE, BACK], &[QUEUE, START, SENT], &[SEND, START, SENT]]
    {
        assert_eq!(cut(passages), None, "{passages:?}");
    }
}
