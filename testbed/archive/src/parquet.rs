//! Samples with typed columns.
//!
//! The columns have the names of the CSV, units included, and stand in its order; so do the rows. What is empty in the
//! CSV is null.

mod column;

use self::column::Column;
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::errors::ParquetError as LibraryError;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::Type;
use csv::StringRecord;
use std::io::{self, Read, Write};
use std::sync::Arc;
use thiserror::Error;

/// Choice: rows are written in groups, so that hours of samples need no more memory than a minute of them.
const ROWS_OF_A_GROUP: usize = 65_536;

/// Why there is no Parquet of some samples.
#[derive(Debug, Error)]
pub enum ParquetError {
    /// A value that its column cannot hold.
    #[error("line {line}: {column} is `{value}`, which is no {wanted}")]
    Value {
        /// Where in the CSV.
        line: u64,
        /// Which column.
        column: String,
        /// What stands there.
        value: String,
        /// What should.
        wanted: &'static str,
    },
    /// Text that is no CSV.
    #[error(transparent)]
    Csv(#[from] csv::Error),
    /// Columns that have no name, or one name twice.
    #[error("its columns have no names of their own")]
    Names,
    /// It could not be written.
    #[error("{0}")]
    Write(io::Error),
}

impl From<LibraryError> for ParquetError {
    fn from(error: LibraryError) -> Self {
        Self::Write(io::Error::other(error))
    }
}

/// Writes samples, read as CSV with a head, as Parquet. The same samples give the same bytes.
///
/// # Errors
/// Text that is no CSV or does not fit its columns; what was written then is of no use.
pub fn from_csv(csv: impl Read, parquet: impl Write + Send) -> Result<(), ParquetError> {
    let mut reader = csv::Reader::from_reader(io::BufReader::new(csv));
    let names = reader.headers()?.clone();
    let mut columns: Vec<Column> = names.iter().map(Column::named).collect();
    if columns.is_empty() || names.iter().enumerate().any(|(at, name)| is_taken(&names, at, name)) {
        return Err(ParquetError::Names);
    }
    let fields = columns.iter().map(|column| column.schema().map(Arc::new)).collect::<Result<_, _>>()?;
    let schema = Type::group_type_builder("samples").with_fields(fields).build()?;
    let properties = WriterProperties::builder()
        .set_created_by(concat!("plait ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .build();
    let mut writer = SerializedFileWriter::new(parquet, Arc::new(schema), Arc::new(properties))?;
    let mut row = StringRecord::new();
    let mut rows = 0;
    while reader.read_record(&mut row)? {
        let line = row.position().map_or(0, csv::Position::line);
        for (column, value) in columns.iter_mut().zip(&row) {
            column.push(value, line)?;
        }
        rows += 1;
        if rows == ROWS_OF_A_GROUP {
            write_group(&mut writer, &mut columns)?;
            rows = 0;
        }
    }
    if rows > 0 {
        write_group(&mut writer, &mut columns)?;
    }
    writer.close()?;
    Ok(())
}

fn is_taken(names: &StringRecord, at: usize, name: &str) -> bool {
    name.is_empty() || names.iter().take(at).any(|other| other == name)
}

fn write_group<W: Write + Send>(
    writer: &mut SerializedFileWriter<W>,
    columns: &mut [Column],
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for column in columns {
        let mut chunk = group.next_column()?.expect("the schema has a column for each");
        column.write(&mut chunk)?;
        chunk.close()?;
    }
    group.close()?;
    Ok(())
}
