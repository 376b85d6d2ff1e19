//! Conditions as one short line for people: `10Mbit 20ms loss 1% queue 50ms`.

use super::{Conditions, Discipline, Distribution, Loss, Queue, Rate};
use plait_model_quantity::{Probability, TimeSpan};
use std::fmt;

impl fmt::Display for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words: Vec<String> = Vec::new();
        match &self.rate {
            Rate::Unlimited => {}
            Rate::Constant(rate) => words.push(rate.to_string()),
            Rate::Trace(trace) => words.push(format!("trace of {} rates", trace.steps().len())),
        }
        if self.delay != TimeSpan::ZERO {
            words.push(self.delay.to_string());
        }
        if let Some(jitter) = &self.jitter {
            words.push(match &jitter.distribution {
                Distribution::Uniform(spread) => format!("jitter {spread}"),
                Distribution::Normal(spread) => format!("jitter {spread} normal"),
                Distribution::Pareto(spread) => format!("jitter {spread} pareto"),
                Distribution::Samples(samples) => format!("jitter from {} samples", samples.len()),
            });
            if jitter.overtake {
                words.push("overtaking".to_owned());
            }
        }
        match &self.loss {
            Loss::None => {}
            Loss::Independent(share) => words.push(format!("loss {share}")),
            Loss::GilbertElliott(chain) => words.push(format!("loss in bursts p {} r {}", chain.p, chain.r)),
            Loss::Packets(packets) => words.push(format!("loss of {} listed packets", packets.len())),
        }
        for (name, share) in
            [("reorder", self.reorder), ("duplicate", self.duplicate), ("corrupt", self.corrupt)]
        {
            if share != Probability::ZERO {
                words.push(format!("{name} {share}"));
            }
        }
        if self.rate != Rate::Unlimited {
            words.push(format!("queue {}", self.queue));
        }
        if words.is_empty() { f.write_str("unimpaired") } else { f.write_str(&words.join(" ")) }
    }
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.limit.fmt(f)?;
        match self.discipline {
            Discipline::DropTail => Ok(()),
            Discipline::Red(red) => f.write_str(if red.ecn { " red ecn" } else { " red" }),
            Discipline::Codel { ecn, .. } => f.write_str(if ecn { " codel ecn" } else { " codel" }),
        }
    }
}
