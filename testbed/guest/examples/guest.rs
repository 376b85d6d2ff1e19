//! A guest by hand: `guest [--virtual-time] [--processors=2] [+PACKAGE]... [PATH=FILE]... TESTBED NODE [COMMAND...]`
//! boots a guest in the place of a node, with some more processors, packages and files of the host, runs the commands in it,
//! and then lines from standard input until that ends.

use plait_model_quantity::ByteCount;
use plait_testbed_guest::{Equipment, Guest, Image};
use plait_testbed_runtime::control::{Exited, Testbed};
use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// An hour a command.
const LIMIT: Duration = Duration::from_secs(3600);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let virtual_time = arguments.first().is_some_and(|word| word == "--virtual-time");
    let arguments = &arguments[usize::from(virtual_time)..];
    let processors = arguments.first().and_then(|word| word.strip_prefix("--processors="));
    let arguments = &arguments[usize::from(processors.is_some())..];
    let packages = arguments.iter().map_while(|word| word.strip_prefix('+')).collect::<Vec<_>>();
    let arguments = &arguments[packages.len()..];
    let files = arguments.iter().map_while(|word| word.split_once('=')).collect::<Vec<_>>();
    let processors = processors.map(str::parse).transpose();
    let ([testbed, node, commands @ ..], Ok(processors)) = (&arguments[files.len()..], processors) else {
        eprintln!(
            "usage: guest [--virtual-time] [--processors=2] [+PACKAGE]... [PATH=FILE]... TESTBED NODE [COMMAND...]"
        );
        return ExitCode::from(2);
    };
    let lived = equipment(&packages, &files).and_then(|mut equipment| {
        equipment.virtual_time = virtual_time;
        equipment.processors = processors.unwrap_or(equipment.processors);
        live(&equipment, testbed, node, commands)
    });
    match lived {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn equipment(packages: &[&str], files: &[(&str, &str)]) -> io::Result<Equipment> {
    let started = Instant::now();
    let mut equipment = Equipment::new(Image::prepare(packages)?);
    eprintln!("image ready in {:.1} s", started.elapsed().as_secs_f64());
    if !packages.is_empty() || !files.is_empty() {
        // Its files lie in its memory.
        equipment.memory = ByteCount::new(2 << 30);
    }
    Ok(files.iter().fold(equipment, |equipment, (inside, file)| equipment.with_file(inside, file)))
}

fn live(equipment: &Equipment, testbed: &str, node: &str, commands: &[String]) -> io::Result<()> {
    let mut guest = Guest::start(&Testbed::find(Some(testbed))?, node, equipment)?;
    eprintln!("{node} runs Linux {}, up in {:.1} s", guest.kernel(), guest.booted_in().as_secs_f64());
    let typed = io::stdin().lock().lines();
    for command in commands.iter().cloned().map(Ok).chain(typed) {
        let ended = guest.run(&command?, &[], LIMIT)?;
        io::stdout().write_all(&ended.stdout)?;
        io::stderr().write_all(&ended.stderr)?;
        if ended.exited != Exited::Code(0) {
            eprintln!("{:?}", ended.exited);
        }
    }
    Ok(())
}
