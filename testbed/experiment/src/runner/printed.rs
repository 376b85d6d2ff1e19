//! Lines of JSON that commands print, read while they run: their numbers, at the instants the lines were there.

use crate::results::records::{PrintedRecord, seconds};
use crate::results::{ResultsError, Staging};
use crate::section::Command;
use serde_json::Value;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::PathBuf;
use std::time::Duration;

/// Choice: what is longer than a line anybody prints, or has more numbers than anybody looks at, is no sample.
const LONGEST_LINE: usize = 64 * 1024;
const MOST_NUMBERS: usize = 1000;
/// Of a command that prints faster than this each look reads a part: events come first.
const MOST_A_LOOK: u64 = 1 << 20;

/// Follows the output of the commands that `collect` names.
pub(super) struct Printed<'a> {
    names: &'a [String],
    staging: &'a Staging,
    start: Duration,
    followed: Vec<Followed>,
    /// Made with the first command, since a run without one has no such samples.
    file: Option<csv::Writer<File>>,
    rows: u64,
    missed: u64,
    error: Option<ResultsError>,
}

/// One command's output.
struct Followed {
    command: String,
    node: String,
    path: PathBuf,
    /// None until the command has an output.
    output: Option<File>,
    /// The line that has no end yet.
    line: Vec<u8>,
    /// Whether that line is too long already.
    too_long: bool,
}

impl<'a> Printed<'a> {
    pub fn new(names: &'a [String], staging: &'a Staging, start: Duration) -> Self {
        let (followed, file) = (Vec::new(), None);
        Self { names, staging, start, followed, file, rows: 0, missed: 0, error: None }
    }

    /// Follows a command from its start, if it is one of those named.
    pub fn follow(&mut self, command: &Command, folder: &str) {
        if self.names.contains(&command.name) {
            self.followed.push(Followed {
                command: command.name.clone(),
                node: command.node.clone(),
                path: self.staging.folder().join(folder).join("stdout"),
                output: None,
                line: Vec::new(),
                too_long: false,
            });
        }
    }

    /// Reads what was printed since the last look, and not more than a run has time for.
    pub fn look(&mut self, now: Duration) {
        self.read_all(now, MOST_A_LOOK);
    }

    fn read_all(&mut self, now: Duration, most: u64) {
        let at = seconds(now, self.start);
        for index in 0..self.followed.len() {
            if self.error.is_none()
                && let Err(error) = self.read(index, at, most)
            {
                self.error = Some(error);
            }
        }
    }

    /// Whether rows can no longer be written, which ends a run early.
    pub fn failed(&self) -> bool {
        self.error.is_some()
    }

    /// Reads the rest, up to where outputs end now. Returns how many rows were kept, and how many lines were none.
    pub fn finish(&mut self, now: Duration) -> Result<(u64, u64), ResultsError> {
        let sizes =
            self.followed.iter().map(|followed| fs::metadata(&followed.path).map_or(0, |data| data.len()));
        let longest = sizes.max().unwrap_or(0);
        self.read_all(now, longest);
        let at = seconds(now, self.start);
        for index in 0..self.followed.len() {
            // A last line may have no end.
            let followed = &mut self.followed[index];
            let line = std::mem::take(&mut followed.line);
            if std::mem::take(&mut followed.too_long) {
                self.missed += 1;
            } else if self.error.is_none()
                && let Err(error) = self.line(index, at, &line)
            {
                self.error = Some(error);
            }
        }
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let path = self.path();
        let flushed = self.file.take().map_or(Ok(()), |mut file| file.flush());
        flushed.map_err(|error| ResultsError::write(&path, error))?;
        Ok((self.rows, self.missed))
    }

    fn path(&self) -> PathBuf {
        self.staging.folder().join("samples/json.csv")
    }

