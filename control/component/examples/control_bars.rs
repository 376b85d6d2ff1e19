//! Holds what the control runtime costs beside what it runs against its bars: `control_bars [COMPONENT.wasm
//! MANIFEST.json]`, the component of `examples/control/least-delay`. `make bench-control` builds and runs it all.

use plait_control_component::{Limits, Loader};
use plait_control_runtime::*;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Flow requests: who sends to whom.
struct Requests {
    flows: Vec<(u32, u32)>,
}
wit!(struct Requests { flows });
impl View for Requests {
    const NAME: &'static str = "requests";
    const KIND: Kind = Kind::Stream;
}

/// Next hops for them.
struct Answers {
    next_hops: Vec<u32>,
}
wit!(struct Answers { next_hops });
impl View for Answers {
    const NAME: &'static str = "answers";
    const KIND: Kind = Kind::Stream;
}

/// Where each destination is reached.
struct Table {
    next_hops: rpds::HashTrieMapSync<u32, u32>,
}
wit!(struct Table { next_hops });
impl View for Table {
    const NAME: &'static str = "table";
}

struct Threads {
    tasks: Vec<Sender<Task>>,
    finished: Receiver<Finished>,
    next: usize,
    under_way: usize,
}

impl Executor for Threads {
    fn start(&mut self, task: Task) {
        self.next = (self.next + 1) % self.tasks.len();
        self.under_way += 1;
        self.tasks[self.next].send(task).expect("workers outlive the runtime");
    }

    fn finished(&mut self) -> Option<Finished> {
        self.under_way = self.under_way.checked_sub(1)?;
        self.finished.recv().ok()
    }
}

fn bar(name: &str, value: f64, unit: &str, sign: &str, bound: f64) {
    let kept = if sign == ">=" { value >= bound } else { value <= bound };
    println!("bar {name} {value:.1} {unit} {sign} {bound} {}", if kept { "ok" } else { "short" });
}

fn name(text: &str) -> Name {
    text.parse().expect("that is a name")
}

/// A runtime whose flow requests are answered from a table of so many destinations.
fn forwarding(destinations: u32, instances: usize) -> Result<Runtime, Box<dyn std::error::Error>> {
    let mut runtime = Runtime::new(Config::default());
    for view in ["requests", "table"] {
        runtime.grant(&name("switches"), &name(view));
    }
    let outputs = vec![Port::of::<Requests>(), Port::of::<Table>()];
    runtime.add_driver(&name("switches"), Signature { inputs: vec![Port::of::<Answers>()], outputs })?;
    runtime.grant(&name("forward"), &name("answers"));
    let forward = native(|(requests, table): (Arc<Requests>, Arc<Table>)| {
        let next_hop = |(_, to): &(u32, u32)| table.next_hops.get(to).copied().unwrap_or(0);
        Ok((Answers { next_hops: requests.flows.iter().map(next_hop).collect() },))
    });
    let manifest = Manifest::new("forward").reads("~requests@1").reads("table@1").writes("~answers@1");
    runtime.add_application(manifest.parallel(), forward)?;
    let policy = Policy { instances, ..Policy::default() };
    let dag = Dag::chain("forwarding", &["forward"]).on("requests@1").policy(policy);
    runtime.add_dag(Duration::ZERO, dag)?;
    let next_hops = (0..destinations).map(|destination| (destination, destination % 48)).collect();
    let table = Content::new(Table { next_hops });
    runtime.handle_views(Duration::ZERO, &name("switches"), vec![(Table::id(), table)])?;
    Ok(runtime)
}

/// Requests answered in a second, in batches of a size.
fn answered(
    executor: &mut impl Executor,
    instances: usize,
    batch: u32,
) -> Result<f64, Box<dyn std::error::Error>> {
    let mut runtime = forwarding(100_000, instances)?;
    let (began, mut sent) = (Instant::now(), 0u32);
    while began.elapsed() < Duration::from_secs(2) {
        for _ in 0..instances.max(8) {
            let flows = (0..batch).map(|flow| (flow, sent.wrapping_add(flow * 7919) % 100_000)).collect();
            sent = sent.wrapping_add(batch);
            let batch = vec![(Requests::id(), Content::new(Requests { flows }))];
            runtime.handle_views(began.elapsed(), &name("switches"), batch)?;
        }
        runtime.settle(executor, || began.elapsed());
    }
    Ok(f64::from(sent) / began.elapsed().as_secs_f64())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let processor = std::fs::read_to_string("/proc/cpuinfo")?;
    let processor = processor.lines().find_map(|line| line.strip_prefix("model name\t: ")).unwrap_or("?");
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let workers = std::thread::available_parallelism()?.get();
    println!("# Linux {}, {workers} processors, {processor}", kernel.trim());
    bar("requests-one-worker", answered(&mut InPlace::default(), 1, 100)?, "requests/s", ">=", 1e6);
    let one = answered(&mut InPlace::default(), 1, 1)?;
    bar("run", 1e6 / one, "µs", "<=", 20.0);
    std::thread::scope(|scope| {
        let (done, finished) = channel();
        let worker = |_| {
            let (tasks, mine) = channel::<Task>();
            let done = done.clone();
            scope.spawn(move || mine.into_iter().try_for_each(|task| done.send(task.run())));
            tasks
        };
        let tasks = (0..workers).map(worker).collect();
        let mut threads = Threads { tasks, finished, next: 0, under_way: 0 };
        let all = answered(&mut threads, workers, 1000)?;
        bar("requests-all-workers", all, "requests/s", ">=", 1e6);
        Ok::<(), Box<dyn std::error::Error>>(())
    })?;
    if let [_, component, manifest] = &std::env::args().collect::<Vec<_>>()[..] {
        let manifest: Manifest = serde_json::from_slice(&std::fs::read(manifest)?)?;
        let began = Instant::now();
        let loader = Loader::new(Limits::default())?;
        let application = loader.load(&manifest, &std::fs::read(component)?)?;
        bar("component-load", began.elapsed().as_secs_f64() * 1e3, "ms", "<=", 500.0);
        let links = application.signature().inputs[0].clone();
        let mut runtime = Runtime::new(Config::default());
        runtime.grant(&name("ports"), &name("links"));
        runtime.add_driver(&name("ports"), Signature { inputs: vec![], outputs: vec![links.clone()] })?;
        runtime.grant(&manifest.name, &name("routes"));
        runtime.add_application(manifest, application)?;
        runtime.add_dag(Duration::ZERO, Dag::chain("routing", &["least-delay"]).on("links@1"))?;
        for (nodes, bound) in [(3u32, 500.0), (100, 50_000.0)] {
            let (began, mut runs) = (Instant::now(), 0u32);
            while began.elapsed() < Duration::from_secs(1) {
                let link = |node: u32| {
                    let ends = [Value::U32(node), Value::U32((node + 1) % nodes), Value::U64(runs.into())];
                    Value::Record(ends.into())
                };
                let up = Value::Record([Value::List((0..nodes).map(link).collect())].into());
                let changes = vec![(links.view.clone(), Content::plain(up))];
                runtime.handle_views(began.elapsed(), &name("ports"), changes)?;
                for action in runtime.settle(&mut InPlace::default(), || began.elapsed()) {
                    if let Action::Report(Report::Failed { failure, .. }) = action {
                        return Err(failure.into());
                    }
                }
                runs += 1;
            }
            let each = began.elapsed().as_secs_f64() * 1e6 / f64::from(runs);
            bar(&format!("component-run-{nodes}-nodes"), each, "µs", "<=", bound);
        }
    }
    Ok(())
}
