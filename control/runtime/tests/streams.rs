//! Batches of requests, many workers, and what they learn.

mod support;

use plait_control_runtime::*;
use std::sync::Arc;
use support::*;

/// Packets that switches ask about: who sends to whom.
#[derive(Debug, Clone, PartialEq)]
struct Requests {
    flows: Vec<(u32, u32)>,
}
wit!(struct Requests { flows });
impl View for Requests {
    const NAME: &'static str = "requests";
    const KIND: Kind = Kind::Stream;
}

/// What switches are told: a flow and its port; no port is everywhere.
#[derive(Debug, Clone, PartialEq)]
struct Answers {
    ports: Vec<(u32, Option<u32>)>,
}
wit!(struct Answers { ports });
impl View for Answers {
    const NAME: &'static str = "answers";
    const KIND: Kind = Kind::Stream;
}

/// Stations that were seen.
#[derive(Debug, Clone, PartialEq)]
struct Learned {
    stations: Vec<u32>,
}
wit!(struct Learned { stations });
impl View for Learned {
    const NAME: &'static str = "learned";
    const KIND: Kind = Kind::Stream;
}

/// Where stations are. Here a station's port is its own number.
#[derive(Debug, Clone, PartialEq, Default)]
struct Stations {
    ports: rpds::RedBlackTreeMapSync<u32, u32>,
}
wit!(struct Stations { ports });
impl View for Stations {
    const NAME: &'static str = "stations";
}

/// A learning switch: written as for one thread, run in three instances; what it learns is folded in by one.
fn learning(instances: usize, queue: usize) -> Runtime {
    let mut runtime = Runtime::new(Config::default());
    runtime.grant(&name("switches"), &name("requests"));
    let signature = Signature { inputs: vec![Port::of::<Answers>()], outputs: vec![Port::of::<Requests>()] };
    runtime.add_driver(&name("switches"), signature).unwrap();
    let forward = native(|(requests, stations): (Arc<Requests>, Option<Arc<Stations>>)| {
        let port = |station: &u32| stations.as_ref()?.ports.get(station).copied();
        let answer = |(_, to): &(u32, u32)| (*to, port(to));
        let unknown = requests.flows.iter().map(|(from, _)| *from).filter(|from| port(from).is_none());
        let learned: Vec<u32> = unknown.collect();
        let learned = (!learned.is_empty()).then_some(Learned { stations: learned });
        Ok((Answers { ports: requests.flows.iter().map(answer).collect() }, Perhaps(learned)))
    });
    let manifest = Manifest::new("forward").reads("~requests@1").reads("stations@1?");
    add(&mut runtime, manifest.writes("~answers@1").writes("~learned@1?").parallel(), forward);
    let fold = native(|(learned, stations): (Arc<Learned>, Option<Arc<Stations>>)| {
        let mut stations = stations.map(|stations| (*stations).clone()).unwrap_or_default();
        learned.stations.iter().for_each(|station| stations.ports.insert_mut(*station, *station));
        Ok((stations,))
    });
    let manifest = Manifest::new("fold").reads("~learned@1").reads("stations@1?").writes("stations@1");
    add(&mut runtime, manifest, fold);
    let policy = Policy { instances, queue, ..Policy::default() };
    runtime.add_dag(ms(0), Dag::chain("forwarding", &["forward"]).on("requests@1").policy(policy)).unwrap();
    runtime.add_dag(ms(0), Dag::chain("folding", &["fold"]).on("learned@1")).unwrap();
    runtime
}

fn request(runtime: &mut Runtime, flows: &[(u32, u32)]) -> Result<(), NotTaken> {
    let batch = Content::new(Requests { flows: flows.to_vec() });
    runtime.handle_views(ms(0), &name("switches"), vec![(Requests::id(), batch)])
}

fn answers(actions: &[Action]) -> Vec<(u32, Option<u32>)> {
    let ports = |action: &Action| match action {
        Action::Push(push) if push.view == Answers::id() => push.now.read::<Answers>().unwrap().ports.clone(),
        _ => vec![],
    };
    actions.iter().flat_map(ports).collect()
}

