//! Measuring links against their request.

use super::Supervisor;
use super::names::resolve;
use crate::kernel::files::Doing;
use crate::plan::{LinkState, Realisation};
use plait_dataplane_links::probe::{Allowance, At, Measured, Path};
use plait_model_link::{Conditions, Loss, Rate, tbf_burst};
use plait_model_quantity::{ByteCount, Probability, TimeSpan};
use serde_json::{Value, json};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, PoisonError};

/// How much is measured: enough for a look, or enough for the published accuracy.
struct Effort {
    delays: u64,
    losses: u64,
}

/// One-way delay may miss by this much in its mean: a twentieth of a millisecond, or a hundredth of the delay.
fn delay_tolerance(delay: TimeSpan) -> TimeSpan {
    TimeSpan::from_nanos((delay.as_nanos() / 100).max(50_000))
}

impl Supervisor {
    /// Measures both directions of a link: delay, loss, rate and queue, each where it was asked for. Packet numbers
    /// and counters of the link start afresh afterwards, so that a run does not depend on whether it was measured.
    pub(super) fn check(&self, name: &str, thorough: bool) -> io::Result<Value> {
        // Two at once would measure each other.
        let _one_at_a_time = self.checking.lock().unwrap_or_else(PoisonError::into_inner);
        let (name, link, networks, engine) = {
            let builder = self.builder();
            let (name, _) = resolve(&builder.state, name)?;
            let link = builder.state.links[&name].clone();
            let network = |end: usize| Ok::<_, io::Error>(builder.known(&link.ends[end].0)?.network.clone());
            let networks: [Arc<OwnedFd>; 2] = [network(0)?, network(1)?];
            let engine = builder.engine().cloned().zip(builder.engine_link(&name));
            (name, link, networks, engine)
        };
        let effort = if thorough {
            Effort { delays: 10_000, losses: 100_000 }
        } else {
            Effort { delays: 300, losses: 3_000 }
        };
        let mut directions = Vec::new();
        for direction in 0..2 {
            let at = |end: usize| At { namespace: networks[end].as_fd(), ifname: &link.ends[end].1 };
            let mut path = Path::open(at(direction), at(1 - direction)).doing(|| format!("probe {name}"))?;
            let from = format!("{}:{}", link.ends[direction].0, link.ends[direction].1);
            let measured = measure(&mut path, &link, direction, &effort, thorough)
                .doing(|| format!("measure {name} from {from}"))?;
            directions.push(json!({
                "from": from,
                "to": format!("{}:{}", link.ends[1 - direction].0, link.ends[1 - direction].1),
                "asked": link.conditions[direction].to_string(),
                "burst": burst(&link, direction),
                // Nothing measured is not the same as all well.
                "within": (!measured.is_empty()).then(|| measured.iter().all(|measured| measured.within)),
                "measured": measured,
            }));
        }
        if let Some((engine, id)) = engine {
            engine.reset(id)?;
        }
        tracing::info!(link = name, "measured");
        Ok(json!({ "link": name, "realisation": link.realisation, "directions": directions }))
    }
}

/// What may leave back to back where the kernel's token bucket shapes a direction; the engine needs no burst.
fn burst(link: &LinkState, direction: usize) -> Option<ByteCount> {
    match (link.realisation, &link.conditions[direction].rate) {
        (Realisation::Kernel, Rate::Constant(rate)) => {
            Some(tbf_burst(*rate, link.conditions[direction].queue.frame))
        }
        _ => None,
    }
}

