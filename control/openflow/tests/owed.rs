//! What a switch is owed, and what its answers to barriers are worth, as a session's bytes show it.

use plait_control_openflow::{
    Actions, Candidacy, Command, Debt, Fields, Flow, Mark, News, Port, Session, SwitchEvent, Version,
};
use plait_model_wire::openflow::{Message, chop, v10, v13};
use std::time::Duration;

const NOW: Duration = Duration::ZERO;

/// A session with a switch of 1.0 that is known.
struct Talk {
    session: Session,
    told: Vec<v10::Message>,
}

impl Talk {
    fn new() -> Self {
        let session = Session::new(Default::default(), "test".to_owned(), NOW, Candidacy::default());
        let mut talk = Self { session, told: Vec::new() };
        talk.says(1, v10::Body::Hello(Default::default()));
        talk.writes();
        let features = v10::Features {
            datapath: 7,
            buffers: 0,
            tables: 1,
            capabilities: v10::switch::Capabilities(0),
            actions: v10::switch::ActionTypes::OUTPUT,
            ports: Vec::new(),
        };
        let news = talk.says(2, v10::Body::Features(features));
        assert!(matches!(news[..], [News::Connected(_)]), "{news:?}");
        talk.writes();
        talk.told.clear();
        talk
    }

    /// The switch says something: what comes of it.
    fn says(&mut self, xid: u32, body: v10::Body) -> Vec<News> {
        let bytes = v10::Message { xid, body }.emit().unwrap();
        self.session.connection.handle_bytes(NOW, &bytes, |_| {});
        std::iter::from_fn(|| self.session.poll_news()).collect()
    }

    /// What waits is written to it.
    fn writes(&mut self) {
        while let Some(bytes) = self.session.connection.poll_transmit().map(<[u8]>::to_vec) {
            self.session.connection.transmitted(bytes.len());
            let mut rest = &bytes[..];
            while let Some((frame, after)) = chop(rest).unwrap() {
                // Our hello names a version that it does not speak.
                if let Message::V10(message) = Message::of(&frame).unwrap() {
                    self.told.push(message);
                }
                rest = after;
            }
        }
    }

    /// The transactions of barriers that it was told since this was asked last.
    fn barriers(&mut self) -> Vec<u32> {
        self.writes();
        let told = std::mem::take(&mut self.told);
        let barriers = told.iter().filter(|message| message.body == v10::Body::BarrierRequest);
        barriers.map(|message| message.xid).collect()
    }
}

fn delete(port: u32) -> Command {
    Command::Flow(Flow::delete(Fields { in_port: Some(Port(port)), ..Fields::ANY }))
}

fn owes(ports: &[u32]) -> Debt {
    let mut debt = Debt::default();
    ports.iter().for_each(|port| debt.add(delete(*port)));
    debt
}

#[test]
fn a_deletion_is_owed_until_the_switch_has_answered_a_barrier_behind_it() {
    let mut talk = Talk::new();
    let add = Command::Flow(Flow::add(1, Fields::ANY, Actions::drop()));
    talk.session.tell(&add).unwrap();
    talk.session.settle();
    assert!(talk.barriers().is_empty(), "nothing is deleted, and nothing asked");
    for port in [1, 2, 1] {
        talk.session.tell(&delete(port)).unwrap();
    }
    talk.session.settle();
    let [first] = talk.barriers()[..] else { panic!("one barrier") };
    // More is deleted before that is answered: one barrier at a time.
    talk.session.tell(&delete(3)).unwrap();
    talk.session.settle();
    assert!(talk.barriers().is_empty());
    assert!(talk.says(first, v10::Body::BarrierReply).is_empty(), "it is nobody else's");
    let [second] = talk.barriers()[..] else { panic!("a barrier behind the rest") };
    let mut lost = Talk::new();
    lost.session.tell(&delete(3)).unwrap();
    assert_eq!(lost.session.take_owed(), owes(&[3]), "whether it was written or not");
    talk.session.tell(&delete(4)).unwrap();
    assert_eq!(talk.session.take_owed(), owes(&[4, 3]));
    // One that knows no barriers is believed, since nobody can know more.
    let mut odd = Talk::new();
    odd.session.tell(&delete(5)).unwrap();
    odd.session.settle();
    let [barrier] = odd.barriers()[..] else { panic!("one barrier") };
    let reason = v10::Reason { kind: 1, code: 1 };
    odd.says(barrier, v10::Body::Error(v10::Error { reason, data: Vec::new() }));
    assert!(odd.session.take_owed().is_empty());
    assert_ne!(first, second);
}