#[test]
fn each_batch_is_answered_once_by_as_many_instances_as_are_allowed() {
    let mut runtime = learning(3, 100);
    for station in 0..5 {
        request(&mut runtime, &[(station, station + 1)]).unwrap();
    }
    let at_once = tasks(&mut runtime);
    assert_eq!(at_once.len(), 3);
    // They may end in any order.
    at_once.into_iter().rev().for_each(|task| runtime.handle_finished(ms(1), task.run()));
    let all: Vec<u32> = answers(&settle(&mut runtime)).into_iter().map(|(to, _)| to).collect();
    assert_eq!(all, [3, 2, 1, 4, 5]);
    assert_eq!(read::<Stations>(&runtime).unwrap().ports.size(), 5, "what every instance learned is kept");
}

#[test]
fn instances_are_stalled_while_what_they_read_changes_and_meet_the_new_state_then() {
    let mut runtime = learning(2, 100);
    request(&mut runtime, &[(1, 2)]).unwrap();
    request(&mut runtime, &[(2, 1)]).unwrap();
    let mut at_once = tasks(&mut runtime);
    runtime.handle_finished(ms(1), at_once.pop_front().unwrap().run());
    // The fold of what the first has learned waits for the second, and is overtaken once at most.
    request(&mut runtime, &[(1, 2)]).unwrap();
    request(&mut runtime, &[(2, 1)]).unwrap();
    let late = tasks(&mut runtime);
    assert_eq!(late.len(), 1);
    runtime.handle_finished(ms(2), at_once.pop_front().unwrap().run());
    assert!(tasks(&mut runtime).is_empty(), "nobody starts that would read what is about to change");
    late.into_iter().for_each(|task| runtime.handle_finished(ms(3), task.run()));
    let fold = tasks(&mut runtime);
    assert_eq!(fold.iter().map(|task| task.application().as_str()).collect::<Vec<_>>(), ["fold"]);
    fold.into_iter().for_each(|task| runtime.handle_finished(ms(4), task.run()));
    let last = answers(&settle(&mut runtime)).pop().unwrap();
    assert_eq!(last, (1, Some(1)), "the last request meets what the first has taught");
}

#[test]
fn a_source_that_asks_more_than_is_answered_is_told_to_wait() {
    let mut runtime = learning(1, 2);
    // One runs and two wait.
    for station in 0..3 {
        request(&mut runtime, &[(station, 9)]).unwrap();
    }
    let full = NotTaken::Full { dag: name("forwarding"), view: Requests::id() };
    assert_eq!(request(&mut runtime, &[(3, 9)]), Err(full));
    settle(&mut runtime);
    request(&mut runtime, &[(3, 9)]).unwrap();
}

/// An application that nobody vouches for holds up nobody else: it loses what it cannot keep up with, alone.
#[test]
fn a_dag_that_drops_slows_no_source_and_takes_nothing_from_others() {
    let mut runtime = learning(1, 100);
    let slow = native(|(requests,): (Arc<Requests>,)| Ok((Notes { count: requests.flows[0].0 },)));
    add(&mut runtime, Manifest::new("slow").reads("~requests@1").writes("~notes@1"), slow);
    let policy = Policy { queue: 2, ..Policy::contained() };
    runtime.add_dag(ms(0), Dag::chain("watching", &["slow"]).on("requests@1").policy(policy)).unwrap();
    let told = Signature { inputs: vec![Port::of::<Notes>()], outputs: vec![] };
    runtime.add_driver(&name("notebook"), told).unwrap();
    for station in 0..6 {
        request(&mut runtime, &[(station, 9)]).unwrap();
    }
    let actions = settle(&mut runtime);
    let all: Vec<_> = answers(&actions).into_iter().map(|(to, _)| to).collect();
    assert_eq!(all, [9; 6], "others get all");
    let noted = |action: &Action| match action {
        Action::Push(push) if push.view == Notes::id() => Some(push.now.read::<Notes>().unwrap().count),
        _ => None,
    };
    assert_eq!(actions.iter().filter_map(noted).collect::<Vec<_>>(), [0, 1, 2], "one ran and two waited");
    let lost = Report::Dropped { dag: name("watching"), view: Requests::id() };
    assert_eq!(reports(actions).into_iter().filter(|report| *report == lost).count(), 3);
}

