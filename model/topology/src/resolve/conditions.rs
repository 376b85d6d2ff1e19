//! The conditions of a link: preset, defaults, both directions, the reverse direction.

use super::Resolver;
use crate::diagnostic::{Diagnostic, suggest};
use crate::document::{Map, Span, Spanned, decode_open};
use plait_model_link::{Conditions, ConditionsSpec, preset, preset_names};

/// Both directions as written and as resolved.
pub(super) struct Both {
    pub specs: [ConditionsSpec; 2],
    pub conditions: [Conditions; 2],
    /// Keys that are no conditions.
    pub rest: Map,
}

impl Resolver<'_> {
    /// `keys` holds the condition keys for both directions, `reverse` what differs on the way back. What is at fault
    /// counts as not written.
    pub(super) fn conditions(
        &mut self,
        keys: &Map,
        reverse: Option<ConditionsSpec>,
        named: Option<&Spanned<String>>,
        span: Span,
    ) -> Both {
        let (forward, rest) = decode_open::<ConditionsSpec>(keys);
        let forward = self.keep(forward).unwrap_or_default();
        let mut specs = [forward.clone(), reverse.unwrap_or_default().merge(&forward)];
        if let Some(name) = named {
            match preset(name) {
                Some(preset) => {
                    specs[0] = specs[0].merge(&preset.forward);
                    specs[1] = specs[1].merge(&preset.reverse);
                }
                None => {
                    let known: Vec<_> = preset_names().collect();
                    self.fault(
                        Diagnostic::new(name.span, format!("unknown preset `{}`", name.value))
                            .help(suggest(name, known.iter().copied())),
                    );
                }
            }
        }
        let conditions = [&specs[0], &specs[1]].map(|spec| {
            spec.build(self.read).unwrap_or_else(|error| {
                self.fault(Diagnostic::new(span, error.to_string()));
                Conditions::default()
            })
        });
        Both { specs, conditions, rest }
    }
}
