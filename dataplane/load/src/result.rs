//! What a load came to. [`Measured`] of several processes or machines add up; a [`Report`] says what they mean.

use crate::latency::{Latency, Percentiles};
use plait_control_openflow::max_min;
use serde::{Deserialize, Serialize};

/// What was measured; it can be written as JSON, read again and merged.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Measured {
    /// Nanoseconds during which requests were due.
    pub duration: u64,
    /// Whole seconds of them, at the beginning, that shares leave out.
    #[serde(default)]
    pub settle: u64,
    /// Each switch.
    pub switches: Vec<SwitchMeasured>,
    /// Latencies of all answers but the prober's, in nanoseconds.
    pub latency: Latency,
    /// How long after they were due requests were made: what the load itself, or a connection that took no more, added.
    pub lag: Latency,
    /// The prober's latencies.
    pub probe_latency: Latency,
    /// The machines.
    pub hosts: Vec<Host>,
}

/// A machine while the load ran on it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// The share of its processors' time that was stolen by the host under it.
    pub steal: f64,
    /// The share that was not idle.
    pub busy: f64,
}

/// What was measured of one switch.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SwitchMeasured {
    /// Which.
    pub datapath: u64,
    /// Of wire protocol 1 or 4.
    pub version: u8,
    /// Whether it is a probing switch, which has no part in totals and shares.
    pub is_probe: bool,
    /// Mean requests a second that it offered; nothing of a closed loop, which offers what is taken.
    pub rate: Option<f64>,
    /// Requests that were due.
    pub offered: u64,
    /// Those of them that the controller could have had: all if its connection was full in the end, those that were made
    /// otherwise.
    pub wanted: u64,
    /// Requests that were made and handed to its connection.
    pub sent: u64,
    /// Answered until the end.
    pub answered: u64,
    /// Answered after it.
    pub late: u64,
    /// Never answered.
    pub unanswered: u64,
    /// Further messages that named a request.
    pub more: u64,
    /// Flows and packets that named none.
    pub unasked: u64,
    /// Stations that brought no answer before the start.
    pub untold: u64,
    /// Errors of the controller.
    pub errors: u64,
    /// Messages of the controller that were refused.
    pub refused: u64,
    /// Why its connection ended, if it did.
    pub disconnected: Option<String>,
    /// Requests due, by second.
    pub offered_by_second: Vec<u32>,
    /// Requests sent, by second.
    pub sent_by_second: Vec<u32>,
    /// Answers, by second.
    pub answered_by_second: Vec<u32>,
}

impl Measured {
    /// Adds what another process measured in the same seconds.
    pub fn merge(&mut self, other: Self) {
        self.duration = self.duration.max(other.duration);
        self.settle = self.settle.max(other.settle);
        self.switches.extend(other.switches);
        self.latency.merge(&other.latency);
        self.lag.merge(&other.lag);
        self.probe_latency.merge(&other.probe_latency);
        self.hosts.extend(other.hosts);
    }

