//! Results folders as one file.

use clap::Args;
use plait_model_quantity::ByteCount;
use plait_testbed_archive::USUAL_LIMIT;
use std::path::PathBuf;

#[derive(Args)]
pub struct PackArguments {
    /// The results folder of a run or of an experiment
    pub folder: PathBuf,
    /// The archive; `FOLDER.tar.zst` when not given
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Args)]
pub struct UnpackArguments {
    /// The archive
    pub archive: PathBuf,
    /// The folder; the archive's name without `.tar.zst` when not given
    #[arg(long, short, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// The most that may be unpacked; each file counts 4 KiB beside its bytes
    #[arg(long, value_name = "SIZE", default_value_t = USUAL_LIMIT)]
    pub limit: ByteCount,
}