/// One that fails rests for so many times as long as that took, whatever waits for it.
#[test]
fn who_fails_rests_for_as_long_as_its_policy_says() {
    let mut runtime = learning(1, 100);
    let fails = native(|(_,): (Arc<Requests>,)| -> Result<(Notes,), Failure> {
        Err(Failure::Failed("as always".to_owned()))
    });
    add(&mut runtime, Manifest::new("fails").reads("~requests@1").writes("~notes@1"), fails);
    let dag = Dag::chain("failing", &["fails"]).on("requests@1").policy(Policy::contained());
    runtime.add_dag(ms(0), dag).unwrap();
    let begun = |runtime: &mut Runtime, now: u64| -> usize {
        let (own, others): (Vec<_>, Vec<_>) =
            tasks(runtime).into_iter().partition(|task| task.application().as_str() == "fails");
        others.into_iter().for_each(|task| runtime.handle_finished(ms(now), task.run()));
        let count = own.len();
        own.into_iter().for_each(|task| runtime.handle_finished(ms(now), task.run()));
        count
    };
    for station in 0..3 {
        request(&mut runtime, &[(station, 9)]).unwrap();
    }
    // It takes 20 ms, and rests for nine times as long.
    assert_eq!(begun(&mut runtime, 20), 1);
    assert_eq!(runtime.poll_timeout(), Some(ms(200)));
    runtime.handle_timeout(ms(199));
    assert_eq!(begun(&mut runtime, 199), 0);
    runtime.handle_timeout(ms(200));
    assert_eq!(begun(&mut runtime, 230), 1);
    assert_eq!(runtime.poll_timeout(), Some(ms(500)));
}

#[test]
fn several_instances_write_no_state_and_are_allowed_by_their_manifests() {
    let mut runtime = learning(1, 100);
    let policy = Policy { instances: 2, ..Policy::default() };
    let fault = |runtime: &mut Runtime, dag: Dag| match runtime.add_dag(ms(0), dag) {
        Err(Refused::Dag { fault, .. }) => fault,
        other => panic!("{other:?}"),
    };
    let folding = Dag::chain("folding", &["fold"]).on("learned@1").policy(policy.clone());
    assert_eq!(fault(&mut runtime, folding), DagFault::ParallelState(Stations::id()));
    let alone = native(|(requests,): (Arc<Requests>,)| {
        Ok((Answers { ports: requests.flows.iter().map(|(_, to)| (*to, None)).collect() },))
    });
    add(&mut runtime, Manifest::new("alone").reads("~requests@1").writes("~answers@1"), alone);
    let dag = Dag::chain("flooding", &["alone"]).on("requests@1").policy(policy);
    assert_eq!(fault(&mut runtime, dag), DagFault::NotParallel(name("alone")));
}

/// What is noted of those that were learned.
#[derive(Debug, Clone, PartialEq)]
struct Notes {
    count: u32,
}
wit!(struct Notes { count });
impl View for Notes {
    const NAME: &'static str = "notes";
    const KIND: Kind = Kind::Stream;
}

#[test]
fn where_a_batch_comes_from_goes_with_all_that_it_sets_off() {
    let mut runtime = learning(1, 100);
    let note = native(|(learned,): (Arc<Learned>,)| Ok((Notes { count: learned.stations.len() as u32 },)));
    add(&mut runtime, Manifest::new("note").reads("~learned@1").writes("~notes@1"), note);
    runtime.add_dag(ms(0), Dag::chain("noting", &["note"]).on("learned@1")).unwrap();
    let told = Signature { inputs: vec![Port::of::<Notes>()], outputs: vec![] };
    runtime.add_driver(&name("notebook"), told).unwrap();
    let origins: Vec<_> = (1..=3)
        .map(|batch| Origin { came: ms(batch), handed: ms(10 + batch), size: 100 * batch })
        .map(Some)
        .chain([None])
        .collect();
    for (station, origin) in (0..).zip(&origins) {
        let batch = Content::new(Requests { flows: vec![(station, station)] });
        runtime.handle_batch(ms(20), &name("switches"), (Requests::id(), batch), *origin).unwrap();
    }
    let actions = settle(&mut runtime);
    let of = |view: ViewId| -> Vec<Cause> {
        let cause = |action: &Action| match action {
            Action::Push(push) if push.view == view => Some(push.cause),
            _ => None,
        };
        actions.iter().filter_map(cause).collect()
    };
    // Three of them waited for the first to be done with; of each there is an answer, and a note of what was learned of it.
    let answers = of(Answers::id());
    assert_eq!(answers.iter().map(|cause| cause.origin).collect::<Vec<_>>(), origins);
    assert_eq!(of(Notes::id()), answers);
}
