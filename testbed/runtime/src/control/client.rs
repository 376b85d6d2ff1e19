//! The asking side: a handle on a running testbed.

use super::directory::{Directory, Found};
use super::line::Line;
use super::protocol::{
    Envelope, ExecRequest, Exited, PROTOCOL_VERSION, Reply, Report, Request, SampleRequest, Traces,
};
use crate::plan::{State, Step};
use crate::sample::TcpSampler;
use plait_model_link::ConditionsSpec;
use plait_model_topology::diagnostic::suggest;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// A running testbed. Cheap to make: each question is a connection of its own.
#[derive(Debug)]
pub struct Testbed {
    directory: Directory,
    found: Found,
}

/// How a program that [`Testbed::exec`] started ended.
pub type ExecStatus = Exited;

/// A packet socket on a node's interface.
pub type Capture = OwnedFd;

/// The user's side of a terminal that a program in a node runs on.
pub type Terminal = OwnedFd;

impl Testbed {
    /// Finds a testbed by name; without a name, the only one there is.
    ///
    /// # Errors
    /// When there is none, none of that name, or more than one to choose from.
    pub fn find(name: Option<&str>) -> io::Result<Self> {
        Self::find_in(Directory::open()?, name)
    }

    /// Like [`find`](Self::find), in another folder of control sockets.
    ///
    /// # Errors
    /// As there.
    pub fn find_in(directory: Directory, name: Option<&str>) -> io::Result<Self> {
        let list = directory.list()?;
        let names = || list.iter().map(|found| found.name.as_str());
        let found = match (name, &list[..]) {
            (Some(name), _) => list.iter().find(|found| found.name == name).cloned().ok_or_else(|| {
                let help = if list.is_empty() { "none is up".to_owned() } else { suggest(name, names()) };
                format!("there is no testbed `{name}`: {help}")
            }),
            (None, [one]) => Ok(one.clone()),
            (None, []) => Err("no testbed is up: start one with `plait up FILE`".to_owned()),
            (None, _) => Err(format!(
                "more than one testbed is up, so name one of them (with `--testbed` where a node is named too): {}",
                names().collect::<Vec<_>>().join(", ")
            )),
        };
        let found = found.map_err(|message| io::Error::new(io::ErrorKind::NotFound, message))?;
        Ok(Self { directory, found })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.found.name
    }

    /// Its supervisor's process ID.
    pub fn pid(&self) -> i32 {
        self.found.pid
    }