fn measure(
    path: &mut Path,
    link: &LinkState,
    direction: usize,
    effort: &Effort,
    thorough: bool,
) -> io::Result<Vec<Measured>> {
    let conditions = &link.conditions[direction];
    let frame = link.mtu.unwrap_or(1500) as usize + 14;
    let mut measured = Vec::new();
    let rate = match conditions.rate {
        Rate::Constant(rate) => Some(rate),
        Rate::Unlimited | Rate::Trace(_) => None,
    };
    // A short frame takes its own time to send, which is not the link's delay.
    let serialisation = rate.map_or(TimeSpan::ZERO, |rate| rate.time_for(ByteCount::new(64)));
    let spacing = TimeSpan::from_nanos((2 * serialisation.as_nanos()).clamp(1_000_000, 50_000_000));
    let asks_delay = conditions.delay.as_nanos() > 0 || matches!(link.realisation, Realisation::Engine(_));
    if conditions.delay_varies() {
        measured.extend(measure_spread(path, conditions, serialisation, effort, thorough)?);
    } else if asks_delay {
        let asked = TimeSpan::from_nanos(conditions.delay.as_nanos() + serialisation.as_nanos());
        // At most a few seconds for a slow link, unless all of it was asked for.
        let most = if thorough { u64::MAX } else { 2_000_000_000 / spacing.as_nanos() };
        measured.push(path.measure_delay(
            asked,
            effort.delays.min(most).max(30),
            spacing,
            delay_tolerance(asked),
        )?);
    }
    if let Some(share) = expected_loss(conditions) {
        let spacing = TimeSpan::from_nanos((2 * serialisation.as_nanos()).max(100_000));
        let most = if thorough { u64::MAX } else { 3_000_000_000 / spacing.as_nanos() };
        measured.push(path.measure_loss(
            share,
            memory(conditions),
            effort.losses.min(most).max(100),
            spacing,
            conditions.delay,
        )?);
    }
    if let Some(rate) = rate {
        // Loss thins what arrives, so the rate that is left is what can be asked for.
        let left = 1.0 - expected_loss(conditions).map_or(0.0, Probability::value);
        if left > 0.999 {
            let tolerance = if rate.bits_per_second() >= 1_000_000_000 { 0.03 } else { 0.01 };
            measured.push(path.measure_rate(rate, conditions.delay, frame, tolerance)?);
            if let (Some((limit, _)), true) =
                (conditions.queue_bytes(), thorough || rate.bits_per_second() >= 1_000_000)
            {
                measured.push(path.measure_queue_depth(
                    rate.time_for(limit),
                    rate,
                    conditions.delay,
                    frame,
                )?);
            }
        }
    }
    Ok(measured)
}

/// Delay that varies, with probes far enough apart not to meet.
fn measure_spread(
    path: &mut Path,
    conditions: &Conditions,
    serialisation: TimeSpan,
    effort: &Effort,
    thorough: bool,
) -> io::Result<[Measured; 2]> {
    let asked = conditions.delays();
    // Probes that overtake or catch up with each other would wait at the rate: one in twenty may be there.
    let apart = 20 * serialisation.as_nanos();
    let spacing = TimeSpan::from_nanos((asked.spacing() as u64).max(apart).max(1_000_000));
    // A look takes a few seconds, the published accuracy a minute.
    let time = if thorough { 60_000_000_000 } else { 3_000_000_000 };
    let count = effort.delays.min(time / spacing.as_nanos()).max(30);
    let tolerance = delay_tolerance(TimeSpan::from_nanos(asked.mean() as u64));
    path.measure_spread(&asked, Allowance { serialisation, tolerance }, count, spacing)
}

/// How much a packet's fate depends on that of the one before.
fn memory(conditions: &Conditions) -> f64 {
    match &conditions.loss {
        Loss::GilbertElliott(chain) => 1.0 - chain.p.value() - chain.r.value(),
        Loss::None | Loss::Independent(_) | Loss::Packets(_) => 0.0,
    }
}

/// The share of packets that a link shall lose, where it is a share.
fn expected_loss(conditions: &Conditions) -> Option<Probability> {
    match &conditions.loss {
        Loss::None | Loss::Packets(_) => None,
        Loss::Independent(share) => Some(*share),
        Loss::GilbertElliott(chain) => {
            // The stationary share of the bad state is p / (p + r).
            let (p, r) = (chain.p.value(), chain.r.value());
            let bad = if p + r > 0.0 { p / (p + r) } else { 0.0 };
            Probability::new(bad * chain.bad_loss.value() + (1.0 - bad) * chain.good_loss.value())
        }
    }
}