    /// What it means.
    pub fn report(&self) -> Report {
        let (probes, switches): (Vec<_>, Vec<_>) = self.switches.iter().partition(|switch| switch.is_probe);
        let seconds = self.duration as f64 / 1e9;
        let settled_seconds = seconds - self.settle as f64;
        let sum = |of: fn(&SwitchMeasured) -> u64| switches.iter().map(|switch| of(switch)).sum::<u64>();
        let answered = sum(|switch| switch.answered);
        // What waited when they began is asked for in the seconds that count, beside what becomes due in them.
        let asked = |switch: &SwitchMeasured| switch.wanted.saturating_sub(self.early(switch)) as f64;
        let offers: Vec<(f64, f64)> = switches
            .iter()
            .map(|switch| (switch.rate.map_or(f64::INFINITY, |_| asked(switch) / settled_seconds), 1.0))
            .collect();
        let got = |switch: &SwitchMeasured| switch.answered.saturating_sub(self.early(switch)) as f64;
        let settled: Vec<f64> = switches.iter().map(|switch| got(switch) / settled_seconds).collect();
        let fair = max_min(&offers, settled.iter().sum());
        let shares: Vec<Share> = switches
            .iter()
            .zip(fair.iter().zip(settled))
            .map(|(switch, (fair, got))| Share {
                datapath: switch.datapath,
                offered: switch.offered as f64 / seconds,
                sent: switch.sent as f64 / seconds,
                answered: got,
                max_min: *fair,
                deviation: if *fair > 0.0 { got / fair - 1.0 } else { 0.0 },
            })
            .collect();
        let mut deviations: Vec<f64> =
            shares.iter().filter(|share| share.max_min > 0.0).map(|share| share.deviation).collect();
        deviations.sort_unstable_by(f64::total_cmp);
        let deviation_cdf = deviations
            .iter()
            .enumerate()
            .map(|(index, deviation)| (*deviation, (index + 1) as f64 / deviations.len() as f64))
            .collect();
        let unanswered = sum(|switch| switch.unanswered);
        Report {
            switches: switches.len(),
            seconds,
            offered: sum(|switch| switch.offered) as f64 / seconds,
            sent: sum(|switch| switch.sent) as f64 / seconds,
            answered: answered as f64 / seconds,
            unanswered,
            errors: sum(|switch| switch.errors),
            refused: sum(|switch| switch.refused),
            disconnects: switches.iter().filter(|switch| switch.disconnected.is_some()).count(),
            untold: sum(|switch| switch.untold),
            latency: self.latency.percentiles(0),
            latency_of_all: self.latency.percentiles(unanswered),
            lag: self.lag.percentiles(0),
            probe: (!probes.is_empty()).then(|| Probe {
                offered: probes.iter().map(|probe| probe.offered).sum(),
                unanswered: probes.iter().map(|probe| probe.unanswered).sum(),
                latency: self.probe_latency.percentiles(0),
            }),
            worst_deviation: deviations.iter().map(|deviation| deviation.abs()).fold(0.0, f64::max),
            deviation_cdf,
            shares,
            by_second: by_second(&switches),
            hosts: self.hosts.clone(),
        }
    }

    /// Answers to a switch in the seconds that shares leave out.
    fn early(&self, switch: &SwitchMeasured) -> u64 {
        switch.answered_by_second.iter().take(self.settle as usize).copied().map(u64::from).sum()
    }
}

fn by_second(switches: &[&SwitchMeasured]) -> Vec<Second> {
    let series = |switch: &SwitchMeasured| {
        [&switch.offered_by_second, &switch.sent_by_second, &switch.answered_by_second].map(Clone::clone)
    };
    let mut seconds: Vec<Second> = Vec::new();
    for switch in switches {
        for (which, counts) in series(switch).into_iter().enumerate() {
            if seconds.len() < counts.len() {
                seconds.resize(counts.len(), Second::default());
            }
            for (second, count) in seconds.iter_mut().zip(counts) {
                let field = [&mut second.offered, &mut second.sent, &mut second.answered];
                if let Some(total) = field.into_iter().nth(which) {
                    *total += u64::from(count);
                }
            }
        }
    }
    seconds
}

/// What a load showed. Rates are a second's.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Switches, the prober aside.
    pub switches: usize,
    /// How long requests were due.
    pub seconds: f64,
    /// Requests that were due.
    pub offered: f64,
    /// Requests that were sent.
    pub sent: f64,
    /// Answers until the end: the throughput.
    pub answered: f64,
    /// Requests never answered.
    pub unanswered: u64,
    /// Errors of the controller.
    pub errors: u64,
    /// Its messages that were refused.
    pub refused: u64,
    /// Switches whose connection ended.
    pub disconnects: usize,
    /// Stations that brought no answer before the start.
    pub untold: u64,
    /// Of the requests that were answered.
    pub latency: Percentiles,
    /// Of all: one that was never answered took longer than any.
    pub latency_of_all: Percentiles,
    /// How long after they were due requests were made, of open loops.
    pub lag: Percentiles,
    /// The probing switch.
    pub probe: Option<Probe>,
    /// Each switch's share.
    pub shares: Vec<Share>,
    /// How far from 0 the farthest deviation is.
    pub worst_deviation: f64,
    /// Deviations of switches that offered something, ascending, each with the share of switches up to it.
    pub deviation_cdf: Vec<(f64, f64)>,
    /// The time series.
    pub by_second: Vec<Second>,
    /// The machines.
    pub hosts: Vec<Host>,
}

/// The probing switch.
#[derive(Debug, Clone, Serialize)]
pub struct Probe {
    /// Requests.
    pub offered: u64,
    /// Never answered.
    pub unanswered: u64,
    /// Of its answers.
    pub latency: Percentiles,
}

