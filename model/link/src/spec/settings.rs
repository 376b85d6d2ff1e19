//! Conditions as settings on a command line: `delay=50ms loss=1%`.

use super::written::OrNone;
use super::{ConditionsError, ConditionsSpec};
use std::fmt::Display;

/// The names of all settings, which are the keys of [`ConditionsSpec`].
pub const SETTINGS: &[&str] =
    &["rate", "rate_trace", "delay", "jitter", "loss", "reorder", "duplicate", "corrupt", "queue"];

impl ConditionsSpec {
    /// Reads settings such as `("delay", "50ms")`. `none` or nought takes an impairment away. The full forms that
    /// need a map (Gilbert–Elliott, RED) are for files only.
    pub fn from_settings(settings: &[(&str, &str)]) -> Result<Self, ConditionsError> {
        let mut spec = Self::default();
        for (key, value) in settings {
            spec.parse_setting(key, value)?;
        }
        if spec.rate.is_some() && spec.rate_trace.is_some() {
            return Err(ConditionsError::TwoRates);
        }
        Ok(spec)
    }

    /// Reads one setting into these conditions.
    pub fn parse_setting(&mut self, key: &str, value: &str) -> Result<(), ConditionsError> {
        fn readable<T, E: Display>(key: &str, read: Result<T, E>) -> Result<Option<T>, ConditionsError> {
            read.map(Some).map_err(|error| ConditionsError::BadSetting {
                key: key.to_owned(),
                reason: error.to_string(),
            })
        }
        match key {
            "rate" => self.rate = readable(key, OrNone::parse(value))?,
            "rate_trace" => self.rate_trace = Some(value.to_owned()),
            "delay" => self.delay = readable(key, OrNone::parse(value))?,
            "jitter" => self.jitter = readable(key, value.parse())?,
            "loss" => self.loss = readable(key, value.parse())?,
            "reorder" => self.reorder = readable(key, OrNone::parse(value))?,
            "duplicate" => self.duplicate = readable(key, OrNone::parse(value))?,
            "corrupt" => self.corrupt = readable(key, OrNone::parse(value))?,
            "queue" => self.queue = readable(key, value.parse())?,
            _ => return Err(ConditionsError::UnknownSetting { key: key.to_owned() }),
        }
        Ok(())
    }
}
