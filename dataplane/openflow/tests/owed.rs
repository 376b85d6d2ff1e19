//! What a switch is to delete that is away, or goes before it has.

mod support;

use plait_control_openflow::{Command, Commands, Fields, Flow, Port, Version};
use plait_dataplane_openflow::{Config, Controller};
use plait_model_wire::openflow::{BufferId, Message, v10, v13};
use support::{Client, frame, runtime_of, start_with, until};

/// Whoever asks has switch 2 delete the flows of a port, and gets the packet back.
fn controller() -> Controller {
    let deletes = |packets: std::sync::Arc<plait_control_openflow::PacketIns>| {
        let (mut commands,) = support::hub((packets.clone(),))?;
        for packet in packets.iter().filter(|packet| packet.switch == 1) {
            let fields = Fields { in_port: Some(Port(packet.buffer.unwrap_or(0))), ..Fields::ANY };
            commands.push(2, Command::Flow(Flow::delete(fields)));
        }
        Ok((commands,)) as Result<(Commands,), _>
    };
    start_with(Config { workers: 2, ..Config::default() }, runtime_of(move |(packets,)| deletes(packets)))
}

/// What a switch is told until a packet of its own is answered: ports whose flows it is to delete, `None` where it is to add one;
/// and the last barrier.
fn told(client: &mut Client) -> (Vec<Option<u32>>, Option<u32>) {
    client.packet_in(BufferId(1), &frame(1));
    let (mut flows, mut barrier) = (Vec::new(), None);
    loop {
        match client.next().expect("the controller ended the connection") {
            Message::V10(v10::Message { body: v10::Body::FlowMod(flow), .. }) => {
                let deletes = flow.command == v10::flow_mod::FlowModCommand::DELETE;
                flows.push(deletes.then_some(flow.flow_match.in_port.0.into()));
            }
            Message::V13(v13::Message { body: v13::Body::FlowMod(flow), .. }) if flow.priority > 0 => {
                flows.push(None);
            }
            Message::V13(v13::Message { body: v13::Body::FlowMod(flow), .. })
                if flow.command == v13::flow_mod::FlowModCommand::DELETE =>
            {
                flows.push(flow.flow_match.fields().iter().find_map(|field| match field {
                    v13::oxm::Oxm::InPort(port) => Some(port.value.0),
                    _ => None,
                }));
            }
            Message::V10(v10::Message { xid, body: v10::Body::BarrierRequest })
            | Message::V13(v13::Message { xid, body: v13::Body::BarrierRequest }) => barrier = Some(xid),
            Message::V10(v10::Message { body: v10::Body::PacketOut(_), .. })
            | Message::V13(v13::Message { body: v13::Body::PacketOut(_), .. }) => return (flows, barrier),
            _ => {}
        }
    }
}

#[test]
fn what_a_switch_missed_is_the_first_that_it_is_told_and_it_is_owed_until_it_is_done() {
    for version in Version::ALL {
        let controller = controller();
        let mut asks = Client::connect(&controller, Version::V13, 1);
        let mut away = Client::connect(&controller, version, 2);
        until("both are known", || controller.switches().len() == 2);
        assert_eq!(told(&mut away), (vec![None], None), "nothing is owed");
        let is_there = || controller.switches()[&2].connected;
        let go = |away: Client| {
            drop(away);
            until("it is gone", || !is_there());
        };
        go(away);
        let owed = || controller.statistics().iter().map(|worker| worker.owed).sum::<u64>();
        for (number, kept) in [(4, 1), (5, 2), (4, 3)] {
            asks.packet_in(BufferId(number), &frame(1));
            asks.packet_out();
            until("it is kept", || owed() == kept);
        }
        let undone: u64 = controller.statistics().iter().map(|worker| worker.undone).sum();
        assert_eq!(undone, 0);
        // It is gone again before it says that it has done so.
        for _ in 0..2 {
            let mut back = Client::connect(&controller, version, 2);
            until("it is there", is_there);
            let (flows, barrier) = told(&mut back);
            assert_eq!(flows, [Some(4), Some(5), None], "{version:?}");
            assert!(barrier.is_some());
            go(back);
        }
        // It says so. What it is to delete while it is there is owed to it as well.
        let mut back = Client::connect(&controller, version, 2);
        until("it is there", is_there);
        let (_, barrier) = told(&mut back);
        back.say(barrier.unwrap(), v10::Body::BarrierReply, v13::Body::BarrierReply);
        assert_eq!(told(&mut back), (vec![None], None));
        asks.packet_in(BufferId(6), &frame(1));
        asks.packet_out();
        until("it is told", || told(&mut back).0.contains(&Some(6)));
        go(back);
        let mut back = Client::connect(&controller, version, 2);
        until("it is there", is_there);
        let (flows, barrier) = told(&mut back);
        assert_eq!(flows, [Some(6), None], "{version:?}");
        back.say(barrier.unwrap(), v10::Body::BarrierReply, v13::Body::BarrierReply);
        assert_eq!(told(&mut back), (vec![None], None));
        go(back);
        let mut back = Client::connect(&controller, version, 2);
        until("it is there", is_there);
        assert_eq!(told(&mut back), (vec![None], None), "nothing is owed any more");
    }
}
