//! A link of a testbed, while packets flow.

use crate::error::Error;
use crate::fault::Origin;
use crate::named::read_text;
use crate::network::Conditions;
use plait_model_link::ConditionsSpec;
use plait_model_topology::document::{Source, decode_parts, parse};
use plait_model_topology::yaml::flow;
use plait_testbed_experiment::testbed::verified;
use plait_testbed_experiment::world::Verification;
use plait_testbed_runtime::control;
use std::path::Path;

/// A link of a testbed, to change, cut or measure it. From [`Testbed::link`](crate::Testbed::link).
///
/// What is done is done to both directions, unless [`forward`](OnLink::forward) or
/// [`backward`](OnLink::backward) chose one.
#[must_use = "nothing changes before a method says what"]
pub struct OnLink<'t> {
    testbed: &'t control::Testbed,
    link: &'t str,
    direction: Option<usize>,
}

impl<'t> OnLink<'t> {
    pub(super) fn new(testbed: &'t control::Testbed, link: &'t str) -> Self {
        Self { testbed, link, direction: None }
    }

    /// Means the direction in the order of the link's name only.
    pub fn forward(self) -> Self {
        Self { direction: Some(0), ..self }
    }

    /// Means the direction against the order of the link's name only.
    pub fn backward(self) -> Self {
        Self { direction: Some(1), ..self }
    }

    /// Lays conditions over those it has; `"none"` takes one away. Packets in its queue stay there.
    ///
    /// # Errors
    /// Conditions that cannot be; or a link that was not made so that it can change: give it
    /// [`Link::dynamic`](crate::Link::dynamic), or the testbed [`Up::live`](crate::Up::live).
    pub fn set(&self, change: impl FnOnce(Conditions) -> Conditions) -> Result<(), Error> {
        let spec = read(change(Conditions::new()))?;
        let text = |path: &str| Ok((path.to_owned(), read_text(Path::new(path))?));
        let traces = spec.traces().into_iter().map(text).collect::<Result<_, Error>>()?;
        Ok(self.testbed.set_link(self.link, self.direction, spec, traces).map(drop)?)
    }

    /// Lets nothing through.
    ///
    /// # Errors
    /// When there is no such link.
    pub fn fail(&self) -> Result<(), Error> {
        Ok(self.testbed.fail_link(self.link, self.direction, true)?)
    }

    /// Lets packets through again.
    ///
    /// # Errors
    /// When there is no such link.
    pub fn recover(&self) -> Result<(), Error> {
        Ok(self.testbed.fail_link(self.link, self.direction, false)?)
    }

    /// Measures it against what was asked: both directions, within a few seconds each. The link should be
    /// idle.
    ///
    /// # Errors
    /// When there is no such link, or nothing comes through it.
    pub fn check(&self) -> Result<Vec<Verification>, Error> {
        Ok(verified(self.link, &self.testbed.check_link(self.link, false)?))
    }

    /// The same with all the time that the published accuracy needs.
    ///
    /// # Errors
    /// As of [`OnLink::check`].
    pub fn check_thoroughly(&self) -> Result<Vec<Verification>, Error> {
        Ok(verified(self.link, &self.testbed.check_link(self.link, true)?))
    }
}

/// Conditions as the file's reader understands them.
fn read(Conditions(written): Conditions) -> Result<ConditionsSpec, Error> {
    let source = Source::new("conditions", flow(written.value()));
    let document = parse(&source).map_err(|report| Error::Faulty(report.into()))?;
    let decoded = decode_parts::<ConditionsSpec>(&document);
    match decoded.value {
        Some(spec) if decoded.faults.is_empty() => Ok(spec),
        _ => Err(Error::Faulty(Origin::of(&written).faults(&source, &document, decoded.faults))),
    }
}
