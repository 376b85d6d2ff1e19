//! Samplers and captures: on before the first command, off after the last.

use crate::results::records::{InterfaceRecord, LinkRecord, PingRecord, TcpRecord};
use crate::results::{ResultsError, Staging};
use crate::section::Collect;
use crate::world::{Batch, Logger, LoggerSummary, Sampling, World};
use serde::Serialize;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub(super) struct Loggers {
    sampler: Option<Box<dyn Logger>>,
    captures: Vec<Box<dyn Logger>>,
    files: Arc<Mutex<SampleFiles>>,
    refusals: Vec<String>,
}

impl Loggers {
    /// Starts everything that `collect` asks for. What the world refuses is noted, and the rest goes on: a run without
    /// one of its loggers has failed, but may still answer its question.
    pub fn start(world: &dyn World, collect: &Collect, staging: &Staging) -> Result<Self, ResultsError> {
        let files = Arc::new(Mutex::new(SampleFiles::create(collect, staging)?));
        let mut loggers = Self { sampler: None, captures: Vec::new(), files, refusals: Vec::new() };
        let (tcp, links, interfaces) = (collect.tcp, collect.links, collect.interfaces);
        let wanted = Sampling { tcp, links, interfaces, pings: collect.pings.clone() };
        if wanted != Sampling::default() {
            let files = Arc::clone(&loggers.files);
            let deliver = Box::new(move |batch| lock(&files).take(batch));
            match world.sample(wanted, deliver) {
                Ok(sampler) => loggers.sampler = Some(sampler),
                Err(error) => loggers.refusals.push(format!("samplers: {error}")),
            }
        }
        for capture in &collect.captures {
            let name = format!("captures/{}-{}.pcapng", capture.node, capture.interface);
            let path = staging.path(&name)?;
            match world.capture(&capture.node, &capture.interface, &path) {
                Ok(logger) => loggers.captures.push(logger),
                Err(error) => loggers.refusals.push(format!("{name}: {error}")),
            }
        }
        Ok(loggers)
    }

    /// The run starts now: samples taken before are not kept.
    pub fn begin_at(&mut self, start: Duration) {
        lock(&self.files).start = Some(start);
    }

    /// What the world would not start.
    pub fn refusals(&self) -> Vec<String> {
        self.refusals.clone()
    }

    /// Whether samples can no longer be written, which ends a run early.
    pub fn failed(&self) -> bool {
        lock(&self.files).error.is_some()
    }

    /// Stops everything. Returns what samplers and captures kept and missed, and what went wrong stopping them.
    pub fn stop(self) -> Result<(LoggerSummary, LoggerSummary, Vec<String>), ResultsError> {
        let mut failures = Vec::new();
        let mut sum = |logger: Box<dyn Logger>, sum: &mut LoggerSummary| match logger.stop() {
            Ok(summary) => {
                sum.kept += summary.kept;
                sum.missed += summary.missed;
            }
            Err(error) => failures.push(format!("a logger did not stop well: {error}")),
        };
        let (mut rows, mut packets) = (LoggerSummary::default(), LoggerSummary::default());
        for capture in self.captures {
            sum(capture, &mut packets);
        }
        if let Some(sampler) = self.sampler {
            sum(sampler, &mut rows);
        }
        rows.kept = lock(&self.files).finish()?;
        Ok((rows, packets, failures))
    }
}

/// A thread that died while it held the files left whole rows behind.
fn lock(files: &Mutex<SampleFiles>) -> MutexGuard<'_, SampleFiles> {
    files.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The sample files, and the first error met writing them.
struct SampleFiles {
    start: Option<Duration>,
    tcp: Option<SampleFile>,
    links: Option<SampleFile>,
    interfaces: Option<SampleFile>,
    pings: Option<SampleFile>,
    rows: u64,
    error: Option<ResultsError>,
}

struct SampleFile {
    path: PathBuf,
    writer: csv::Writer<File>,
}

impl SampleFiles {
    fn create(collect: &Collect, staging: &Staging) -> Result<Self, ResultsError> {
        let create = |wanted: bool, name: &str| -> Result<Option<SampleFile>, ResultsError> {
            if !wanted {
                return Ok(None);
            }
            let path = staging.path(&format!("samples/{name}.csv"))?;
            let file = File::create(&path).map_err(|error| ResultsError::write(&path, error))?;
            let writer = csv::WriterBuilder::new().buffer_capacity(64 * 1024).from_writer(file);
            Ok(Some(SampleFile { path, writer }))
        };
        Ok(Self {
            start: None,
            tcp: create(collect.tcp.is_some(), "tcp")?,
            links: create(collect.links.is_some(), "links")?,
            interfaces: create(collect.interfaces.is_some(), "interfaces")?,
            pings: create(!collect.pings.is_empty(), "pings")?,
            rows: 0,
            error: None,
        })
    }

    fn take(&mut self, batch: Batch) {
        let (Some(start), None) = (self.start, &self.error) else { return };
        let (count, written) = match batch {
            Batch::Tcp(rows) => {
                let rows = rows.into_iter().filter(|row| row.at >= start);
                write(&mut self.tcp, rows.map(|row| TcpRecord::new(row, start)))
            }
            Batch::Links(rows) => {
                let rows = rows.into_iter().filter(|row| row.at >= start);
                write(&mut self.links, rows.map(|row| LinkRecord::new(row, start)))
            }
            Batch::Interfaces(rows) => {
                let rows = rows.into_iter().filter(|row| row.at >= start);
                write(&mut self.interfaces, rows.map(|row| InterfaceRecord::new(row, start)))
            }
            Batch::Pings(rows) => {
                let rows = rows.into_iter().filter(|row| row.at >= start);
                write(&mut self.pings, rows.map(|row| PingRecord::new(row, start)))
            }
        };
        self.rows += count;
        self.error = written.err();
    }

    /// Brings everything to disk. Returns how many rows there are.
    fn finish(&mut self) -> Result<u64, ResultsError> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let files = [&mut self.tcp, &mut self.links, &mut self.interfaces, &mut self.pings];
        for file in files.into_iter().flatten() {
            file.writer.flush().map_err(|error| ResultsError::write(&file.path, error))?;
        }
        Ok(self.rows)
    }
}

fn write<T: Serialize>(
    file: &mut Option<SampleFile>,
    rows: impl Iterator<Item = T>,
) -> (u64, Result<(), ResultsError>) {
    let Some(SampleFile { path, writer }) = file else { return (0, Ok(())) };
    let path: &Path = path;
    let mut count = 0;
    for row in rows {
        if let Err(error) = writer.serialize(row) {
            return (count, Err(ResultsError::csv_write(path, error)));
        }
        count += 1;
    }
    (count, Ok(()))
}
