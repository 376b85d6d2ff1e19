//! Columns of sample files, row by row: a run may have millions.

use crate::results::ResultsError;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

/// A column of numbers.
pub(super) struct Column<'a> {
    /// The file.
    pub path: &'a Path,
    /// The column.
    pub name: &'a str,
    /// Other columns, and the texts that rows must have there.
    pub texts: &'a [(&'a str, &'a str)],
    /// Columns that are wanted as well, as text.
    pub more: &'a [&'a str],
}

impl Column<'_> {
    /// Gives each row's second, its value where it has one, and its other columns. A file that is not there has no rows,
    /// and one of a run that was over before the first sample not even a head.
    pub fn each(&self, mut take: impl FnMut(f64, Option<f64>, &[&str])) -> Result<(), ResultsError> {
        let file = match File::open(self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(ResultsError::read(self.path, error)),
        };
        let failed = |error| ResultsError::csv_read(self.path, error);
        let mut reader = csv::Reader::from_reader(BufReader::new(file));
        let header = reader.headers().map_err(failed)?.clone();
        if header.is_empty() {
            return Ok(());
        }
        let place = |name: &str| {
            header.iter().position(|known| known == name).ok_or_else(|| ResultsError::Damaged {
                path: self.path.to_owned(),
                reason: format!("it has no column `{name}`"),
            })
        };
        let (time, value) = (place("time_s")?, place(self.name)?);
        let texts = self.texts.iter().map(|(name, text)| Ok((place(name)?, *text)));
        let texts = texts.collect::<Result<Vec<_>, ResultsError>>()?;
        let more = self.more.iter().map(|name| place(name)).collect::<Result<Vec<_>, _>>()?;
        let mut record = csv::StringRecord::new();
        while reader.read_record(&mut record).map_err(failed)? {
            if texts.iter().all(|(at, text)| record.get(*at) == Some(text)) {
                let number = |at: usize| record.get(at).and_then(|text| text.parse::<f64>().ok());
                let others: Vec<&str> = more.iter().map(|at| record.get(*at).unwrap_or_default()).collect();
                take(number(time).unwrap_or_default(), number(value), &others);
            }
        }
        Ok(())
    }
}
