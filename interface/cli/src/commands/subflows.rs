//! `plait subflows`.

use crate::arguments::SubflowsArguments;
use crate::output::{Failure, Output};
use crate::stop;
use plait_dataplane_subflows::{Manager, News, Options};
use serde_json::json;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

/// How soon a wish to stop is heard.
const TURN: Duration = Duration::from_millis(100);

pub fn subflows(arguments: &SubflowsArguments, output: &Output) -> Result<ExitCode, Failure> {
    let stop = stop::on_signals()?;
    let mut manager =
        Manager::new(Options { count: arguments.count }).map_err(|error| Failure::new(error.to_string()))?;
    output.note(&format!("{} subflows for each connection from now on, until this ends", arguments.count));
    while !stop.is_asked() {
        for news in manager.step(TURN).map_err(|error| Failure::new(error.to_string()))? {
            let line = if output.is_json() { json!(news).to_string() } else { text(news) };
            match writeln!(io::stdout(), "{line}") {
                // Whoever read along has seen enough; connections go on to need subflows.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
                written => written?,
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn text(news: News) -> String {
    match news {
        News::Subflows { connection, open } => format!("{connection:08x}: {open}"),
        News::Closed { connection } => format!("{connection:08x}: over"),
        News::Refused { connection, error } => {
            format!("{connection:08x}: no more, {}", io::Error::from_raw_os_error(error))
        }
    }
}
