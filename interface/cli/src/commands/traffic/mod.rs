//! `plait traffic`: many UDP flows, sent, counted and foretold.

mod listen;
mod plan;
mod send;

use crate::arguments::{RatesArgument, TrafficArguments, TrafficCommand};
use crate::output::{Failure, Output};
use plait_dataplane_traffic::carry;
use plait_model_quantity::Bandwidth;
use plait_model_traffic::Rates;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

pub fn traffic(arguments: TrafficArguments, output: &Output) -> Result<ExitCode, Failure> {
    match arguments.command {
        TrafficCommand::Listen(arguments) => listen::listen(&arguments, output),
        TrafficCommand::Send(arguments) => send::send(&arguments, output),
        TrafficCommand::Plan(arguments) => plan::plan(&arguments, output),
        TrafficCommand::Share { share } => carry_share(&share.concat()),
    }
}

/// A node's share of a run. Standard output is the socket of whoever started it: it is told once all ports are taken, says when
/// flows begin, and is told what became of them.
fn carry_share(text: &str) -> Result<ExitCode, Failure> {
    let share = serde_json::from_str(text)
        .map_err(|error| Failure::usage(format!("this is no share of traffic: {error}")))?;
    let lost = |error: io::Error| Failure::new(format!("standard output leads to no `plait run`: {error}"));
    let channel = io::stdout().as_fd().try_clone_to_owned().map(UnixStream::from).map_err(lost)?;
    let told = carry(share, || {
        writeln!(&channel, "ready")?;
        let mut line = String::new();
        BufReader::new(&channel).read_line(&mut line)?;
        line.trim().parse().map_err(|_| io::Error::other("nobody says when flows begin"))
    })?;
    let told = serde_json::to_string(&told).map_err(|error| Failure::new(error.to_string()))?;
    writeln!(&channel, "{told}").map_err(lost)?;
    Ok(ExitCode::SUCCESS)
}

impl From<RatesArgument> for Rates {
    fn from(rates: RatesArgument) -> Self {
        match rates {
            RatesArgument::Same => Self::Same,
            RatesArgument::Random => Self::Random,
            RatesArgument::PowerLaw => Self::PowerLaw,
        }
    }
}

/// A rate for people: four digits of it.
fn rounded(bits_per_second: f64) -> Bandwidth {
    let unit = 10f64.powf((bits_per_second.max(1.0).log10().floor() - 3.0).max(0.0));
    Bandwidth::from_bits_per_second(((bits_per_second / unit).round() * unit) as u64)
}
