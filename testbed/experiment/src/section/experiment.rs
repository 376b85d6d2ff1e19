//! `experiment`: what varies between runs, and how often each is repeated.

mod written;

use crate::design::{Cell, Factor, Level, Levels, Range, RangeError, Scale, full, spread};
use indexmap::IndexMap;
use plait_model_topology::diagnostic::Diagnostic;
use plait_model_topology::document::{Decoded, Map, Scalar, Span, Spanned, Value, decode_parts};
pub(super) use written::ExperimentFile;
use written::{DesignFile, FactorFile, RepeatsFile, ScaleFile};

/// More cells than anybody waits for.
const MOST_CELLS: usize = 100_000;
/// Repeats of a cell that goes on until its intervals are narrow: at least, and at most.
const LEAST_ADAPTIVE: usize = 5;
const MOST_ADAPTIVE: usize = 30;

/// A question with factors.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// What varies, in the order of the file.
    pub factors: Vec<Factor>,
    /// The choices of a level for each factor.
    pub cells: Vec<Cell>,
    /// How often each cell runs.
    pub repeats: Repeats,
    /// Seed of the order of runs and of the choice of cells; each repeat's network has its own.
    pub seed: u64,
}

/// How often each cell runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Repeats {
    /// So often.
    Fixed(usize),
    /// At least five times, then until the half-width of the 95 % interval of every metric is under this part of its
    /// mean, at most thirty times.
    Until(f64),
}

impl Repeats {
    /// Repeats that every cell gets.
    pub fn least(self) -> usize {
        match self {
            Self::Fixed(count) => count,
            Self::Until(_) => LEAST_ADAPTIVE,
        }
    }

    /// Repeats that a cell gets at most.
    pub fn most(self) -> usize {
        match self {
            Self::Fixed(count) => count,
            Self::Until(_) => MOST_ADAPTIVE,
        }
    }
}

impl Experiment {
    /// The experiment of a document, if it has one. Read before the rest, because the rest depends on a cell.
    ///
    /// # Errors
    /// The faults in it: levels that are none, names that cannot be written `$NAME`, factors that nothing uses.
    pub fn of(document: &Value) -> Result<Option<Self>, Vec<Diagnostic>> {
        let Value::Map(map) = document else { return Ok(None) };
        let Some(value) = map.get("experiment") else { return Ok(None) };
        let Decoded::<ExperimentFile> { value: file, mut faults } = decode_parts(value);
        let Some(file) = file else { return Err(faults) };
        let seed = file.seed.or_else(|| written_seed(map)).unwrap_or(1);
        let mut factors = Vec::new();
        for (name, factor) in &file.factors {
            match levels(name, factor) {
                Ok(levels) => factors.push(Factor { name: name.clone(), levels }),
                Err(fault) => faults.push(fault),
            }
        }
        faults.extend(unused(document, &file.factors));
        let cells = cells(&factors, file.design.as_ref(), seed, value.span());
        let repeats = repeats(file.repeats.as_ref());
        match (cells, repeats) {
            (Ok(cells), Ok(repeats)) if faults.is_empty() => Ok(Some(Self { factors, cells, repeats, seed })),
            (cells, repeats) => {
                faults.extend(cells.err());
                faults.extend(repeats.err());
                Err(faults)
            }
        }
    }

    /// The levels of a cell in words: `queue=10ms control=cubic`.
    pub fn describe(&self, cell: &Cell) -> String {
        let levels = self.factors.iter().zip(&cell.levels);
        let words: Vec<String> =
            levels.map(|(factor, level)| format!("{}={}", factor.name, level.text)).collect();
        words.join(" ")
    }

    /// The document of one cell: its levels stand where the file names them.
    pub fn document(&self, document: &Value, cell: &Cell) -> Value {
        let mut filled = document.clone();
        let Value::Map(map) = &mut filled else { return filled };
        let level = |name: &str| {
            let index = self.factors.iter().position(|factor| factor.name == name)?;
            cell.levels.get(index).map(|level| level.text.as_str())
        };
        for entry in map.entries.iter_mut().filter(|entry| entry.key != "experiment") {
            entry.value.fill(&mut |name| level(name));
        }
        filled
    }
}

