//! Holds the planner against its bars: `paths_bars`.
use plait_control_paths::{Fabric, Plan, Settings};
use plait_model_topology::generate::random_regular_links;
use std::time::Instant;

fn main() {
    for (ports, switches, degree, bound) in [(24usize, 720usize, 19usize, 50.0), (36, 1620, 28, 200.0)] {
        let links = random_regular_links(switches, degree, 1).unwrap();
        let fabric = Fabric::of_links(switches, links.iter().map(|&(a, b)| (a, b, 1)));
        let mut best = f64::MAX;
        for _ in 0..5 {
            let f = fabric.clone();
            let t = Instant::now();
            let plan = Plan::new(Settings::default(), f, 0);
            best = best.min(t.elapsed().as_secs_f64() * 1e3);
            std::hint::black_box(plan.paths(3).len());
        }
        println!("bar plan-{ports} {best:.2} ms <= {bound}");
        let plan = Plan::new(Settings::default(), fabric.clone(), 0);
        let (mut worst, mut sum) = (0f64, 0f64);
        for &(a, b) in links.iter().take(60) {
            let after = fabric.without_links(&[(a, b)]);
            let mut p = plan.clone();
            let t = Instant::now();
            let effort = p.update(after, 0);
            let ms = t.elapsed().as_secs_f64() * 1e3;
            if ms > worst {
                println!("{a}-{b} {effort:?} {ms:.2}");
            }
            worst = worst.max(ms);
            sum += ms;
        }
        println!("incremental worst {worst:.2} mean {:.2}", sum / 60.0);
    }
}
