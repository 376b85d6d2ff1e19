//! `plait apply` and `plait plan`.

use crate::arguments::FileArguments;
use crate::load::load;
use crate::output::{Failure, Output};
use plait::{Starter, Step, beside};
use plait_testbed_runtime::control::Testbed;
use plait_testbed_runtime::plan::{State, plan as steps_between};
use serde_json::json;
use std::process::ExitCode;

pub fn apply(arguments: FileArguments, output: &Output) -> Result<ExitCode, Failure> {
    let loaded = load(&arguments.file)?;
    let name = arguments.name.unwrap_or_else(|| loaded.network().name.clone());
    let testbed = Testbed::find(Some(&name))?;
    let live = testbed.inspect()?.live;
    let (wishes, previous) = beside(&testbed.state()?, live);
    let desired = loaded.buildable(&wishes, previous.as_ref(), &Starter::Fork)?;
    let mut progress = output.progress(&format!("changing {name}"));
    let steps = testbed.apply(&desired, &mut |done, total| progress.update(done, total))?;
    drop(progress);
    show(&steps, "changed", output)
}

pub fn plan(arguments: FileArguments, output: &Output) -> Result<ExitCode, Failure> {
    let loaded = load(&arguments.file)?;
    let name = arguments.name.unwrap_or_else(|| loaded.network().name.clone());
    // Without a running testbed the plan is that of `plait up`.
    let (observed, live) = match Testbed::find(Some(&name)) {
        Ok(testbed) => (testbed.state()?, testbed.inspect()?.live),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => (State::default(), false),
        Err(error) => return Err(error.into()),
    };
    let (wishes, previous) = beside(&observed, live);
    let desired = loaded.permitted(&wishes, previous.as_ref())?;
    show(&steps_between(&desired, &observed), "to do", output)
}

fn show(steps: &[Step], word: &str, output: &Output) -> Result<ExitCode, Failure> {
    output.result(&json!({ "steps": steps }), || {
        let mut text: String = steps.iter().map(|step| format!("{step}\n")).collect();
        text.push_str(&match steps.len() {
            0 => "nothing differs\n".to_owned(),
            1 => format!("1 step {word}\n"),
            count => format!("{count} steps {word}\n"),
        });
        text
    })?;
    Ok(ExitCode::SUCCESS)
}
