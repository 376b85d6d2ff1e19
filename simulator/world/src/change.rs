//! What events of a run do.

use crate::sample::Side;
use crate::world::{World, WorldError};
use plait_model_link::ConditionsSpec;
use std::sync::Arc;

impl World {
    /// Lays conditions over those that a link or LAN has, from now on; what is queued stays queued. `read` gives the text
    /// of a trace, or why it cannot. Of a LAN, forward is each member's way into it.
    ///
    /// # Errors
    /// There is no such link, or no such conditions; nothing was changed.
    pub fn set_link(
        &mut self,
        link: &str,
        side: Side,
        change: &ConditionsSpec,
        read: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<(), WorldError> {
        let (links, turned) = self.find(link)?;
        let side = if turned { side.turned() } else { side };
        let mut built = Vec::new();
        for &at in &links {
            for end in (0..2).filter(|end| side.includes(*end)) {
                let known = &self.links[at];
                let (spec, conditions) = change
                    .build_over(&known.specs[end], &known.conditions[end], read)
                    .map_err(|error| WorldError::new(format!("{link}: {error}")))?;
                built.push((at, end, spec, Arc::new(conditions)));
            }
        }
        for (at, end, spec, conditions) in built {
            let known = &mut self.links[at];
            known.specs[end] = spec;
            known.conditions[end] = Arc::clone(&conditions);
            self.simulation.set_conditions(known.index, end, conditions);
        }
        self.notice();
        self.decide()
    }

    /// Makes a link or LAN fail (it passes nothing, what is on it is lost) or recover.
    ///
    /// # Errors
    /// There is no such link.
    pub fn set_link_up(&mut self, link: &str, side: Side, up: bool) -> Result<(), WorldError> {
        let (links, turned) = self.find(link)?;
        let side = if turned { side.turned() } else { side };
        for at in links {
            for end in (0..2).filter(|end| side.includes(*end)) {
                self.simulation.set_link_up(self.links[at].index, end, up);
            }
        }
        self.notice();
        self.decide()
    }

    /// Makes a node fail (its links pass nothing, its protocols go on) or recover; a link that failed itself stays down.
    ///
    /// # Errors
    /// There is no such node.
    pub fn set_node_up(&mut self, node: &str, up: bool) -> Result<(), WorldError> {
        let node = self.node(node)?;
        self.simulation.set_node_up(node, up);
        self.notice();
        self.decide()
    }

    /// The links that a name means, and whether it names them the other way round.
    fn find(&self, name: &str) -> Result<(Vec<usize>, bool), WorldError> {
        if let Some(at) = self.network.link(name) {
            return Ok((vec![at], self.network.links[at].name != name));
        }
        let lan = self.network.lan(name);
        let named =
            |at: &usize| self.links[*at].name == name || (lan.is_some() && self.links[*at].lan == lan);
        let found: Vec<usize> = (0..self.links.len()).filter(named).collect();
        if found.is_empty() {
            return Err(WorldError::new(format!("no link or LAN is called `{name}`")));
        }
        Ok((found, false))
    }
}