/// A switch's rates beside what is fair.
#[derive(Debug, Clone, Serialize)]
pub struct Share {
    /// Which switch.
    pub datapath: u64,
    /// Requests due a second.
    pub offered: f64,
    /// Requests sent a second.
    pub sent: f64,
    /// Answers a second, of the seconds that shares are taken of.
    pub answered: f64,
    /// Its max-min share of the throughput, by what the controller could have had of each. A closed loop offers whatever is
    /// taken; of a load that is itself late, what it did not make counts for no switch.
    pub max_min: f64,
    /// How much more than that it got, relative to it.
    pub deviation: f64,
}

/// One second of all switches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Second {
    pub offered: u64,
    pub sent: u64,
    pub answered: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(datapath: u64, offered: u64, answered: u64) -> Measured {
        let mut latency = Latency::default();
        (0..answered).for_each(|count| latency.record(1000 * (count + 1)));
        let switch = SwitchMeasured {
            datapath,
            rate: Some(offered as f64),
            offered,
            wanted: offered,
            sent: offered,
            answered,
            unanswered: offered - answered,
            offered_by_second: vec![offered as u32],
            answered_by_second: vec![answered as u32],
            ..SwitchMeasured::default()
        };
        Measured { duration: 1_000_000_000, switches: vec![switch], latency, ..Measured::default() }
    }

    #[test]
    fn shares_add_up_to_the_throughput_and_deviations_are_against_them() {
        let mut all = measured(1, 100, 100);
        all.merge(measured(2, 1000, 400));
        all.merge(measured(3, 1000, 500));
        let report = all.report();
        let fair: Vec<f64> = report.shares.iter().map(|share| share.max_min).collect();
        assert_eq!(fair, [100.0, 450.0, 450.0]);
        assert!((fair.iter().sum::<f64>() - report.answered).abs() < 1e-9);
        assert!((report.worst_deviation - 1.0 / 9.0).abs() < 1e-9);
        assert_eq!(report.deviation_cdf.last().map(|(_, share)| *share), Some(1.0));
        assert_eq!(report.by_second, [Second { offered: 2100, sent: 0, answered: 1000 }]);
    }

    #[test]
    fn shares_leave_out_the_seconds_in_which_buffers_fill() {
        let mut first = measured(1, 1000, 900);
        first.switches[0].answered_by_second = vec![500, 400];
        let mut second = measured(2, 1000, 500);
        second.switches[0].answered_by_second = vec![100, 400];
        first.merge(second);
        first.duration = 2_000_000_000;
        assert!(first.report().worst_deviation > 0.2);
        first.settle = 1;
        let report = first.report();
        assert!(report.worst_deviation < 1e-9);
        assert_eq!((report.shares[0].answered, report.answered), (400.0, 700.0));
    }

    #[test]
    fn what_waited_when_shares_begin_is_asked_for_in_their_time() {
        let mut first = measured(1, 1000, 1000);
        first.switches[0].answered_by_second = vec![300, 700];
        let mut second = measured(2, 3000, 1700);
        second.switches[0].answered_by_second = vec![900, 800];
        first.merge(second);
        (first.duration, first.settle) = (2_000_000_000, 1);
        // 500 a second are due of the first; the 200 that the second before owed it are its own as well.
        let shares = first.report().shares;
        assert_eq!((shares[0].max_min, shares[0].deviation), (700.0, 0.0));
        assert_eq!((shares[1].max_min, shares[1].deviation), (800.0, 0.0));
    }

    #[test]
    fn what_was_written_and_read_is_the_same_and_adds_up() {
        let mut all = measured(1, 100, 90);
        let text = serde_json::to_string(&measured(2, 100, 90)).unwrap();
        all.merge(serde_json::from_str(&text).unwrap());
        let report = all.report();
        assert_eq!((report.switches, report.unanswered, all.latency.count()), (2, 20, 180));
        assert_eq!(report.latency, measured(1, 100, 90).report().latency);
    }

    #[test]
    fn a_request_that_is_never_answered_took_longer_than_any() {
        let report = measured(1, 100, 60).report();
        assert!(report.latency.p99.is_some() && report.latency_of_all.p50.is_some());
        assert_eq!(report.latency_of_all.p90, None);
    }
}
