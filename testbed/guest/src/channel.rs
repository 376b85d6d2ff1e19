//! The conversation with process 1 of a guest, over a serial port of the virtual machine. `inside/init.sh` is
//! the other side; its comments say how requests and answers look.
//!
//! A guest may be dead, busy or hostile: every wait has a deadline, and every size a limit.

use plait_testbed_runtime::control::Exited;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// What a guest's process 1 says first, followed by the kernel's version.
const GREETING: &str = "plait-guest 1 ";
/// How much longer than a program's time its answer may take.
const GRACE: Duration = Duration::from_secs(20);
/// The longest first line of an answer, in bytes.
const LINE: usize = 256;
/// The most a program may say.
const OUTPUT: u64 = 256 << 20;

/// How a program in a guest ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// By itself with a code (128 and the number of the signal that killed it), or killed because its time
    /// was over.
    pub exited: Exited,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
}

/// The host's side of the conversation.
pub struct Channel {
    socket: UnixStream,
    requests: u64,
    /// After an answer that did not come or made no sense, nobody knows what the next bytes belong to.
    lost: bool,
}

impl Channel {
    /// A conversation that has not begun.
    pub fn new(socket: UnixStream) -> Self {
        Self { socket, requests: 0, lost: false }
    }

    /// Waits until the guest is up; gives its kernel's version.
    ///
    /// # Errors
    /// It is not up in time, or it ended.
    pub fn greet(&mut self, patience: Duration) -> io::Result<String> {
        let line = self.line(Instant::now() + patience)?;
        match line.strip_prefix(GREETING) {
            Some(kernel) => Ok(kernel.to_owned()),
            None => Err(nonsense(&line)),
        }
    }

    /// Runs a shell script and waits for its end.
    ///
    /// # Errors
    /// The guest does not answer, or not what was asked. All later calls fail then too.
    pub fn run(&mut self, script: &str, input: &[u8], limit: Duration) -> io::Result<Ended> {
        if self.lost {
            return Err(io::Error::new(io::ErrorKind::NotConnected, "the guest did not answer before"));
        }
        // Until the answer is whole.
        self.lost = true;
        self.requests += 1;
        let deadline = Instant::now() + limit + GRACE;
        let head = format!("{} {:.3} {} {}\n", self.requests, limit.as_secs_f64(), script.len(), input.len());
        for part in [head.as_bytes(), script.as_bytes(), input] {
            self.write(part, deadline)?;
        }
        let line = self.line(deadline)?;
        let (exited, stdout, stderr) = answer(&line, self.requests).ok_or_else(|| nonsense(&line))?;
        let stdout = self.bytes(stdout, deadline)?;
        let stderr = self.bytes(stderr, deadline)?;
        self.lost = false;
        Ok(Ended { exited, stdout, stderr })
    }

    fn write(&mut self, mut bytes: &[u8], deadline: Instant) -> io::Result<()> {
        while !bytes.is_empty() {
            self.socket.set_write_timeout(Some(rest(deadline)?))?;
            match self.socket.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) => patient(error)?,
            }
        }
        Ok(())
    }

    /// Reads what is there, at least a byte.
    fn read(&mut self, buffer: &mut [u8], deadline: Instant) -> io::Result<usize> {
        loop {
            self.socket.set_read_timeout(Some(rest(deadline)?))?;
            match self.socket.read(buffer) {
                Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the guest has ended")),
                Ok(count) => return Ok(count),
                Err(error) => patient(error)?,
            }
        }
    }

    /// Reads a line, byte by byte so that nothing after it is taken.
    fn line(&mut self, deadline: Instant) -> io::Result<String> {
        let mut line = Vec::new();
        let mut byte = [0];
        while line.len() <= LINE {
            self.read(&mut byte, deadline)?;
            if byte == *b"\n" {
                return Ok(String::from_utf8_lossy(&line).into_owned());
            }
            line.push(byte[0]);
        }
        Err(nonsense(&String::from_utf8_lossy(&line)))
    }

    fn bytes(&mut self, size: u64, deadline: Instant) -> io::Result<Vec<u8>> {
        // Grows with what arrives, whatever was announced.
        let mut bytes = Vec::new();
        let mut buffer = [0; 64 << 10];
        while (bytes.len() as u64) < size {
            let next = (size - bytes.len() as u64).min(buffer.len() as u64) as usize;
            let count = self.read(&mut buffer[..next], deadline)?;
            bytes.extend_from_slice(&buffer[..count]);
        }
        Ok(bytes)
    }
}