#[test]
fn an_answer_to_a_barrier_that_was_not_asked_yet_is_none() {
    let passed = |news: &[News]| news.iter().filter(|news| matches!(news, News::Passed(_))).count();
    let mut talk = Talk::new();
    // Before there is one, of all that may come next.
    let nothing = (0..200).map(|xid| talk.says(xid, v10::Body::BarrierReply)).all(|news| news.is_empty());
    assert!(nothing, "nobody has asked");
    talk.session.pass(70).unwrap();
    // It waits to be written: whoever answers, or refuses, has guessed.
    for xid in 0..200 {
        assert_eq!(passed(&talk.says(xid, v10::Body::BarrierReply)), 0, "{xid}");
        let refused =
            v10::Body::Error(v10::Error { reason: v10::Reason { kind: 1, code: 1 }, data: Vec::new() });
        let news = talk.says(xid, refused);
        assert!(matches!(news[..], [News::Event(SwitchEvent::Refused(_))]), "{news:?}");
    }
    let [barrier] = talk.barriers()[..] else { panic!("one barrier") };
    for xid in (0..200).filter(|xid| *xid != barrier) {
        assert_eq!(passed(&talk.says(xid, v10::Body::BarrierReply)), 0, "{xid} is not {barrier}");
    }
    assert_eq!(talk.says(barrier, v10::Body::BarrierReply), [News::Passed(70)]);
    assert!(talk.says(barrier, v10::Body::BarrierReply).is_empty(), "once");
    // One that is refused is answered by nobody.
    talk.session.pass(71).unwrap();
    let [barrier] = talk.barriers()[..] else { panic!("one barrier") };
    let refused = v10::Body::Error(v10::Error { reason: v10::Reason { kind: 1, code: 1 }, data: Vec::new() });
    assert_eq!(talk.says(barrier, refused).first(), Some(&News::Unanswered(71)));
}

#[test]
fn what_is_owed_is_each_deletion_once_and_beyond_a_bound_all_flows_of_the_controllers_own() {
    let mut debt = owes(&[1, 2, 1]);
    debt.add(Command::Barrier);
    debt.add(Command::Flow(Flow::add(1, Fields::ANY, Actions::drop())));
    let mark = Mark::of("one");
    assert_eq!(debt.clone().commands(Version::V10, mark), [delete(1), delete(2)]);
    let few = debt.clone();
    (0..10_000).for_each(|port| debt.add(delete(port)));
    for version in Version::ALL {
        assert_eq!(debt.clone().commands(version, mark), [Command::delete_own(version, mark)]);
        let mut joined = few.clone();
        joined.join(debt.clone());
        assert_eq!(joined, Debt::ALL);
    }
    // What is written for one version is nothing to a switch that speaks the other by now.
    let Command::Raw(bytes) = Command::delete_own(Version::V13, mark) else { panic!("it has no words") };
    let mut other = v13::Message::parse(&bytes).unwrap();
    let v13::Body::FlowMod(flow) = &mut other.body else { panic!("{other:?}") };
    assert_eq!((flow.cookie ^ mark.cookie(77)) & flow.cookie_mask, 0);
    assert_ne!((flow.cookie ^ Mark::of("two").cookie(77)) & flow.cookie_mask, 0);
    assert_ne!((flow.cookie ^ 77) & flow.cookie_mask, 0);
    flow.cookie_mask = 0;
    let mut debt = Debt::default();
    debt.add(Command::Raw(other.emit().unwrap()));
    assert_eq!(debt.clone().commands(Version::V13, mark).len(), 1);
    assert_eq!(debt.commands(Version::V10, mark), [Command::delete_own(Version::V10, mark)]);
}
