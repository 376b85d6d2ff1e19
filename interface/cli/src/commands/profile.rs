//! `plait overlay profile`.

use crate::arguments::ProfileArguments;
use crate::output::{Failure, Output, table, write_file};
use plait_dataplane_profile::profile::Costs;
use plait_dataplane_profile::stages::Stage;
use plait_dataplane_profile::{Options, Profile, picture};
use serde_json::json;
use std::process::ExitCode;

pub fn profile(arguments: ProfileArguments, output: &Output) -> Result<ExitCode, Failure> {
    let ProfileArguments { packets, frame, svg } = arguments;
    let options = Options { packets: packets as usize, frame: frame.into() };
    let mut progress = output.progress("profile");
    let measured = plait_dataplane_profile::profile(&options, |done, of| progress.update(done, of))
        .map_err(|error| Failure::new(error.to_string()))?;
    drop(progress);
    if let Some(place) = svg {
        write_file(&place, &picture::svg(&measured))?;
    }
    output.result(&json!(measured), || text(&measured))?;
    Ok(ExitCode::SUCCESS)
}

fn text(profile: &Profile) -> String {
    let there = Stage::ALL.into_iter().filter(|stage| {
        profile.ways.iter().any(|costs| costs.stages.iter().any(|(found, _)| found == stage))
    });
    let there: Vec<Stage> = there.collect();
    let mut head = vec!["WAY".to_owned()];
    head.extend(there.iter().map(|stage| stage.name().to_uppercase()));
    head.extend(["TOTAL", "QUARTILES", "OF 300", "ENDS", "TO BARE"].map(str::to_owned));
    let bare = profile.ways.first().map_or(1.0, |costs| costs.total.median);
    let row = |costs: &Costs| {
        let mut row = vec![costs.way.clone()];
        row.extend(there.iter().map(|stage| {
            let of = costs.stages.iter().find(|(found, _)| found == stage);
            of.map_or(String::new(), |(_, cost)| format!("{:.0}", cost.median))
        }));
        let total = costs.total;
        row.push(format!("{:.0}", total.median));
        row.push(format!("{:.0} to {:.0}", total.lower, total.upper));
        row.push(format!("{:.0}", costs.total_of_300));
        row.push(format!("{:.0}", costs.ends));
        row.push(format!("{:.2}", total.median / bare));
        row
    };
    let rows: Vec<_> = [head].into_iter().chain(profile.ways.iter().map(row)).collect();
    let empty: Vec<_> = profile.empty.iter().map(|(at, cost)| format!("{at} {cost:.0}")).collect();
    let mut text = format!(
        "nanoseconds: medians of {} packets of {} bytes by each way, Linux {}\n\n{}\ntaken off for each stamp: {}\n",
        profile.packets,
        profile.frame,
        profile.kernel,
        table(&rows),
        empty.join(", "),
    );
    if !profile.absent.is_empty() {
        text += &format!("this kernel has no {}\n", profile.absent.join(", "));
    }
    text
}