/// The first line of an answer to a request: how the program ended, and how much it said on each way.
fn answer(line: &str, request: u64) -> Option<(Exited, u64, u64)> {
    let words: Vec<&str> = line.split(' ').collect();
    let [number, code, stdout, stderr] = words[..] else { return None };
    let exited = match code {
        "timeout" => Exited::TimedOut,
        code => Exited::Code(code.parse().ok()?),
    };
    let (stdout, stderr) = (stdout.parse().ok()?, stderr.parse().ok()?);
    (number.parse() == Ok(request) && stdout <= OUTPUT && stderr <= OUTPUT)
        .then_some((exited, stdout, stderr))
}

fn nonsense(line: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("the guest said {:?}", line.chars().take(80).collect::<String>()),
    )
}

fn rest(deadline: Instant) -> io::Result<Duration> {
    let rest = deadline.saturating_duration_since(Instant::now());
    if rest.is_zero() {
        return Err(io::Error::new(io::ErrorKind::TimedOut, "the guest does not answer"));
    }
    Ok(rest)
}

/// An error that only says that the time was over, or that a signal came: the deadline decides.
fn patient(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted => Ok(()),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
            Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the guest has ended"))
        }
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A channel to a guest that says these bytes, whatever it is asked, and then ends.
    fn guest_that_says(bytes: &[u8]) -> (Channel, UnixStream) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(bytes).unwrap();
        theirs.shutdown(std::net::Shutdown::Write).unwrap();
        (Channel::new(ours), theirs)
    }

    #[test]
    fn a_guest_that_greets_is_up_and_its_answers_are_taken_apart() {
        let (mut channel, mut theirs) = guest_that_says(b"plait-guest 1 6.1\n1 7 3 2\nouter2 timeout 0 0\n");
        assert_eq!(channel.greet(Duration::from_secs(5)).unwrap(), "6.1");
        let ended = channel.run("exit 7", b"input", Duration::from_secs(1)).unwrap();
        assert_eq!(ended, Ended { exited: Exited::Code(7), stdout: b"out".into(), stderr: b"er".into() });
        let ended = channel.run("sleep 9", b"", Duration::from_millis(1500)).unwrap();
        assert_eq!(ended.exited, Exited::TimedOut);
        drop(channel);
        let mut asked = String::new();
        theirs.read_to_string(&mut asked).unwrap();
        assert_eq!(asked, "1 1.000 6 5\nexit 7input2 1.500 7 0\nsleep 9");
    }

    #[test]
    fn a_guest_that_talks_nonsense_is_an_error_and_is_not_asked_again() {
        let long = "x".repeat(1 << 20);
        let answers = [
            "",
            "1 0 9",
            "1 0 5 5\nfew",
            "2 0 0 0\n",
            "1 0 -1 0\n",
            "1 zero 0 0\n",
            "1 0 99999999999999999999 0\n",
        ];
        for said in answers.into_iter().chain(["1 0 999999999999 0\n", &long]) {
            let (mut channel, _theirs) = guest_that_says_slowly(said);
            channel.run("true", b"", Duration::from_secs(1)).unwrap_err();
            let again = channel.run("true", b"", Duration::from_secs(1)).unwrap_err();
            assert_eq!(again.kind(), io::ErrorKind::NotConnected, "{said:.40}");
        }
    }

    /// More than a socket holds is said by a thread.
    fn guest_that_says_slowly(text: &str) -> (Channel, std::thread::JoinHandle<()>) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let text = text.to_owned();
        let saying = std::thread::spawn(move || drop(theirs.write_all(text.as_bytes())));
        (Channel::new(ours), saying)
    }

    #[test]
    fn a_guest_that_says_nothing_is_given_up() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let started = Instant::now();
        let error = Channel::new(ours).greet(Duration::from_millis(50)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(started.elapsed() < Duration::from_secs(5));
    }
}
