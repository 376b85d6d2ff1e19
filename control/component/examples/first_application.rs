//! A first control application: links become routes. `first_application` runs the one below;
//! `first_application MANIFEST.json COMPONENT.wasm` puts a component in its place while it runs.

use plait_control_component::{Limits, Loader};
use plait_control_runtime::*;
use std::sync::Arc;
use std::time::{Duration, Instant};

// Two views: what there is, and what is decided. Their WIT types follow from their fields.
struct Link {
    source: u32,
    target: u32,
    delay: Duration,
}
wit!(struct Link { source, target, delay });

struct Links {
    up: Vec<Link>,
}
wit!(struct Links { up });
impl View for Links {
    const NAME: &'static str = "links";
}

struct Route {
    source: u32,
    destination: u32,
    next_hop: u32,
    delay: Duration,
}
wit!(struct Route { source, destination, next_hop, delay });

struct Routes {
    best: Vec<Route>,
}
wit!(struct Routes { best });
impl View for Routes {
    const NAME: &'static str = "routes";
}

// The application: whoever has a link to somebody sends straight over it. What it reads and writes is in its type.
fn straight((links,): (Arc<Links>,)) -> Result<(Routes,), Failure> {
    let route = |link: &Link| Route {
        source: link.source,
        destination: link.target,
        next_hop: link.target,
        delay: link.delay,
    };
    Ok((Routes { best: links.up.iter().map(route).collect() },))
}

// The driver: what happens to links goes in, lines to print come out.
struct Terminal;

impl Driver for Terminal {
    type Event = [(u32, u32, u64); 3];
    type Message = String;

    fn name(&self) -> Name {
        "terminal".parse().expect("that is a name")
    }

    fn signature(&self) -> Signature {
        Signature { inputs: vec![Port::of::<Routes>()], outputs: vec![Port::of::<Links>()] }
    }

    fn observe(&mut self, measured: Self::Event, _: &Snapshot) -> Vec<(ViewId, Content)> {
        let link = |(source, target, milliseconds)| Link {
            source,
            target,
            delay: Duration::from_millis(milliseconds),
        };
        vec![(Links::id(), Content::new(Links { up: measured.map(link).into() }))]
    }

    fn push(&mut self, _: &ViewId, _: Option<&Content>, now: &Content) -> Vec<String> {
        let routes = now.read::<Routes>().expect("the runtime has checked its type");
        let line = |route: &Route| {
            let Route { source, destination, next_hop, delay } = route;
            format!("  {source} reaches {destination} by {next_hop} in {delay:?}")
        };
        routes.best.iter().map(line).collect()
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let began = Instant::now();
    let mut runtime = Runtime::new(Config::default());
    let mut terminal = Terminal;

    // Who may write what is said by whoever runs it, not by what is run.
    runtime.grant(&terminal.name(), &"links".parse()?);
    runtime.add_driver(&terminal.name(), terminal.signature())?;
    let manifest = Manifest::new("least-delay").reads("links@1").writes("routes@1");
    runtime.grant(&manifest.name, &"routes".parse()?);
    runtime.add_application(manifest, native(straight))?;
    runtime.add_dag(began.elapsed(), Dag::chain("routing", &["least-delay"]).on("links@1"))?;

    let mut measure = |runtime: &mut Runtime, milliseconds| {
        println!("1 to 2 takes {milliseconds} ms:");
        let links = [(1, 2, milliseconds), (2, 3, 10), (1, 3, 50)];
        runtime.observe(began.elapsed(), &mut terminal, links)?;
        for action in runtime.settle(&mut InPlace::default(), || began.elapsed()) {
            match action {
                Action::Push(Push { view, before, now, .. }) => {
                    terminal.push(&view, before.as_ref(), &now).iter().for_each(|line| println!("{line}"));
                }
                Action::Report(report @ Report::Failed { .. }) => println!("  {report:?}"),
                _ => {}
            }
        }
        Ok::<(), NotTaken>(())
    };
    measure(&mut runtime, 10)?;
    if let [_, manifest, component] = &std::env::args().collect::<Vec<_>>()[..] {
        let manifest: Manifest = serde_json::from_slice(&std::fs::read(manifest)?)?;
        let application = Loader::new(Limits::default())?.load(&manifest, &std::fs::read(component)?)?;
        runtime.add_application(manifest, application)?;
        measure(&mut runtime, 20)?;
        measure(&mut runtime, 60)?;
    }
    Ok(())
}
