//! Archives: a results folder as one file, and the folder again.
//!
//! Read in this order:
//!
//! 1. [`Kind`] – what folder it is: of a run or of an experiment, of a version that is known here;
//! 2. [`pack`] – a folder into `NAME.tar.zst`, the same bytes whenever and by whomever it is packed;
//! 3. [`parquet`] – samples with typed columns, which stand in the archive beside their CSV;
//! 4. [`unpack`] – the folder again, whatever an archive may say of itself;
//! 5. [`ArchiveError`] – why not.
//!
//! An archive holds files and folders below one folder's name, and nothing else. Tools that read tar and Zstandard read
//! it: `tar --zstd -xf`.
#![forbid(unsafe_code)]

mod error;
mod kind;
mod pack;
pub mod parquet;
mod path;
mod progress;
mod tree;
mod unpack;

pub use error::ArchiveError;
pub use kind::Kind;
pub use pack::{LeftOut, Packed, pack};
pub use progress::Progress;
pub use unpack::{USUAL_LIMIT, Unpacked, unpack};