fn levels(name: &str, factor: &Spanned<FactorFile>) -> Result<Levels, Diagnostic> {
    let starts = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    if !starts || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(Diagnostic::new(factor.span, format!("`${name}` cannot stand for a factor"))
            .help("name it with letters, digits and `_`"));
    }
    match &factor.value {
        FactorFile::List(levels) if levels.is_empty() => {
            Err(Diagnostic::new(factor.span, format!("`{name}` has no level")).help("write at least one"))
        }
        FactorFile::List(levels) => Ok(Levels::List(levels.iter().map(|level| Level::of(level)).collect())),
        FactorFile::Range(range) => {
            let scale = match range.scale {
                ScaleFile::Linear => Scale::Linear,
                ScaleFile::Log => Scale::Logarithmic,
            };
            Range::new(&range.from.0, &range.to.0, scale, range.levels.unwrap_or(2))
                .map(Levels::Range)
                .map_err(|error| range_fault(factor.span, &error))
        }
    }
}

fn range_fault(span: Span, error: &RangeError) -> Diagnostic {
    let help = match error {
        RangeError::NoQuantity(_) => "write both ends as quantities, or the levels as a list",
        RangeError::Units(..) => "write both ends in one unit",
        RangeError::Logarithm => "begin above nought, or write `scale: linear`",
        RangeError::Levels => "write `levels: 2` or more, or the level as a list of one",
    };
    Diagnostic::new(span, error.to_string()).help(help)
}

/// The seed of the whole file. One that is a factor's level is none of the experiment's.
fn written_seed(file: &Map) -> Option<u64> {
    match file.get("seed")? {
        Value::Scalar(Scalar::Int(seed, _), _) => u64::try_from(*seed).ok(),
        _ => None,
    }
}

/// A factor that nothing names changes nothing: a slip of the pen.
fn unused(document: &Value, factors: &IndexMap<String, Spanned<FactorFile>>) -> Vec<Diagnostic> {
    let mut used = vec![false; factors.len()];
    let Value::Map(map) = document else { return Vec::new() };
    for entry in map.entries.iter().filter(|entry| entry.key != "experiment") {
        entry.value.clone().fill(&mut |name| {
            if let Some(index) = factors.get_index_of(name) {
                used[index] = true;
            }
            None
        });
    }
    let faults = factors.iter().zip(used).filter(|(_, used)| !used);
    faults
        .map(|((name, factor), _)| {
            Diagnostic::new(factor.span, format!("nothing depends on the factor `{name}`"))
                .help(format!("write `${name}` where its level belongs, as in `delay: ${name}`"))
        })
        .collect()
}

fn cells(
    factors: &[Factor],
    design: Option<&Spanned<DesignFile>>,
    seed: u64,
    whole: Span,
) -> Result<Vec<Cell>, Diagnostic> {
    let span = design.map_or(whole, |design| design.span);
    let fault = |what: String, help: &str| Err(Diagnostic::new(span, what).help(help));
    match design.map(|design| design.value) {
        Some(DesignFile::SpaceFilling(_)) if factors.is_empty() => {
            fault("a space-filling design needs factors".to_owned(), "add `factors:`")
        }
        Some(DesignFile::SpaceFilling(0)) => fault("a design has at least one cell".to_owned(), "write 30"),
        Some(DesignFile::SpaceFilling(count)) if count <= MOST_CELLS => Ok(spread(factors, count, seed)),
        Some(DesignFile::SpaceFilling(count)) => {
            fault(format!("{count} cells are more than {MOST_CELLS}"), "ask for fewer")
        }
        Some(DesignFile::Full) | None => {
            let mut sizes = factors.iter().map(|factor| factor.levels.count());
            match sizes.try_fold(1usize, |product, size| product.checked_mul(size)) {
                Some(count) if count <= MOST_CELLS => Ok(full(factors)),
                _ => fault(
                    format!("these factors have more than {MOST_CELLS} combinations"),
                    "take fewer levels, or `design: {space_filling: 100}`",
                ),
            }
        }
    }
}

fn repeats(written: Option<&Spanned<RepeatsFile>>) -> Result<Repeats, Diagnostic> {
    let Some(written) = written else { return Ok(Repeats::Fixed(1)) };
    let fault = |what: &str, help: &str| Err(Diagnostic::new(written.span, what).help(help));
    match written.value {
        RepeatsFile::Fixed(0) => fault("a cell runs at least once", "write 5"),
        RepeatsFile::Fixed(count) if count > 10_000 => fault("more than 10,000 repeats", "write 30"),
        RepeatsFile::Fixed(count) => Ok(Repeats::Fixed(count)),
        RepeatsFile::Until(share) if share <= 0.0 => {
            fault("an interval of nothing is never reached", "write `{until: 5%}`")
        }
        RepeatsFile::Until(share) => Ok(Repeats::Until(share)),
    }
}
