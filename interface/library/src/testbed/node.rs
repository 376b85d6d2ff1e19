//! Programs in a node.

use crate::error::Error;
use plait_model_quantity::TimeSpan;
use plait_testbed_runtime::control::{self, ExecRequest, Exited, Running};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::time::Duration;

/// A node of a testbed, to run programs in. From [`Testbed::on`](crate::Testbed::on).
#[derive(Debug)]
#[must_use = "nothing runs before `exec` or `spawn` is called"]
pub struct OnNode<'t> {
    testbed: &'t control::Testbed,
    request: ExecRequest,
}

impl<'t> OnNode<'t> {
    pub(super) fn new(testbed: &'t control::Testbed, node: &str) -> Self {
        Self { testbed, request: ExecRequest { node: node.to_owned(), ..ExecRequest::default() } }
    }

    /// Kills the program after this time.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.request.timeout_ms = Some(TimeSpan::from(time).as_nanos().div_ceil(1_000_000));
        self
    }

    /// Gives the program a variable beyond those that every program gets.
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.request.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Starts it in this folder, instead of the node's own (`/run/node`).
    pub fn folder(mut self, folder: &str) -> Self {
        self.request.folder = Some(folder.to_owned());
        self
    }

    /// Runs a program to its end: a line of shell (`"ping -c 3 b"`), or a program with its arguments
    /// (`["ping", "-c", "3", "b"]`).
    ///
    /// # Errors
    /// When there is no such node or program, or the testbed is gone. A program that fails is no error here:
    /// [`Output::success`] says so.
    pub fn exec(self, line: impl Into<Line>) -> Result<Output, Error> {
        self.spawn(line)?.wait()
    }

    /// Starts a program and goes on. It is killed when what is returned is dropped.
    ///
    /// # Errors
    /// As of [`OnNode::exec`].
    pub fn spawn(self, line: impl Into<Line>) -> Result<Program, Error> {
        let Line(command) = line.into();
        // Not pipes: a program that stays in the background would keep the other end open.
        let caught = || memfd_create("output", MemfdFlags::CLOEXEC).map(File::from);
        let (stdout, stderr) = (caught().map_err(io::Error::from)?, caught().map_err(io::Error::from)?);
        let null = File::open("/dev/null")?;
        let request = ExecRequest { command, ..self.request };
        let running = self.testbed.exec(request, [null.as_fd(), stdout.as_fd(), stderr.as_fd()])?;
        Ok(Program { running, stdout, stderr })
    }
}

/// A line of shell, or a program with its arguments.
#[derive(Debug, Clone)]
pub struct Line(Vec<String>);

impl From<&str> for Line {
    fn from(line: &str) -> Self {
        Self(["/bin/sh", "-c", line].map(str::to_owned).to_vec())
    }
}

impl From<String> for Line {
    fn from(line: String) -> Self {
        line.as_str().into()
    }
}

impl<S: Into<String>, const N: usize> From<[S; N]> for Line {
    fn from(words: [S; N]) -> Self {
        Self(words.into_iter().map(Into::into).collect())
    }
}

impl<S: Into<String>> From<Vec<S>> for Line {
    fn from(words: Vec<S>) -> Self {
        Self(words.into_iter().map(Into::into).collect())
    }
}

/// A program that runs in a node; it is killed with all it started when this is dropped.
pub struct Program {
    running: Running,
    stdout: File,
    stderr: File,
}

impl Program {
    /// Waits for its end.
    ///
    /// # Errors
    /// When the testbed is gone.
    pub fn wait(mut self) -> Result<Output, Error> {
        let exited = self.running.wait()?;
        Ok(Output { exited, stdout: text(&mut self.stdout)?, stderr: text(&mut self.stderr)? })
    }

    /// Asks it and all of its group to end (SIGTERM), and waits until it did.
    ///
    /// # Errors
    /// When the testbed is gone.
    pub fn stop(self) -> Result<Output, Error> {
        const SIGTERM: i32 = 15;
        self.running.signal(SIGTERM)?;
        self.wait()
    }
}

/// What a program left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// How it ended.
    pub exited: Exited,
    /// What it wrote; what is no UTF-8 is replaced by `U+FFFD`.
    pub stdout: String,
    /// What it wrote as errors.
    pub stderr: String,
}

impl Output {
    /// Whether it ended by itself, with 0.
    pub fn success(&self) -> bool {
        self.exited == Exited::Code(0)
    }
}

fn text(file: &mut File) -> io::Result<String> {
    file.rewind()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