    fn ask(&self, request: Request, descriptors: &[BorrowedFd<'_>]) -> io::Result<Line> {
        let asked = || {
            let line = Line::new(self.directory.connect(&self.found)?);
            line.send(&Envelope { plait: PROTOCOL_VERSION, request }, descriptors)?;
            Ok(line)
        };
        asked().map_err(|error: io::Error| match error.kind() {
            // A supervisor that was killed takes a moment to be dead, in which it listens no more.
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionRefused => self.gone(),
            _ => error,
        })
    }

    /// Asks and waits for the end, passing progress on.
    fn call(
        &self,
        request: Request,
        progress: &mut dyn FnMut(usize, usize),
    ) -> io::Result<(Value, Vec<OwnedFd>)> {
        let mut line = self.ask(request, &[])?;
        loop {
            // A supervisor that was killed closes the line, or resets it when it had not read everything.
            let reply = match line.receive() {
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => None,
                reply => reply?,
            };
            match reply {
                Some(Reply::Done(value)) => return Ok((value, line.descriptors)),
                Some(Reply::Failed(reason)) => return Err(io::Error::other(reason)),
                Some(Reply::Progress(done, total)) => progress(done, total),
                Some(Reply::Row(_)) => {}
                None => return Err(self.gone()),
            }
        }
    }

    fn gone(&self) -> io::Error {
        io::Error::new(io::ErrorKind::BrokenPipe, format!("the supervisor of `{}` is gone", self.found.name))
    }

    fn value(&self, request: Request) -> io::Result<Value> {
        Ok(self.call(request, &mut |_, _| {})?.0)
    }

    fn descriptor(&self, request: Request) -> io::Result<OwnedFd> {
        let (_, descriptors) = self.call(request, &mut |_, _| {})?;
        descriptors.into_iter().next().ok_or_else(|| io::Error::other("the supervisor sent no descriptor"))
    }

    /// What it is, for people.
    pub fn inspect(&self) -> io::Result<Report> {
        Ok(serde_json::from_value(self.value(Request::Inspect)?)?)
    }

    /// What it consists of.
    pub fn state(&self) -> io::Result<State> {
        Ok(serde_json::from_value(self.value(Request::State)?)?)
    }

    /// Leads it to a state; returns the steps that were taken.
    pub fn apply(&self, desired: &State, progress: &mut dyn FnMut(usize, usize)) -> io::Result<Vec<Step>> {
        let (value, _) = self.call(Request::Apply { desired: Box::new(desired.clone()) }, progress)?;
        Ok(serde_json::from_value(value["steps"].clone())?)
    }

    /// Takes it down, and waits until nothing of it is left.
    pub fn down(self, progress: &mut dyn FnMut(usize, usize)) -> io::Result<()> {
        self.call(Request::Down, progress)?;
        let gone = std::time::Instant::now();
        // The supervisor answers when its namespaces are gone; its own process goes a moment later.
        while crate::kernel::process::start_time(self.found.pid) == Some(self.found.start_time) {
            if gone.elapsed().as_secs() >= 10 {
                return Err(io::Error::other(format!(
                    "the supervisor {} does not end: kill it",
                    self.found.pid
                )));
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        Ok(())
    }

    /// Starts a program in a node with the given standard files.
    pub fn exec(&self, request: ExecRequest, standard: [BorrowedFd<'_>; 3]) -> io::Result<Running> {
        self.running(self.ask(Request::Exec(Box::new(request)), &standard)?)
    }

    /// Starts a program in a node on a terminal of its own, whose user side is returned beside it.
    pub fn exec_on_terminal(&self, request: ExecRequest) -> io::Result<(Running, Terminal)> {
        let mut running = self.running(self.ask(Request::Exec(Box::new(request)), &[])?)?;
        match running.line.descriptors.pop() {
            Some(terminal) => Ok((running, terminal)),
            None => Err(io::Error::other("the supervisor sent no terminal")),
        }
    }

    fn running(&self, mut line: Line) -> io::Result<Running> {
        match line.receive()? {
            Some(Reply::Row(started)) => {
                let pid = started["started"].as_i64().unwrap_or(0) as i32;
                Ok(Running { line, pid })
            }
            Some(Reply::Failed(reason)) => Err(io::Error::other(reason)),
            _ => Err(self.gone()),
        }
    }

    /// Changes conditions of a link: direction 0 from its first end, 1 towards it, none for both.
    pub fn set_link(
        &self,
        link: &str,
        direction: Option<usize>,
        spec: ConditionsSpec,
        traces: Traces,
    ) -> io::Result<Value> {
        self.value(Request::Set { link: link.to_owned(), direction, spec: Box::new(spec), traces })
    }

    /// Cuts a link, or heals it: direction 0 from its first end, 1 towards it, none for both.
    pub fn fail_link(&self, link: &str, direction: Option<usize>, failed: bool) -> io::Result<()> {
        let link = link.to_owned();
        let request =
            if failed { Request::Fail { link, direction } } else { Request::Recover { link, direction } };
        self.value(request).map(drop)
    }

    /// Cuts all links of a node, or heals those that did not fail themselves.
    pub fn fail_node(&self, node: &str, failed: bool) -> io::Result<()> {
        let node = node.to_owned();
        self.value(if failed { Request::FailNode { node } } else { Request::RecoverNode { node } }).map(drop)
    }

    /// Measures a link against its request.
    pub fn check_link(&self, link: &str, thorough: bool) -> io::Result<Value> {
        self.value(Request::Check { link: link.to_owned(), thorough })
    }

    /// Starts packet numbers and counters of all links afresh.
    pub fn reset_links(&self) -> io::Result<()> {
        self.value(Request::Reset).map(drop)
    }

    /// How well the links kept their word; null when none is in the engine.
    pub fn verdict(&self) -> io::Result<Value> {
        self.value(Request::Verdict)
    }

    /// The supervisor's log: lines of JSON.
    pub fn log(&self) -> io::Result<String> {
        Ok(self.value(Request::Log)?.as_str().unwrap_or_default().to_owned())
    }

    /// Numbers in Prometheus' text form.
    pub fn metrics(&self) -> io::Result<String> {
        Ok(self.value(Request::Metrics)?.as_str().unwrap_or_default().to_owned())
    }

    /// A packet socket on a node's interface.
    pub fn capture(&self, node: &str, interface: &str) -> io::Result<Capture> {
        self.descriptor(Request::Capture { node: node.to_owned(), interface: interface.to_owned() })
    }

    /// A file or folder as a node sees it.
    pub fn open(&self, node: &str, path: &str) -> io::Result<OwnedFd> {
        self.descriptor(Request::Open { node: node.to_owned(), path: path.to_owned() })
    }

    /// A sampler of the TCP connections of all nodes that asks their kernels itself, and a connection that is closed
    /// when the testbed ends: the sampler keeps the nodes' networks alive, so drop it then.
    pub fn tcp_sampler(&self) -> io::Result<(TcpSampler, UnixStream)> {
        let mut line = self.ask(Request::TcpSockets, &[])?;
        let mut names: Vec<String> = Vec::new();
        loop {
            match line.receive()? {
                Some(Reply::Row(more)) => {
                    let more: Vec<String> = serde_json::from_value(more)?;
                    if more.is_empty() {
                        break;
                    }
                    names.extend(more);
                }
                Some(Reply::Failed(reason)) => return Err(io::Error::other(reason)),
                Some(Reply::Done(_) | Reply::Progress(..)) => {}
                None => return Err(self.gone()),
            }
        }
        if names.len() != line.descriptors.len() {
            return Err(io::Error::other("fewer sockets arrived than there are nodes: raise `ulimit -n`"));
        }
        Ok((TcpSampler::of(names.into_iter().zip(line.descriptors)), line.socket))
    }

    /// Keeps this machine's processors from halting, until what comes back is dropped or the testbed ends: what gets ready to
    /// run on a virtual machine need not wait then for a host to give a processor back.
    ///
    /// # Errors
    /// When this user can start nothing that gives way to all other programs.
    pub fn keep_awake(&self) -> io::Result<Awake> {
        let mut line = self.ask(Request::KeepAwake, &[])?;
        match line.receive()? {
            Some(Reply::Failed(reason)) => Err(io::Error::other(reason)),
            Some(_) => Ok(Awake { _line: line }),
            None => Err(self.gone()),
        }
    }

    /// Rows of samples, until the iterator is dropped.
    pub fn sample(&self, request: SampleRequest) -> io::Result<Samples> {
        Ok(Samples { line: self.ask(Request::Sample(request), &[])? })
    }
}

/// A program running in a node; it is killed when this is dropped.
pub struct Running {
    line: Line,
    /// Its process ID inside the sandbox.
    pub pid: i32,
}

impl Running {
    /// Waits for its end.
    pub fn wait(&mut self) -> io::Result<Exited> {
        loop {
            match self.line.receive()? {
                Some(Reply::Done(value)) => return Ok(serde_json::from_value(value)?),
                Some(Reply::Failed(reason)) => return Err(io::Error::other(reason)),
                Some(_) => {}
                None => return Err(io::Error::new(io::ErrorKind::BrokenPipe, "the testbed is gone")),
            }
        }
    }

    /// Sends a signal to it and all of its group.
    pub fn signal(&self, signal: i32) -> io::Result<()> {
        self.line.send(&serde_json::json!({ "signal": signal }), &[])
    }

    /// The connection, to wait for it among other things, or to hand to another thread that signals.
    pub fn socket(&self) -> io::Result<UnixStream> {
        self.line.socket.try_clone()
    }
}

impl AsFd for Running {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.line.socket.as_fd()
    }
}

/// Processors that do not halt while this lives.
pub struct Awake {
    _line: Line,
}

/// Rows of samples as they come.
pub struct Samples {
    line: Line,
}

impl Samples {
    /// The connection; shutting it down ends the rows.
    pub fn socket(&self) -> io::Result<UnixStream> {
        self.line.socket.try_clone()
    }
}

impl Samples {
    /// The next rows, read as a type; none at the end. There may be thousands a second, so no tree of values is made of
    /// them.
    pub fn next_rows<T: DeserializeOwned>(&mut self) -> Option<io::Result<T>> {
        #[derive(Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum Received<T> {
            Row(T),
            Failed(String),
            Done(serde::de::IgnoredAny),
            Progress(serde::de::IgnoredAny),
        }
        match self.line.receive::<Received<T>>() {
            Ok(Some(Received::Row(rows))) => Some(Ok(rows)),
            Ok(Some(Received::Failed(reason))) => Some(Err(io::Error::other(reason))),
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        }
    }
}
