//! The `plait` command: a thin user of the library beside it and of the rooms below.
//!
//! [`arguments`] says what may be typed, [`commands`] holds one file a verb, [`load`] asks the library for the network
//! of a file, and [`output`] is how everything is said: to people, or as JSON.
#![forbid(unsafe_code)]

mod arguments;
mod commands;
mod compiled;
mod component;
mod load;
mod output;
mod stop;

use arguments::{Cli, Command};
use clap::Parser;
use output::{Failure, Output};
use plait_testbed_runtime::routing::set_component_loader;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = Output::new(cli.json);
    set_component_loader(component::load);
    // A command that forks a supervisor begins to log afterwards: the supervisor's log is its own.
    if !matches!(cli.command, Command::Awake(_) | Command::Up(_) | Command::Run(_) | Command::Supervise) {
        logging();
    }
    match dispatch(cli.command, &output) {
        Ok(code) => code,
        Err(failure) => {
            output.failure(&failure);
            ExitCode::from(failure.code)
        }
    }
}

fn dispatch(command: Command, output: &Output) -> Result<ExitCode, Failure> {
    match command {
        Command::Apply(arguments) => commands::apply::apply(arguments, output),
        Command::Awake(arguments) => commands::awake::awake(&arguments, output),
        Command::Capture(arguments) => commands::capture::capture(arguments, output),
        Command::Compare(arguments) => commands::compare::compare(arguments, output),
        Command::Completions(arguments) => commands::complete::completions(arguments),
        Command::Control(arguments) => commands::control::control(arguments, output),
        Command::Controller(arguments) => commands::controller::controller(arguments, output),
        Command::Doctor => commands::doctor::doctor(output),
        Command::Down(arguments) => commands::down::down(arguments, output),
        Command::Exec(arguments) => commands::exec::exec(arguments, output),
        Command::Generate(arguments) => commands::generate::generate(arguments, output),
        Command::Graph(arguments) => commands::graph::graph(arguments, output),
        Command::Import(arguments) => commands::import::import(arguments, output),
        Command::Inspect(arguments) => commands::inspect::inspect(arguments, output),
        Command::Ip(arguments) => commands::ip::ip(&arguments, output),
        Command::Link(arguments) => commands::link::link(arguments, output),
        Command::Ls => commands::ls::ls(output),
        Command::Man(arguments) => commands::complete::man(arguments),
        Command::Overlay(arguments) => commands::overlay::overlay(arguments, output),
        Command::Paths(arguments) => commands::paths::paths(arguments, output),
        Command::Pack(arguments) => commands::pack::pack(arguments, output),
        Command::Plan(arguments) => commands::apply::plan(arguments, output),
        Command::Replay(arguments) => commands::replay::replay(arguments, output),
        Command::Report(arguments) => commands::run::report(arguments, output),
        Command::Run(arguments) => commands::run::run(arguments, output),
        Command::Schema => commands::complete::schema(),
        Command::Shell(arguments) => commands::exec::shell(arguments, output),
        Command::Subflows(arguments) => commands::subflows::subflows(&arguments, output),
        Command::Supervise => commands::supervise::supervise(),
        Command::Traffic(arguments) => commands::traffic::traffic(arguments, output),
        Command::Unpack(arguments) => commands::pack::unpack(arguments, output),
        Command::Up(arguments) => commands::up::up(arguments, output),
        Command::Validate(arguments) => commands::validate::validate(arguments, output),
    }
}

/// Logs go to standard error, as `PLAIT_LOG` asks (`debug`, `plait_testbed_runtime=trace`); warnings without it.
pub(crate) fn logging() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("PLAIT_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}
