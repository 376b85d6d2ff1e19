//! `plait pack` and `plait unpack`.

use crate::arguments::{PackArguments, UnpackArguments};
use crate::commands::sweep::short;
use crate::output::{Failure, Output, Progress, counted};
use plait_testbed_archive::{ArchiveError, pack as pack_folder, unpack as unpack_archive};
use plait_testbed_experiment::results::ResultsError;
use plait_testbed_experiment::world::Stop;
use serde_json::json;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

pub fn pack(arguments: PackArguments, output: &Output) -> Result<ExitCode, Failure> {
    let stop = crate::stop::on_signals()?;
    let mut line = output.progress("packing");
    let packed = pack_folder(&arguments.folder, arguments.output.as_deref(), &mut |done, total| {
        tell(&mut line, "packing", done, total, &stop)
    })?;
    drop(line);
    let left_out = packed.left_out.iter();
    let left_out: Vec<_> =
        left_out.map(|left| json!({ "path": said(&left.path), "why": left.why })).collect();
    for left in &packed.left_out {
        output.note(&format!("left out: {}: {}", left.path.display(), left.why));
    }
    let value = json!({ "archive": said(&packed.archive), "files": packed.files, "bytes": packed.bytes,
        "packed_bytes": packed.packed_bytes, "left_out": left_out });
    output.result(&value, || {
        let (bytes, packed_bytes) = (short(packed.bytes as f64), short(packed.packed_bytes as f64));
        let files = counted(packed.files, "file");
        format!("{}: {files} of {bytes}B in {packed_bytes}B\n", packed.archive.display())
    })?;
    Ok(ExitCode::SUCCESS)
}

pub fn unpack(arguments: UnpackArguments, output: &Output) -> Result<ExitCode, Failure> {
    let stop = crate::stop::on_signals()?;
    let mut line = output.progress("unpacking");
    let place = arguments.output.as_deref();
    let unpacked = unpack_archive(&arguments.archive, place, arguments.limit, &mut |done, total| {
        tell(&mut line, "unpacking", done, total, &stop)
    })?;
    drop(line);
    let value = json!({ "folder": said(&unpacked.folder), "files": unpacked.files, "bytes": unpacked.bytes });
    output.result(&value, || {
        let files = counted(unpacked.files, "file");
        format!("{}: {files} of {}B\n", unpacked.folder.display(), short(unpacked.bytes as f64))
    })?;
    Ok(ExitCode::SUCCESS)
}

fn tell(line: &mut Progress, what: &str, done: u64, total: u64, stop: &Stop) -> ControlFlow<()> {
    line.line(&format!("{what}, {}B of {}B", short(done as f64), short(total as f64)));
    match stop.is_asked() {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    }
}

/// A path as JSON, which has no other than Unicode.
fn said(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

impl From<ArchiveError> for Failure {
    fn from(error: ArchiveError) -> Self {
        let code = match &error {
            ArchiveError::NoResults(_)
            | ArchiveError::Busy(_)
            | ArchiveError::Exists(_)
            | ArchiveError::Inside(_)
            | ArchiveError::Nameless(_) => 2,
            ArchiveError::Refused { .. }
            | ArchiveError::Large { .. }
            | ArchiveError::Results(ResultsError::Damaged { .. } | ResultsError::Newer { .. }) => 3,
            ArchiveError::Changed(_) | ArchiveError::Stopped | ArchiveError::Results(_) => 1,
        };
        Self { code, ..Self::new(error.to_string()) }
    }
}
