//! Requests that change a testbed.

use super::Supervisor;
use super::names::resolve;
use crate::build::{BuildError, Progress, StepError};
use crate::control::{Exited, Line, Reply, Traces};
use crate::kernel::socket::wait_readable;
use crate::plan::{NodeState, Realisation, STATE_VERSION, State, Step, plan};
use plait_model_link::ConditionsSpec;
use serde_json::{Value, json};
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

impl Supervisor {
    /// Held while a plan is made and carried out: the next one starts from what this one reaches.
    pub(super) fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what differs from a desired state.
    pub(super) fn apply(&self, line: &Line, desired: &State) -> io::Result<Value> {
        let _one_at_a_time = self.changing();
        let steps = {
            let builder = self.builder();
            out_of_reach(desired, builder.has_uplink())?;
            let steps = plan(desired, &builder.state);
            let fixed = builder.fixed_files(&steps);
            if !fixed.is_empty() {
                return Err(only_anew(&format!(
                    "files outside /run, /tmp, /var and the home come with a node's first program, and one has run: {}",
                    fixed.join(", ")
                )));
            }
            steps
        };
        let done = self.carry_out(&steps, &line.socket, &mut |done, total| {
            let _ = line.send(&Reply::Progress(done, total), &[]);
        });
        if let Err(error) = done {
            self.decide_anew();
            return Err(io::Error::other(format!("{error}; correct the cause and apply again")));
        }
        // Whether or not what failed before could be cut again, links are others.
        let failed = self.fail_anew(&steps);
        self.reroute();
        failed?;
        tracing::info!(steps = steps.len(), "applied");
        Ok(json!({ "steps": steps }))
    }

    /// After a plan that ended early: nodes that were made anew lack what was decided for them, and no later plan sees that.
    fn decide_anew(&self) {
        let mut builder = self.builder();
        let control = builder.state.control.clone();
        if control.is_some()
            && let Err(error) = builder.control(control.as_ref())
        {
            tracing::error!(%error, "routes that were decided are not there");
        }
    }

    /// Carries a plan out. Commands of nodes may take as long as they like, so they run without the builder: others are
    /// answered meanwhile. When `asker`, which has nothing more to say, is gone, they are killed.
    pub(super) fn carry_out(
        &self,
        steps: &[Step],
        asker: &UnixStream,
        progress: Progress<'_>,
    ) -> Result<(), BuildError> {
        let mut done = 0;
        while let Some(next) = steps.get(done) {
            let begun = done;
            if let Step::Commands { node, run, .. } = next {
                self.commands(node, run, asker).map_err(|error| BuildError {
                    done,
                    total: steps.len(),
                    failed: vec![StepError { step: next.to_string(), reason: error.to_string() }],
                })?;
                next.effect(&mut self.builder().state);
                done += 1;
            } else {
                let rest = &steps[done..];
                let commands = rest.iter().position(|step| matches!(step, Step::Commands { .. }));
                let build = &rest[..commands.unwrap_or(rest.len())];
                let mut tell = |at: usize, _| progress(begun + at, steps.len());
                self.builder().execute(build, &mut tell).map_err(|error| BuildError {
                    done: begun + error.done,
                    total: steps.len(),
                    ..error
                })?;
                done += build.len();
            }
            progress(done, steps.len());
        }
        Ok(())
    }

    /// Runs shell commands of a node in order; each must succeed. What they start in the background stays.
    fn commands(&self, node: &str, run: &[String], asker: &UnixStream) -> io::Result<()> {
        for text in run {
            let (pid, log) = self.builder().start_command(node, text)?;
            let exited = loop {
                if let Some(exited) = self.children.wait(pid, Duration::from_millis(50)) {
                    break exited;
                }
                if wait_readable(asker, Some(Duration::ZERO)).unwrap_or(true) {
                    break self.end(pid);
                }
            };
            if exited != Exited::Code(0) {
                let said = std::fs::read(log).unwrap_or_default();
                let said = String::from_utf8_lossy(&said);
                let last: Vec<&str> = said.lines().rev().take(3).collect();
                return Err(io::Error::other(format!(
                    "`{text}` ended with {exited:?}: {}",
                    last.join(" / ")
                )));
            }
        }
        Ok(())
    }

    /// Lays a change over what a link's conditions are.
    pub(super) fn set(
        &self,
        name: &str,
        direction: Option<usize>,
        change: &ConditionsSpec,
        traces: &Traces,
    ) -> io::Result<Value> {
        let mut builder = self.builder();
        let (name, flipped) = resolve(&builder.state, name)?;
        let mut link = builder.state.links[&name].clone();
        if !matches!(link.realisation, Realisation::Engine(_)) {
            return Err(io::Error::other(format!(
                "{name} is {} and its conditions cannot change while it is up: give it `dynamic: true` in the file (and no `via: kernel`), or \
                 use `plait up --live`",
                match link.realisation {
                    Realisation::Kernel => "shaped by the kernel",
                    _ => "a bare veth pair",
                }
            )));
        }
        for at in 0..2 {
            if direction.is_none_or(|wanted| (wanted ^ usize::from(flipped)) == at) {
                let read =
                    |path: &str| traces.get(path).cloned().ok_or_else(|| "its text is missing".to_owned());
                (link.specs[at], link.conditions[at]) = change
                    .build_over(&link.specs[at], &link.conditions[at], &read)
                    .map_err(|error| io::Error::other(error.to_string()))?;
            }
        }
        let step = crate::plan::Step::Condition { name: name.clone(), link: Box::new(link) };
        builder.execute(&[step], &mut |_, _| {}).map_err(io::Error::other)?;
        self.reroute();
        let link = &builder.state.links[&name];
        tracing::info!(link = name, forward = %link.conditions[0], reverse = %link.conditions[1], "conditions changed");
        Ok(
            json!({ "link": name, "conditions": [link.conditions[0].to_string(), link.conditions[1].to_string()] }),
        )
    }

    pub(super) fn reset(&self) -> io::Result<()> {
        let builder = self.builder();
        let Some(engine) = builder.engine() else { return Ok(()) };
        builder
            .state
            .links
            .keys()
            .filter_map(|name| builder.engine_link(name))
            .try_for_each(|id| engine.reset(id))
    }
}

/// Why a state can be had by a new testbed only. Said before anything is changed.
fn out_of_reach(desired: &State, has_uplink: bool) -> io::Result<()> {
    let again = |what: String| Err(only_anew(&what));
    let wants = |what: fn(&NodeState) -> bool| desired.nodes.values().any(what);
    if desired.version != STATE_VERSION {
        let theirs = desired.version;
        return again(format!("this testbed knows states of version {STATE_VERSION}, not {theirs}"));
    }
    if !has_uplink && wants(|node| node.uplink) {
        return again("a running testbed cannot get its first uplink".to_owned());
    }
    // A user who asks for daemons is called root inside from the start.
    if !rustix::process::geteuid().is_root() && wants(|node| node.frr.is_some()) {
        return again("a user's running testbed cannot get its first routing daemons".to_owned());
    }
    Ok(())
}

fn only_anew(what: &str) -> io::Error {
    io::Error::other(format!("{what}: take the testbed down and up again"))
}
