//! The part all quantities share: a decimal number followed by a unit.

use thiserror::Error;

/// Why a written quantity was refused. The text is complete: it says what was expected and how to write it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum QuantityError {
    /// A number without its unit.
    #[error("`{text}` has no unit: write one of {units}, for example `{example}`")]
    NoUnit {
        /// What was written.
        text: String,
        /// The units that fit.
        units: &'static str,
        /// A well-formed value.
        example: String,
    },
    /// A unit that does not exist or is ambiguous.
    #[error("`{unit}` is not a unit of {what}: use one of {units}")]
    UnknownUnit {
        /// The unit as written.
        unit: String,
        /// What kind of quantity was expected.
        what: &'static str,
        /// The units that fit.
        units: &'static str,
    },
    /// Not a number at all.
    #[error("`{text}` is not a {what}: write a number and a unit, for example `{example}`")]
    NotANumber {
        /// What was written.
        text: String,
        /// What kind of quantity was expected.
        what: &'static str,
        /// A well-formed value.
        example: &'static str,
    },
    /// A number outside what the type can hold.
    #[error("`{text}` is out of range: {what} goes from {range}")]
    OutOfRange {
        /// What was written.
        text: String,
        /// What kind of quantity was expected.
        what: &'static str,
        /// The range allowed.
        range: &'static str,
    },
}

/// The largest count of base units that can be written: above it, arithmetic on sums of quantities could overflow.
const MAX: u64 = 9_000_000_000_000_000_000;

/// How one kind of quantity is written: its name, its units with their size in the base unit, and an example.
pub(crate) struct Grammar {
    pub what: &'static str,
    /// Unit and its size, largest first; the first that divides a value exactly is used for printing.
    pub units: &'static [(&'static str, u64)],
    /// Other spellings that are read but never printed.
    pub aliases: &'static [(&'static str, u64)],
    pub list: &'static str,
    pub example: &'static str,
    pub range: &'static str,
}

impl Grammar {
    /// Reads a number and a unit as a count of the base unit, rounded to the nearest.
    pub fn parse(&self, text: &str) -> Result<u64, QuantityError> {
        let trimmed = text.trim();
        let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let unit = unit.trim();
        // Exact decimal arithmetic: a float would lose the last bits of large counts.
        let not_a_number =
            || QuantityError::NotANumber { text: text.to_owned(), what: self.what, example: self.example };
        let out_of_range =
            || QuantityError::OutOfRange { text: text.to_owned(), what: self.what, range: self.range };
        let (whole, fraction) = match number.split_once('.') {
            Some((whole, fraction)) if !whole.is_empty() && !fraction.is_empty() => (whole, fraction),
            None if !number.is_empty() => (number, ""),
            _ => return Err(not_a_number()),
        };
        if fraction.contains('.') {
            return Err(not_a_number());
        }
        if whole.len() > 19 || fraction.len() > 18 {
            return Err(out_of_range());
        }
        let digits: u128 = format!("{whole}{fraction}").parse().map_err(|_| not_a_number())?;
        let scale = 10u128.pow(fraction.len() as u32);
        if unit.is_empty() {
            // Nought is nought in every unit.
            if digits == 0 {
                return Ok(0);
            }
            let unit = self.example.trim_start_matches(|c: char| c.is_ascii_digit());
            return Err(QuantityError::NoUnit {
                text: text.to_owned(),
                units: self.list,
                example: format!("{number}{unit}"),
            });
        }
        let size = self
            .units
            .iter()
            .chain(self.aliases)
            .find(|(name, _)| *name == unit)
            .map(|(_, size)| *size)
            .ok_or_else(|| QuantityError::UnknownUnit {
                unit: unit.to_owned(),
                what: self.what,
                units: self.list,
            })?;
        let scaled = digits
            .checked_mul(u128::from(size))
            .and_then(|product| product.checked_add(scale / 2))
            .ok_or_else(out_of_range)?
            / scale;
        u64::try_from(scaled).ok().filter(|&value| value <= MAX).ok_or_else(out_of_range)
    }

    /// Prints a count of the base unit in the largest unit that needs at most three decimals.
    pub fn print(&self, value: u64, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for &(unit, size) in self.units {
            if value < size {
                continue;
            }
            let thousandths = value as u128 * 1000;
            if !thousandths.is_multiple_of(u128::from(size)) {
                continue;
            }
            let thousandths = thousandths / size as u128;
            let (whole, rest) = (thousandths / 1000, thousandths % 1000);
            if rest == 0 {
                return write!(f, "{whole}{unit}");
            }
            let rest = format!("{rest:03}");
            return write!(f, "{whole}.{}{unit}", rest.trim_end_matches('0'));
        }
        let (unit, _) = self.units.last().expect("a grammar has units");
        write!(f, "{value}{unit}")
    }
}

/// Gives a quantity its written form: `FromStr`, `Display`, serde as a string, and a JSON Schema with a pattern.
macro_rules! written {
    ($type:ident, $pattern:expr, $example:expr) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Written;
                impl serde::de::Visitor<'_> for Written {
                    type Value = $type;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(f, concat!("a value with its unit, for example `", $example, "`"))
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                    // A bare number reaches the parser too, so that its error names the missing unit.
                    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<$type, E> {
                        self.visit_str(&number.to_string())
                    }
                    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<$type, E> {
                        self.visit_str(&number.to_string())
                    }
                    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<$type, E> {
                        self.visit_str(&number.to_string())
                    }
                }
                deserializer.deserialize_any(Written)
            }
        }
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": ["string", "number"], "pattern": $pattern, "examples": [$example],
                    "maximum": 0, "minimum": 0 })
            }
        }
    };
}
pub(crate) use written;
