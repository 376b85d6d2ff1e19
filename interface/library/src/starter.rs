//! Who forks the supervisor of a testbed.

use crate::error::Error;
use plait_testbed_runtime::doctor::netem_works;
use plait_testbed_runtime::sandbox::Lifeline;
use plait_testbed_runtime::supervisor::{StartOptions, start, start_by};
use serde_json::Value;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Who forks the supervisor, the process that a testbed lives in.
///
/// A process with threads cannot: a lock that another thread holds would stay locked in the copy for ever.
/// Most programs have threads, tests always. So the installed `plait` does it for them, and ends when the
/// testbed is up.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Starter {
    /// The program `plait` at this path, of the same version as this library.
    Program(PathBuf),
    /// This process itself, which must have one thread. The testbed then has its memory, and needs no
    /// `plait`.
    Fork,
}

impl Starter {
    /// The program that the variable `PLAIT` names, else `plait` in `PATH`.
    ///
    /// # Errors
    /// When there is none.
    pub fn find() -> Result<Self, Error> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        match std::env::var_os("PLAIT").filter(|path| !path.is_empty()) {
            Some(program) => named(Path::new(&program)),
            None => in_path(&path),
        }
    }

    /// Whether the kernel's netem works here.
    pub(crate) fn netem(&self) -> Result<String, String> {
        let Self::Program(program) = self else { return netem_works() };
        let told = Command::new(program).args(["doctor", "--json"]).output();
        let told = told.map_err(|error| format!("{}: {error}", program.display()))?;
        let findings: Value = serde_json::from_slice(&told.stdout).unwrap_or_default();
        let netem = findings.as_array().into_iter().flatten().find(|finding| finding["what"] == "netem");
        let seen = netem.and_then(|finding| finding["detail"].as_str()).unwrap_or("not tried").to_owned();
        match netem.is_some_and(|finding| finding["there"] == true) {
            true => Ok(seen),
            false => Err(seen),
        }
    }

    pub(crate) fn start(
        &self,
        options: StartOptions,
        progress: &mut dyn FnMut(usize, usize),
    ) -> io::Result<Lifeline> {
        match self {
            Self::Program(program) => start_by(Command::new(program).arg("supervise"), options, progress),
            Self::Fork => start(options, progress),
        }
    }
}

fn named(program: &Path) -> Result<Starter, Error> {
    if program.is_file() {
        return Ok(Starter::Program(program.to_owned()));
    }
    Err(Error::Misused(format!(
        "`PLAIT` names {}, and no program is there: give it the path of the program `plait`",
        program.display()
    )))
}

fn in_path(path: &OsStr) -> Result<Starter, Error> {
    let found = std::env::split_paths(path).map(|folder| folder.join("plait")).find(|path| path.is_file());
    found.map(Starter::Program).ok_or_else(|| {
        let text = "there is no program `plait` in `PATH`, which testbeds are started by: install it, or let \
             the variable `PLAIT` name it";
        Error::Misused(text.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_is_named_with_the_remedy() {
        let error = in_path(OsStr::new("/nowhere:/nothing")).unwrap_err().to_string();
        assert!(error.contains("install it") && error.contains("`PLAIT`"), "{error}");
        let error = named(Path::new("/nowhere/plait")).unwrap_err().to_string();
        assert!(error.contains("/nowhere/plait"), "{error}");
    }
}
