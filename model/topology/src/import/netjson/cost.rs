//! Costs of any kind of number, made whole.

use super::super::draft::{Draft, HIGHEST_COST};

/// The cost of each link, in the order of the links.
#[derive(Default)]
pub(super) struct Costs(Vec<Option<f64>>);

impl Costs {
    pub fn push(&mut self, cost: Option<f64>) {
        self.0.push(cost);
    }

    /// The cost that a link has and the one of its other direction, where they differ.
    pub fn differ(&self, link: usize, back: Option<f64>) -> Option<(f64, f64)> {
        let there = self.0[link].unwrap_or(1.0);
        let back = back.unwrap_or(1.0);
        (there != back).then_some((there, back))
    }

    /// Gives the links whole costs that routing can use, and says what became of the others.
    pub fn settle(self, draft: &mut Draft) {
        let highest = self.0.iter().flatten().copied().fold(0.0, f64::max);
        let broken = self.0.iter().flatten().any(|cost| cost.fract() != 0.0);
        let most = HIGHEST_COST as f64;
        let factor = if highest > most {
            draft.lose("costs", format!("the highest is {highest}; all were made smaller alike"), None);
            most / highest
        } else if broken && highest * 100.0 <= most {
            draft.lose("costs", "have fractions; all were multiplied by 100 and rounded", None);
            100.0
        } else {
            if broken {
                draft.lose("costs", "have fractions; all were rounded", None);
            }
            1.0
        };
        if self.0.iter().flatten().any(|cost| *cost == 0.0) {
            draft.lose("costs of 0", "became 1, the least there is", None);
        }
        for (link, cost) in draft.links.iter_mut().zip(self.0) {
            let cost = cost.unwrap_or(1.0) * factor;
            link.cost = Some(libm::round(cost).clamp(1.0, most) as u32);
        }
    }
}
