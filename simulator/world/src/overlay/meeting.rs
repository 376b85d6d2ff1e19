//! Members that find each other.

use crate::world::World;
use std::time::Duration;

/// From one look at whether members know each other to the next.
const LOOK: Duration = Duration::from_millis(100);

impl World {
    /// Lets time pass until all members of all overlays that decide have ways to each other and to their groups, or an instant.
    /// Whether they have.
    pub fn meet(&mut self, most: Duration) -> bool {
        loop {
            if self.have_met() {
                return true;
            }
            let now = self.now();
            if now >= most {
                return false;
            }
            self.run_until(most.min(now + LOOK));
        }
    }

    fn have_met(&self) -> bool {
        self.overlays.all.iter().all(|overlay| {
            overlay.ids.iter().enumerate().all(|(place, own)| {
                let Some(control) = overlay.member(self, place).and_then(|member| member.control()) else {
                    return true;
                };
                let routes = control.routes();
                let is_alone = overlay.ids.len() < 2;
                let others = overlay.ids.iter().filter(|id| *id != own);
                others.chain(overlay.group.iter().filter(|_| !is_alone)).all(|to| routes.contains_key(to))
            })
        })
    }
}
