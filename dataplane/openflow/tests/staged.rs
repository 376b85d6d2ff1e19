//! What waits until other switches have done theirs.

mod support;

use plait_control_openflow::{
    Actions, Command, Fields, Flow, Packet, PacketIns, PacketOut, Port, Staged, Step, Version,
};
use plait_control_runtime::{Dag, Manifest, Runtime, View, native};
use plait_dataplane_openflow::Config;
use plait_model_wire::openflow::{BufferId, Message, v13};
use std::sync::Arc;
use std::time::Duration;
use support::{Client, frame, start_with, until};

#[test]
fn what_waits_for_a_switch_is_told_when_it_answers_or_is_gone() {
    // Each packet of the first switch leaves it once the others have their flows: of switch 9, which nobody knows, nobody waits.
    let stage = |(packets,): (Arc<PacketIns>,)| {
        let steps = packets.iter().enumerate().map(|(place, packet)| {
            let (in_port, actions) = (packet.in_port, Actions::output(Port::FLOOD));
            let out = PacketOut { in_port, actions, packet: Packet::of(&packets, place) };
            let then = [(packet.switch, Command::PacketOut(out))].into_iter().collect();
            Step { behind: vec![2, 3, 9], then }
        });
        let flow = |switch| (switch, Command::Flow(Flow::add(10, Fields::ANY, Actions::output(Port(2)))));
        let first = [2, 3, 9].map(flow).into_iter().collect();
        Ok((Staged { first, steps: steps.collect(), patience: 120_000_000, supersedes: false },))
    };
    let mut runtime = Runtime::new(Default::default());
    let manifest = Manifest::new("stage").reads("~packet-ins@1").writes("~staged-commands@1").parallel();
    runtime.grant(&manifest.name, &Staged::id().name);
    runtime.add_application(manifest, native(stage)).unwrap();
    runtime.add_dag(Duration::ZERO, Dag::chain("stage", &["stage"]).on("packet-ins@1")).unwrap();
    let controller = start_with(Config { workers: 2, ..Config::default() }, runtime);
    let [mut first, mut second, mut third] =
        [1, 2, 3].map(|datapath| Client::connect(&controller, Version::V13, datapath));
    until("all are known", || controller.switches().len() == 3);
    // The next barrier's transaction, behind the flow.
    let barrier = |client: &mut Client| {
        let mut flows = 0;
        loop {
            match client.next().expect("the controller ended the connection") {
                Message::V13(v13::Message { body: v13::Body::FlowMod(flow), .. }) if flow.priority == 10 => {
                    flows += 1;
                }
                Message::V13(v13::Message { xid, body: v13::Body::BarrierRequest }) => {
                    assert_eq!(flows, 1, "its flow comes before");
                    return xid;
                }
                _ => {}
            }
        }
    };
    let answer = |client: &mut Client, xid| {
        client.send(Message::V13(v13::Message { xid, body: v13::Body::BarrierReply }));
    };
    let held = || controller.staged().held;
    first.packet_in(BufferId(1), &frame(1));
    let xids = [barrier(&mut second), barrier(&mut third)];
    assert_eq!(held(), 1);
    answer(&mut third, xids[1]);
    answer(&mut second, xids[0]);
    assert_eq!(first.packet_out().0, BufferId(1));
    assert_eq!(held(), 0);
    // One answers what it was asked later: what was asked before is done, too. The other is gone before it answers.
    for number in [2, 3] {
        first.packet_in(BufferId(number), &frame(1));
        until("it waits", || held() == u64::from(number) - 1);
    }
    barrier(&mut second);
    let last = barrier(&mut second);
    answer(&mut second, last);
    assert_eq!(held(), 2);
    drop(third);
    assert_eq!([first.packet_out().0, first.packet_out().0], [BufferId(2), BufferId(3)]);
    let passed = controller.staged();
    // Of switch 9, for which each of them waited, there is no answer.
    assert_eq!((passed.held, passed.answered, passed.abandoned, passed.overdue), (0, 0, 3, 0));
}
