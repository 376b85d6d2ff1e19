//! Holds the planner against its bars: `paths_bars`. Eight paths and their relay lists from one switch of a random graph to all
//! others, the sizes of the thesis's E12, with links that cost the same and with costs drawn by lot; the same after a link failed; and
//! what petgraph and networkx take for the paths alone, whose costs must be the same.

use petgraph::graph::{NodeIndex, UnGraph};
use plait_control_paths::ospf::Lsdb;
use plait_control_paths::{Daemon, DaemonConfig, Fabric, Iplbd, Plan, Settings};
use plait_model_topology::generate::random_regular_links;
use plait_model_topology::random::SplitMix64;
use plait_model_wire::ospf::{Contents, Lsa, LsaKey, RouterLink, RouterLinks};
use std::io::Write;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Destinations that the others are asked for: they are slow.
const SAMPLE: usize = 12;

fn bar(name: &str, milliseconds: f64, bound: f64) {
    line("bar", name, milliseconds, bound);
}

fn line(kind: &str, name: &str, milliseconds: f64, bound: f64) {
    let held = if milliseconds <= bound { "ok" } else { "short" };
    println!("{kind} {name} {milliseconds:.3} ms <= {bound} {held}");
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Computes a plan, as the median of nine times; milliseconds.
fn planned(fabric: &Fabric) -> (f64, Plan) {
    let mut plan = Plan::new(Settings::default(), fabric.clone(), 0);
    let mut times: Vec<f64> = (0..9)
        .map(|_| {
            let again = fabric.clone();
            let started = Instant::now();
            plan = Plan::new(Settings::default(), again, 0);
            milliseconds(started)
        })
        .collect();
    (median(&mut times), plan)
}

fn main() {
    // The thesis's smaller sizes, for which there is no bar.
    for (ports, switches, degree) in [(8, 80, 6), (16, 320, 12)] {
        let links = random_regular_links(switches, degree, 1).expect("such graphs there are");
        let (whole, _) = planned(&Fabric::of_links(switches, links.iter().map(|&(a, b)| (a, b, 1))));
        println!("# {ports} ports, {switches} switches: {whole:.2} ms");
    }
    for (ports, switches, degree, whole) in [(24, 720, 19, 50.0), (36, 1620, 28, 200.0)] {
        let links = random_regular_links(switches, degree, 1).expect("such graphs there are");
        let alike = Fabric::of_links(switches, links.iter().map(|&(a, b)| (a, b, 1)));
        let plan = held(&alike, &links, &switches.to_string(), whole);
        learnt(switches, &links, whole);
        rivals(&plan, &format!("{ports} ports"), &links, &vec![1; links.len()]);
        let mut lot = SplitMix64::new(2);
        let costs: Vec<u32> = links.iter().map(|_| 1 + lot.below(MOST_COST) as u32).collect();
        let dear = links.iter().zip(&costs).map(|(&(a, b), &cost)| (a, b, cost));
        let plan = held(&Fabric::of_links(switches, dear), &links, &format!("{switches}-costs"), whole);
        rivals(&plan, &format!("{ports} ports, costs"), &links, &costs);
    }
}

/// Where links cost differently, each costs up to so much.
const MOST_COST: usize = 10;

/// Holds a plan for a fabric, and what a link's failure takes, against the bar of the whole and a tenth of it.
fn held(fabric: &Fabric, links: &[(usize, usize)], name: &str, whole: f64) -> Plan {
    let (taken, plan) = planned(fabric);
    bar(&format!("plan-{name}"), taken, whole);
    // A link of the source itself, which most paths that are lost went along; and others, taken in even distances.
    let own = links.iter().filter(|(a, b)| *a == 0 || *b == 0).copied();
    let others = links.iter().step_by(links.len() / 100).filter(|(a, b)| *a != 0 && *b != 0).copied();
    for (whose, links) in [("own-link", own.collect::<Vec<_>>()), ("link", others.collect())] {
        let mut searched = 0;
        let mut times: Vec<f64> = links
            .iter()
            .map(|&link| {
                let after = fabric.without_links(&[link]);
                let mut plan = plan.clone();
                let started = Instant::now();
                searched += plan.update(after, 0).searched;
                milliseconds(started)
            })
            .collect();
        let mean = searched / links.len();
        let slowest = times.iter().copied().fold(0.0, f64::max);
        println!(
            "# of {} failures one by one: {mean} destinations searched anew on average; the slowest took {slowest:.2} ms",
            links.len()
        );
        // Where costs differ, paths to a good part of all destinations went along one of the switch's own links.
        let kind = if name.ends_with("costs") && whose == "own-link" { "goal" } else { "bar" };
        line(kind, &format!("{whose}-failure-{name}"), median(&mut times), whole / 10.0);
    }
    plan
}

/// Two advertisements tell that a link is gone: until all operations are there, as the median over links; milliseconds. `learn` takes
/// what advertisements say at an instant, does what is due before that, and counts its operations.
fn by_lsdb(
    switches: usize,
    links: &[(usize, usize)],
    mut learn: impl FnMut(&Lsdb, Duration) -> usize,
) -> f64 {
    let id = |switch: usize| Ipv4Addr::from(FIRST_SWITCH + switch as u32);
    let advertise = |switch: usize, sequence: i32, without: (usize, usize)| {
        let mut of = vec![
            RouterLink::Stub { network: id(switch), mask: [255; 4].into(), metric: 0 },
            RouterLink::Stub {
                network: Ipv4Addr::from(0xac10_0000 + 256 * switch as u32),
                mask: [255, 255, 255, 0].into(),
                metric: 1,
            },
        ];
        for &(a, b) in links.iter().filter(|&&link| link != without) {
            let neighbor = if a == switch { b } else { a };
            if a == switch || b == switch {
                of.push(RouterLink::PointToPoint { neighbor: id(neighbor), own: id(switch), metric: 1 });
            }
        }
        let key = LsaKey { kind: 1, id: id(switch), router: id(switch) };
        Lsa::new(1, 2, key, sequence, &Contents::Router(RouterLinks { bits: 0, links: of }))
    };
    let nothing = (usize::MAX, usize::MAX);
    let mut lsdb = Lsdb::default();
    (0..switches).for_each(|switch| drop(lsdb.offer(advertise(switch, 1, nothing), Duration::ZERO)));
    learn(&lsdb, Duration::ZERO);
    let (mut sequence, mut now, mut operations) = (1, Duration::ZERO, 0);
    let mut offer = |lsdb: &mut Lsdb, gone: (usize, usize), without: (usize, usize)| {
        sequence += 1;
        now += Duration::from_secs(10);
        let news = [gone.0, gone.1].map(|switch| advertise(switch, sequence, without));
        // What is due by then is of the change before.
        learn(lsdb, now);
        let started = Instant::now();
        for lsa in news {
            lsdb.offer(lsa, now);
        }
        let count = learn(lsdb, now);
        (milliseconds(started), count)
    };
    let mut times = Vec::new();
    for &gone in links.iter().step_by(links.len() / 40) {
        let (taken, count) = offer(&mut lsdb, gone, gone);
        operations += count;
        times.push(taken);
        offer(&mut lsdb, gone, nothing);
    }
    println!("# {} failures told by advertisements, {operations} operations", times.len());
    median(&mut times)
}

/// The first of all switches; the host is behind it.
const FIRST_SWITCH: u32 = 0x0a00_0001;

/// What the planner alone takes from advertisements to operations, and what a host's agent does: on a control runtime, with lists
/// that stay until switches have followed.
fn learnt(switches: usize, links: &[(usize, usize)], whole: f64) {
    let access = Ipv4Addr::from(FIRST_SWITCH);
    let mut daemon = Daemon::new(DaemonConfig::new(access));
    let planner = by_lsdb(switches, links, |lsdb, now| {
        daemon.handle_lsdb(lsdb, now);
        std::iter::from_fn(|| daemon.poll_operation()).count()
    });
    println!("# the planner alone: {planner:.3} ms");
    let mut iplbd = Iplbd::new(Settings::default(), DaemonConfig::PAUSE, false).settling(Iplbd::SETTLING);
    let agent = by_lsdb(switches, links, |lsdb, now| {
        iplbd.handle_timeout(now);
        iplbd.handle_access(access, now);
        iplbd.handle_lsdb(lsdb, now);
        std::iter::from_fn(|| iplbd.poll_operation()).count()
    });
    bar(&format!("iplbd-failure-{switches}"), agent, whole / 10.0);
}

fn rivals(plan: &Plan, name: &str, links: &[(usize, usize)], link_costs: &[u32]) {
    let switches = plan.fabric().switches().len();
    let sample: Vec<usize> = (1..switches).step_by(switches / SAMPLE).collect();
    let costs = |to: usize| plan.paths(to).iter().map(|path| path.cost).collect::<Vec<_>>();
    let mut graph = UnGraph::<(), u64>::default();
    for _ in 0..switches {
        graph.add_node(());
    }
    for (&(a, b), &cost) in links.iter().zip(link_costs) {
        graph.add_edge(NodeIndex::new(a), NodeIndex::new(b), u64::from(cost));
    }
    // petgraph's gives the cost of the k-th walk only, to all vertices, and walks may have loops: its first is the only one
    // that must be the same, and none can be dearer than the path of its number.
    let started = Instant::now();
    let walks: Vec<_> = (1..=8)
        .map(|k| petgraph::algo::k_shortest_path(&graph, NodeIndex::new(0), None, k, |edge| *edge.weight()))
        .collect();
    println!("# {name}: petgraph, costs alone, of walks, to all: {:.1} ms", milliseconds(started));
    for &to in &sample {
        for (walks, (cost, at)) in walks.iter().zip(costs(to).into_iter().zip(0..)) {
            let walk = walks[&NodeIndex::new(to)];
            assert!(
                if at == 0 { walk == cost } else { walk <= cost },
                "to {to}, path {at}: {walk} and {cost}"
            );
        }
    }
    let mut python = match Command::new("python3")
        .args(["-c", include_str!("shortest_simple_paths.py")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
    {
        Ok(python) => python,
        Err(error) => return println!("# networkx was not asked: {error}"),
    };
    let mut question =
        format!("8 0\n{}\n", sample.iter().map(usize::to_string).collect::<Vec<_>>().join(" "));
    for ((a, b), cost) in links.iter().zip(link_costs) {
        question += &format!("{a} {b} {cost}\n");
    }
    // Without networkx it ends before it has read.
    let asked = python.stdin.take().is_some_and(|mut input| input.write_all(question.as_bytes()).is_ok());
    let answer = python.wait_with_output().ok().filter(|answer| asked && answer.status.success());
    let Some(answer) = answer else {
        return println!("# networkx was not asked: it is not there (python3-networkx)");
    };
    let answer = String::from_utf8_lossy(&answer.stdout).into_owned();
    let mut lines = answer.lines();
    let seconds: f64 = lines.next().and_then(|line| line.parse().ok()).expect("it says how long it took");
    for (&to, line) in sample.iter().zip(lines) {
        let theirs: Vec<u64> = line.split_whitespace().map(|cost| cost.parse().expect("a cost")).collect();
        assert_eq!(theirs, costs(to), "costs of the paths to {to}");
    }
    let each = seconds * 1e3 / sample.len() as f64;
    println!(
        "# {name}: networkx, paths alone: {each:.1} ms a destination, {:.0} ms for all",
        each * (switches - 1) as f64
    );
}
