//! What pools of memory, pinning, sending at once, and another try of who is held gain where nobody makes a load beside the workers.

use super::measure::{BATCH, measure};
use super::{Asked, DESIGNS};
use plait_control_openflow::Batching;
use plait_dataplane_openflow::Config;

type Change = fn(&mut Config);

/// What is switched off, one after the other, behind the whole.
const OFF: [(&str, Change); 4] = [
    ("pools", |config| config.pools = false),
    ("pinning", |config| config.pin = false),
    ("output batching", |config| config.output_batching = false),
    ("another try", |config| config.revisits = false),
];

/// Tells of each design what it answers, and what it gains by each of these: the median of the rounds' gains, the least and the most.
/// A round measures the whole and what lacks something one right after the other, so that both meet the same machine.
pub fn tell(app: &str, switches: usize, asked: &Asked) {
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(asked.most);
    println!("{app}, {switches} switches from memory, {workers} workers, batches of {BATCH}:\n");
    println!("| design | M/s | {} |", OFF.map(|(name, _)| format!("gain by {name}")).join(" | "));
    println!("| --- | ---: |{}", " ---: |".repeat(OFF.len()));
    for (name, design) in DESIGNS {
        let whole = Config {
            design,
            workers,
            batching: Batching::Static(BATCH),
            read: 16 << 10,
            ..Config::default()
        };
        let rate = |config| measure(app, switches, asked.seconds, config).rate;
        let mut rates = Vec::new();
        let mut gains = vec![Vec::new(); OFF.len()];
        for _ in 0..asked.rounds.max(1) {
            for ((_, switch_off), gains) in OFF.iter().zip(&mut gains) {
                let mut without = whole.clone();
                switch_off(&mut without);
                let (with, without) = (rate(whole.clone()), rate(without));
                rates.push(with);
                gains.push((with / without - 1.0) * 100.0);
            }
        }
        let cells: Vec<String> = gains.iter_mut().map(|gains| spread(gains)).collect();
        rates.sort_by(f64::total_cmp);
        println!("| {name} | {:.2} | {} |", rates[rates.len() / 2] / 1e6, cells.join(" | "));
    }
    println!();
}

fn spread(gains: &mut [f64]) -> String {
    gains.sort_by(f64::total_cmp);
    let (median, last) = (gains[gains.len() / 2], gains.len() - 1);
    format!("{median:+.0} % ({:+.0} to {:+.0})", gains[0], gains[last])
}
