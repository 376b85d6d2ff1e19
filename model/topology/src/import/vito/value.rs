//! Values that factors may stand for.

use super::super::hint::remedy;
use super::element::Element;
use crate::diagnostic::Diagnostic;
use indexmap::IndexMap;
use plait_model_quantity::TimeSpan;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt::Display;
use std::str::FromStr;

/// More levels than anybody waits for.
const MOST_LEVELS: usize = 100;
/// More factors than a question has.
const MOST_FACTORS: usize = 16;

/// What varies between runs: levels by name.
#[derive(Default)]
pub(super) struct Factors<'a> {
    levels: IndexMap<&'a str, Vec<&'a str>>,
    /// Those that something in the XML depends on, and those of them that something here depends on.
    used: RefCell<HashSet<&'a str>>,
    kept: RefCell<HashSet<&'a str>>,
    unused: Vec<(&'a str, Diagnostic)>,
}

impl<'a> Factors<'a> {
    pub fn read(root: &Element<'a, '_>) -> Result<Self, Diagnostic> {
        let mut factors = Self::default();
        for factor in root.children("factor") {
            let name = factor.required("name")?;
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if !name.chars().all(word) || name.starts_with(|c: char| c.is_ascii_digit()) {
                return Err(factor.fault(
                    format!("`${name}` cannot stand for a factor"),
                    "use letters, digits and `_`, and begin with a letter",
                ));
            }
            let levels: Vec<&str> = factor.required("levels")?.split_whitespace().collect();
            if levels.len() > MOST_LEVELS || factors.levels.len() >= MOST_FACTORS {
                return Err(factor.fault("these are too many cells", "give fewer factors and levels"));
            }
            if factors.levels.insert(name, levels).is_some() {
                return Err(factor.fault(format!("factor `{name}` is given twice"), "remove one of them"));
            }
            let help = format!("write `${name}` where a level belongs, or remove it");
            factors
                .unused
                .push((name, factor.fault(format!("nothing depends on the factor `{name}`"), help)));
        }
        Ok(factors)
    }

    /// The levels that a text stands for: those of its factor, or itself.
    pub fn levels(&self, element: Element<'a, '_>, text: &'a str) -> Result<Vec<&'a str>, Diagnostic> {
        let Some(name) = text.strip_prefix('$') else { return Ok(vec![text]) };
        let Some((name, levels)) = self.levels.get_key_value(name) else {
            let known: Vec<&str> = self.levels.keys().copied().collect();
            return Err(element.fault(format!("unknown factor `{name}`"), remedy(name, known)));
        };
        self.used.borrow_mut().insert(name);
        Ok(levels.clone())
    }

    /// A quantity as it is written, each of its levels checked. What nothing here is made of asks by
    /// [`Factors::check`].
    pub fn quantity<T>(&self, element: Element<'a, '_>, name: &str) -> Result<Option<Value>, Diagnostic>
    where
        T: FromStr<Err: Display>,
    {
        let value = self.check::<T>(element, name)?;
        if let Some(name) = value.as_ref().and_then(|value| value.as_str()?.strip_prefix('$')) {
            self.kept.borrow_mut().extend(self.levels.get_key_value(name).map(|(name, _)| *name));
        }
        Ok(value)
    }

    /// A quantity that is only checked.
    pub fn check<T>(&self, element: Element<'a, '_>, name: &str) -> Result<Option<Value>, Diagnostic>
    where
        T: FromStr<Err: Display>,
    {
        let Some(text) = element.attribute(name) else { return Ok(None) };
        for level in self.levels(element, text)? {
            level
                .parse::<T>()
                .map_err(|error| element.fault(format!("{name}: {error}"), format!("mend `{name}`")))?;
        }
        Ok(Some(json!(text)))
    }

    /// Whether a time is nought, or may be.
    pub fn may_be_nought(&self, element: Element<'a, '_>, name: &str) -> Result<bool, Diagnostic> {
        let Some(text) = element.attribute(name) else { return Ok(true) };
        let nought = |level: &str| level.parse::<TimeSpan>().is_ok_and(|time| time == TimeSpan::ZERO);
        Ok(self.levels(element, text)?.into_iter().any(nought))
    }

    /// Notes the factors that a command line names.
    pub fn note(&self, line: &str) {
        for piece in line.split('$').skip(1) {
            let end = piece.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(piece.len());
            if let Some((name, _)) = self.levels.get_key_value(&piece[..end]) {
                self.used.borrow_mut().insert(name);
                self.kept.borrow_mut().insert(name);
            }
        }
    }

    /// Every factor changes something.
    pub fn all_used(self) -> Result<(), Diagnostic> {
        let used = self.used.into_inner();
        match self.unused.into_iter().find(|(name, _)| !used.contains(name)) {
            Some((_, fault)) => Err(fault),
            None => Ok(()),
        }
    }

    /// The section of the file, and the factors that nothing in it depends on.
    pub fn section(&self) -> (Option<Value>, Vec<&'a str>) {
        let kept = self.kept.borrow();
        let levels: IndexMap<_, _> = self.levels.iter().filter(|(name, _)| kept.contains(*name)).collect();
        let used = self.used.borrow();
        let lost = used.iter().filter(|name| !kept.contains(*name)).copied().collect();
        ((!levels.is_empty()).then(|| json!(levels)), lost)
    }
}
