//! One column: what it holds, and its values until they are written.

use super::ParquetError;
use parquet::basic::{ConvertedType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError as LibraryError;
use parquet::file::writer::SerializedColumnWriter;
use parquet::schema::types::Type;

/// Columns of whole numbers.
const WHOLE: [&str; 28] = [
    "bytes",
    "bytes_acked",
    "bytes_received",
    "bytes_sent",
    "cwnd_packets",
    "delivery_rate_bps",
    "lost",
    "lost_packets",
    "marked",
    "mss_bytes",
    "pacing_rate_bps",
    "packets",
    "queue_bytes",
    "queue_dropped",
    "queue_packets",
    "retransmits",
    "rx_bytes",
    "rx_dropped",
    "rx_errors",
    "rx_packets",
    "sequence",
    "ssthresh_packets",
    "stream",
    "tx_bytes",
    "tx_dropped",
    "tx_errors",
    "tx_packets",
    "unacked_packets",
];

/// Columns of other numbers.
const FRACTIONS: [&str; 9] = [
    "min_rtt_ms",
    "rto_ms",
    "rtt_ms",
    "rttvar_ms",
    "seconds",
    "srtt_ms",
    "throughput_bps",
    "time_s",
    "value",
];

/// Columns of yes and no.
const FLAGS: [&str; 1] = ["application_limited"];

/// A column.
pub struct Column {
    name: String,
    values: Values,
    /// For each row whether it has a value: Parquet's definition level, 1 or 0.
    present: Vec<i16>,
}

enum Values {
    Whole(Vec<i64>),
    Fractions(Vec<f64>),
    Flags(Vec<bool>),
    Text(Vec<ByteArray>),
}

impl Column {
    /// An empty column. Choice: its name says what it holds, and one that is not known here holds text, so that no
    /// value is ever changed by a guess.
    pub fn named(name: &str) -> Self {
        let values = if WHOLE.contains(&name) {
            Values::Whole(Vec::new())
        } else if FRACTIONS.contains(&name) {
            Values::Fractions(Vec::new())
        } else if FLAGS.contains(&name) {
            Values::Flags(Vec::new())
        } else {
            Values::Text(Vec::new())
        };
        Self { name: name.to_owned(), values, present: Vec::new() }
    }

    /// How it stands in the schema.
    pub fn schema(&self) -> Result<Type, LibraryError> {
        let (physical, converted) = match self.values {
            Values::Whole(_) => (Physical::INT64, ConvertedType::UINT_64),
            Values::Fractions(_) => (Physical::DOUBLE, ConvertedType::NONE),
            Values::Flags(_) => (Physical::BOOLEAN, ConvertedType::NONE),
            Values::Text(_) => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
        };
        Type::primitive_type_builder(&self.name, physical)
            .with_converted_type(converted)
            .with_repetition(Repetition::OPTIONAL)
            .build()
    }

    /// Adds a value, as it stands in a line of the CSV.
    pub fn push(&mut self, value: &str, line: u64) -> Result<(), ParquetError> {
        self.present.push(i16::from(!value.is_empty()));
        if value.is_empty() {
            return Ok(());
        }
        let wrong = |wanted| ParquetError::Value {
            line,
            column: self.name.clone(),
            value: value.chars().take(40).collect(),
            wanted,
        };
        match &mut self.values {
            // UINT_64 is kept in the same 64 bits.
            Values::Whole(values) => {
                values.push(value.parse::<u64>().map_err(|_| wrong("whole number"))?.cast_signed())
            }
            Values::Fractions(values) => values.push(value.parse().map_err(|_| wrong("number"))?),
            Values::Flags(values) => values.push(value.parse().map_err(|_| wrong("`true` or `false`"))?),
            Values::Text(values) => values.push(value.into()),
        }
        Ok(())
    }

    /// Writes what it holds, and is empty again.
    pub fn write(&mut self, chunk: &mut SerializedColumnWriter<'_>) -> Result<(), LibraryError> {
        let present = &self.present;
        match &mut self.values {
            Values::Whole(values) => write(chunk.typed::<Int64Type>(), values, present),
            Values::Fractions(values) => write(chunk.typed::<DoubleType>(), values, present),
            Values::Flags(values) => write(chunk.typed::<BoolType>(), values, present),
            Values::Text(values) => write(chunk.typed::<ByteArrayType>(), values, present),
        }?;
        self.present.clear();
        Ok(())
    }
}

fn write<T: DataType>(
    chunk: &mut ColumnWriterImpl<'_, T>,
    values: &mut Vec<T::T>,
    present: &[i16],
) -> Result<(), LibraryError> {
    chunk.write_batch(values, Some(present), None)?;
    values.clear();
    Ok(())
}
