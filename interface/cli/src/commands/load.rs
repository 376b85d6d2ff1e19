//! `plait controller load`.

use crate::arguments::{LoadArguments, Shape, VersionArgument};
use crate::output::{Failure, Output, table};
use plait_control_openflow::Version;
use plait_dataplane_agent::open_many_files;
use plait_dataplane_load::latency::Percentiles;
use plait_dataplane_load::{Load, Measured, Offer, Report, Security, rates, run};
use plait_model_quantity::TimeSpan;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

/// A load whose connections ended early, or that was never answered, has failed.
pub fn load(arguments: &LoadArguments, output: &Output) -> Result<ExitCode, Failure> {
    let measured = if arguments.merge.is_empty() {
        let load = asked(arguments)?;
        // Each switch is one.
        open_many_files();
        output.note(&format!("loading {} for {}", arguments.controller, arguments.duration));
        run(&load).map_err(|why| Failure::new(why.to_string()))?
    } else {
        merged(&arguments.merge)?
    };
    if let Some(path) = &arguments.save {
        let text = serde_json::to_vec(&measured).map_err(|why| Failure::new(why.to_string()))?;
        fs::write(path, text).map_err(|why| Failure::new(format!("{}: {why}", path.display())))?;
    }
    let report = measured.report();
    output.result(&json!(report), || told(&report))?;
    let failed = report.disconnects > 0 || report.answered == 0.0;
    Ok(if failed { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn asked(arguments: &LoadArguments) -> Result<Load, Failure> {
    let switches = arguments.switches;
    let offers = match arguments.rate {
        Some(total) => {
            let rates = match arguments.shape {
                Shape::Uniform => rates::uniform(switches, total),
                Shape::NearlyUniform => rates::nearly_uniform(switches, total, arguments.seed),
                Shape::Skewed => rates::skewed(switches, total, 1.0, arguments.seed),
                Shape::Few => rates::active(switches, total, 0.05, arguments.seed),
            };
            rates.into_iter().map(Offer::Open).collect()
        }
        None if arguments.flood => vec![Offer::Flood; switches],
        None => vec![Offer::Window(arguments.window.unwrap_or(64)); switches],
    };
    let version = |version: &VersionArgument| match version {
        VersionArgument::V10 => Version::V10,
        VersionArgument::V13 => Version::V13,
    };
    let start = arguments.start.map(|seconds| {
        Duration::try_from_secs_f64(seconds)
            .ok()
            .and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since))
            .ok_or_else(|| Failure::usage(format!("{seconds} is no time in seconds since 1970")))
    });
    let security = match (&arguments.key, &arguments.certificate, &arguments.authorities) {
        (Some(key), Some(certificate), Some(authorities)) => {
            let security = Security::load(key, certificate, authorities);
            Some(security.map_err(|why| Failure::new(why.to_string()))?)
        }
        _ => None,
    };
    Ok(Load {
        security,
        versions: arguments.version.iter().map(version).collect(),
        probe: arguments.probe,
        schedule: arguments.at.iter().map(|text| change(text)).collect::<Result<_, _>>()?,
        duration: arguments.duration.into(),
        warm_up: arguments.warm_up.into(),
        settle: arguments.settle,
        stations: arguments.stations,
        buffered: !arguments.unbuffered,
        threads: arguments.threads,
        process: arguments.process,
        start: start.transpose()?,
        ..Load::new(arguments.controller, offers)
    })
}

/// `10s=0.35`
fn change(text: &str) -> Result<(u64, f64), Failure> {
    let parts = text.split_once('=').and_then(|(time, factor)| {
        let time: TimeSpan = time.parse().ok()?;
        let factor = factor.parse().ok().filter(|factor: &f64| factor.is_finite() && *factor >= 0.0)?;
        Some((u64::try_from(Duration::from(time).as_nanos()).ok()?, factor))
    });
    parts.ok_or_else(|| Failure::usage(format!("{text:?} is no change of rate: 10s=0.35 would be one")))
}

fn merged(paths: &[impl AsRef<Path>]) -> Result<Measured, Failure> {
    let read = |path: &Path| -> Result<Measured, Failure> {
        let at = |why: &dyn ToString| Failure::new(format!("{}: {}", path.display(), why.to_string()));
        serde_json::from_slice(&fs::read(path).map_err(|why| at(&why))?).map_err(|why| at(&why))
    };
    let mut all = paths.iter().map(|path| read(path.as_ref()));
    let mut first = all.next().ok_or_else(|| Failure::usage("nothing is to be put together"))??;
    for other in all {
        first.merge(other?);
    }
    Ok(first)
}

fn told(report: &Report) -> String {
    let mut rows = vec![["", "p50", "p90", "p99", "p99.9", "max"].map(str::to_owned).to_vec()];
    let mut row = |name: &str, of: &Percentiles| {
        let cell = |found: Option<f64>| found.map_or("-".to_owned(), |found| format!("{found:.0} µs"));
        let mut cells = vec![name.to_owned()];
        cells.extend([of.p50, of.p90, of.p99, of.p999, of.max].map(cell));
        rows.push(cells);
    };
    match report.unanswered {
        0 => row("latency", &report.latency),
        _ => {
            row("latency, of those answered", &report.latency);
            row("latency, unanswered ones too", &report.latency_of_all);
        }
    }
    if let Some(probe) = &report.probe {
        row("probe", &probe.latency);
    }
    let steal: f64 = report.hosts.iter().map(|host| host.steal).fold(0.0, f64::max);
    let told = format!(
        "{} switches, {:.1} s: {:.0} requests/s due, {:.0} sent, {:.0} answered; {} unanswered, {} connections ended\n\
         farthest from its max-min share: {:.2} %; stolen by the host: {:.1} %\n{}",
        report.switches,
        report.seconds,
        report.offered,
        report.sent,
        report.answered,
        report.unanswered,
        report.disconnects,
        report.worst_deviation * 100.0,
        steal * 100.0,
        table(&rows)
    );
    told + &shares(report)
}

/// How many switches are told one by one. Choice: those that are farthest from their shares; a thousand rows tell nobody anything, and
/// `--json` has all.
const TOLD: usize = 5;

/// How near switches are to their shares, and who is farthest; nothing where all are one or none.
fn shares(report: &Report) -> String {
    let mut farthest: Vec<_> = report.shares.iter().filter(|share| share.max_min > 0.0).collect();
    if farthest.len() < 2 {
        return String::new();
    }
    farthest.sort_by(|a, b| b.deviation.abs().total_cmp(&a.deviation.abs()));
    // Of so many in a hundred the one that is farthest.
    let within = |hundredths: usize| {
        let place = farthest.len() - (farthest.len() * hundredths).div_ceil(100);
        farthest[place].deviation.abs() * 100.0
    };
    let mut rows = vec![["switch", "due/s", "answered/s", "share/s", "off by"].map(str::to_owned).to_vec()];
    rows.extend(farthest.iter().take(TOLD).map(|share| {
        let rate = |rate: f64| format!("{rate:.0}");
        let off = format!("{:+.2} %", share.deviation * 100.0);
        vec![
            format!("{:016x}", share.datapath),
            rate(share.offered),
            rate(share.answered),
            rate(share.max_min),
            off,
        ]
    }));
    format!(
        "\nof their max-min shares half are within {:.2} %, nine in ten within {:.2} %; farthest:\n{}",
        within(50),
        within(90),
        table(&rows)
    )
}
