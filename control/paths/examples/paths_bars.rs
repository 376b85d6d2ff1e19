//! Holds the planner against its bars: `paths_bars`. Eight paths and their relay lists from one switch of a random graph to all
//! others, the sizes of the thesis's E12, with links that cost the same and with costs drawn by lot; the same after a link failed; and
//! what petgraph and networkx take for the paths alone, of which the costs must be the same.

use petgraph::graph::{NodeIndex, UnGraph};
use plait_control_paths::ospf::Lsdb;
use plait_control_paths::{Daemon, DaemonConfig, Fabric, Plan, Settings};
use plait_model_topology::generate::random_regular_links;
use plait_model_topology::random::SplitMix64;
use plait_model_wire::ospf::{Contents, Lsa, LsaKey, RouterLink, RouterLinks};
use std::io::Write;
use std::net::Ipv4Addr;
use std::path::Path;
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
        println!(
            "# from advertisements to operations, after one link failed: {:.3} ms",
            by_lsdb(switches, &links)
        );
        let mut lot = SplitMix64::new(2);
        let costs = links.iter().map(|&(a, b)| (a, b, 1 + lot.below(MOST_COST) as u32));
        held(&Fabric::of_links(switches, costs), &links, &format!("{switches}-costs"), whole);
        rivals(&plan, ports, &links);
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

/// Two advertisements tell that a link is gone: until all operations are there.
fn by_lsdb(switches: usize, links: &[(usize, usize)]) -> f64 {
    let id = |switch: usize| Ipv4Addr::from(0x0a00_0001 + switch as u32);
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
    let mut daemon = Daemon::new(DaemonConfig::new(id(0)));
    daemon.handle_lsdb(&lsdb, Duration::ZERO);
    while daemon.poll_operation().is_some() {}
    let gone = links[links.len() / 2];
    let news = [advertise(gone.0, 2, gone), advertise(gone.1, 2, gone)];
    let started = Instant::now();
    for lsa in news {
        lsdb.offer(lsa, Duration::from_secs(1));
    }
    daemon.handle_lsdb(&lsdb, Duration::from_secs(1));
    let mut operations = 0;
    while daemon.poll_operation().is_some() {
        operations += 1;
    }
    let taken = milliseconds(started);
    println!("# {operations} operations on a table of {} prefixes", daemon.table().sets().count());
    taken
}

fn rivals(plan: &Plan, ports: usize, links: &[(usize, usize)]) {
    let switches = plan.fabric().switches().len();
    let sample: Vec<usize> = (1..switches).step_by(switches / SAMPLE).collect();
    let costs = |to: usize| plan.paths(to).iter().map(|path| path.cost).collect::<Vec<_>>();
    let mut graph = UnGraph::<(), u64>::default();
    for _ in 0..switches {
        graph.add_node(());
    }
    for &(a, b) in links {
        graph.add_edge(NodeIndex::new(a), NodeIndex::new(b), 1);
    }
    // petgraph's gives the cost of the k-th walk only, to all vertices, and walks may have loops: its first is the only one
    // that must be the same, and none can be dearer than the path of its number.
    let started = Instant::now();
    let walks: Vec<_> = (1..=8)
        .map(|k| petgraph::algo::k_shortest_path(&graph, NodeIndex::new(0), None, k, |edge| *edge.weight()))
        .collect();
    println!("# {ports} ports: petgraph, costs alone, of walks, to all: {:.1} ms", milliseconds(started));
    for &to in &sample {
        for (walks, (cost, at)) in walks.iter().zip(costs(to).into_iter().zip(0..)) {
            let walk = walks[&NodeIndex::new(to)];
            assert!(
                if at == 0 { walk == cost } else { walk <= cost },
                "to {to}, path {at}: {walk} and {cost}"
            );
        }
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/shortest_simple_paths.py");
    let mut python = match Command::new("python3")
        .arg(script)
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
    links.iter().for_each(|(a, b)| question += &format!("{a} {b}\n"));
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
        "# {ports} ports: networkx, paths alone: {each:.1} ms a destination, {:.0} ms for all",
        each * (switches - 1) as f64
    );
}