    fn read(&mut self, index: usize, at: f64, most: u64) -> Result<(), ResultsError> {
        let followed = &mut self.followed[index];
        if followed.output.is_none() {
            followed.output = match File::open(&followed.path) {
                Ok(file) => Some(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(ResultsError::read(&followed.path, error)),
            };
        }
        let mut block = [0; 16 * 1024];
        let mut read = 0;
        while read < most {
            let followed = &mut self.followed[index];
            let Some(output) = &mut followed.output else { return Ok(()) };
            let count = output.read(&mut block).map_err(|error| ResultsError::read(&followed.path, error))?;
            if count == 0 {
                break;
            }
            read += count as u64;
            for part in block[..count].split_inclusive(|byte| *byte == b'\n') {
                let followed = &mut self.followed[index];
                followed.too_long |= followed.line.len() + part.len() > LONGEST_LINE;
                if !followed.too_long {
                    followed.line.extend_from_slice(part);
                }
                if part.ends_with(b"\n") {
                    let line = std::mem::take(&mut followed.line);
                    match std::mem::take(&mut followed.too_long) {
                        true => self.missed += 1,
                        false => self.line(index, at, &line)?,
                    }
                }
            }
        }
        Ok(())
    }

    fn line(&mut self, index: usize, at: f64, line: &[u8]) -> Result<(), ResultsError> {
        let Ok(value) = serde_json::from_slice::<Value>(line) else { return Ok(()) };
        let mut numbers = Vec::new();
        gather(&value, String::new(), &mut numbers);
        self.missed += u64::from(numbers.len() > MOST_NUMBERS);
        for (field, value) in numbers.into_iter().take(MOST_NUMBERS) {
            let Followed { command, node, .. } = &self.followed[index];
            let (command, node) = (command.clone(), node.clone());
            self.write(&PrintedRecord { time_s: at, command, node, field, value })?;
        }
        Ok(())
    }

    fn write(&mut self, row: &PrintedRecord) -> Result<(), ResultsError> {
        let path = self.path();
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let path = self.staging.path("samples/json.csv")?;
                let file = File::create(&path).map_err(|error| ResultsError::write(&path, error))?;
                self.file.insert(csv::Writer::from_writer(file))
            }
        };
        file.serialize(row).map_err(|error| ResultsError::csv_write(&path, error))?;
        self.rows += 1;
        Ok(())
    }
}

/// The numbers of a line with the ways that lead to them, as `field` of a metric writes them. A line that is a number
/// has no way.
fn gather(value: &Value, way: String, numbers: &mut Vec<(String, f64)>) {
    let below = |key: &str| if way.is_empty() { key.to_owned() } else { format!("{way}.{key}") };
    match value {
        Value::Number(number) => numbers.extend(number.as_f64().map(|number| (way, number))),
        Value::Object(map) => map.iter().for_each(|(key, value)| gather(value, below(key), numbers)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, value)| gather(value, below(&at.to_string()), numbers));
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section::Expect;
    use std::io::Write;

    fn command(name: &str) -> Command {
        Command {
            name: name.to_owned(),
            node: "a".to_owned(),
            exec: "true".to_owned(),
            timeout: None,
            expect: Expect::Code(0),
            background: false,
        }
    }

    #[test]
    fn lines_count_when_they_are_whole_and_noise_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let staging = Staging::begin(&folder.path().join("run")).unwrap();
        let names = ["probe".to_owned()];
        let mut printed = Printed::new(&names, &staging, Duration::from_secs(10));
        printed.follow(&command("probe"), "commands/01-probe");
        printed.follow(&command("other"), "commands/02-other");
        printed.look(Duration::from_secs(10));
        let path = staging.path("commands/01-probe/stdout").unwrap();
        let mut output = File::create(&path).unwrap();
        write!(output, "hello\n{{\"queue\": 3, \"tcp\": {{\"cwnd\": [10, 12.5]}}, \"who\": \"x\"}}\n{{\"que")
            .unwrap();
        printed.look(Duration::from_millis(11_500));
        writeln!(output, "ue\": 4}}").unwrap();
        writeln!(output, "[{}1]", "1,".repeat(LONGEST_LINE)).unwrap();
        // The last line has no end.
        write!(output, "{{\"queue\": 5}}").unwrap();
        assert_eq!(printed.finish(Duration::from_secs(12)).unwrap(), (5, 1));
        let rows = fs::read_to_string(staging.folder().join("samples/json.csv")).unwrap();
        assert_eq!(
            rows,
            "time_s,command,node,field,value\n1.5,probe,a,queue,3.0\n1.5,probe,a,tcp.cwnd.0,10.0\n\
             1.5,probe,a,tcp.cwnd.1,12.5\n2.0,probe,a,queue,4.0\n2.0,probe,a,queue,5.0\n"
        );
    }
}
