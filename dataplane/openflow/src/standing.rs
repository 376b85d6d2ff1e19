//! What a controller is beside others: what it wants to be, and who waits for switches' answers.

use plait_control_openflow::{Candidacy, NotGranted, NotTold, Role};
use std::sync::mpsc::Sender;
use std::time::{Duration, SystemTime};

/// What a switch has said of a role: its datapath, and which it is or why not.
pub type Said = (u64, Result<Role, NotGranted>);

/// What a controller wants to be to each switch, those that are yet to connect among them.
#[derive(Debug, Default)]
pub struct Standing {
    pub candidacy: Candidacy,
    /// Who has changed it, if somebody waits for what switches say of it.
    pub waits: Option<Sender<Said>>,
}

/// Why no switch was asked for a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAsked {
    /// Its own is newer.
    #[error(
        "the election {asked} is older than {known}, in which this controller stands already: leave the number out, or give a greater one"
    )]
    Older {
        /// That of the question.
        asked: u64,
        /// Its own.
        known: u64,
    },
    /// There is one question at a time.
    #[error("another change of the role is under way: ask again when it is done")]
    Busy,
}

/// Why a switch does not have the controller as what it wants to be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoRole {
    /// It said why.
    #[error(transparent)]
    NotGranted(#[from] NotGranted),
    /// It was not asked.
    #[error(transparent)]
    NotTold(#[from] NotTold),
    /// It is slow, or gone.
    #[error("the switch did not answer in {0:?}")]
    Slow(Duration),
}

impl Standing {
    /// What is wanted next, by a controller that has wanted this before. Without a number, that of a new election.
    ///
    /// Choice: microseconds since 1970. Whoever is made master later is master, wherever it runs and whatever it ran before,
    /// as far as the clocks of the machines agree; and JSON's numbers can say it. An election that is held elsewhere has numbers
    /// of its own.
    ///
    /// # Errors
    /// [`NotAsked::Older`].
    pub fn next(before: Candidacy, role: Role, generation: Option<u64>) -> Result<Candidacy, NotAsked> {
        // Nobody stands in election 0 but who asks for it.
        let known = before.generation;
        if role != Role::Master {
            return Ok(Candidacy { role, generation: known });
        }
        if let Some(asked) = generation.filter(|asked| known != 0 && is_older(*asked, known)) {
            return Err(NotAsked::Older { asked, known });
        }
        let clock = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(1, |time| time.as_micros() as u64);
        let newer = if known == 0 || is_older(known, clock) { clock } else { known.wrapping_add(1) };
        Ok(Candidacy { role, generation: generation.unwrap_or(newer) })
    }
}

/// As switches compare them (1.3.5 section 6.3.6): round a circle, half of which is older.
fn is_older(one: u64, other: u64) -> bool {
    (one.wrapping_sub(other) as i64) < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_election_of_a_master_is_newer_than_all_that_it_knows() {
        let none = Candidacy::default();
        let next = |before, generation| Standing::next(before, Role::Master, generation);
        let first = next(none, None).unwrap();
        let second = next(first, None).unwrap();
        assert!(first.generation > 1 << 50 && is_older(first.generation, second.generation));
        // A clock that is behind, and numbers that begin again.
        for known in [first.generation + (1 << 40), u64::MAX, u64::MAX - 1] {
            let before = Candidacy { generation: known, ..first };
            assert!(is_older(known, next(before, None).unwrap().generation), "{known}");
            let asked = known - 1;
            assert_eq!(next(before, Some(asked)), Err(NotAsked::Older { asked, known }));
            assert_eq!(next(before, Some(known)).unwrap().generation, known);
        }
        // Any will do for the first, and who gives a role up is newer when it comes back.
        assert_eq!(next(none, Some(u64::MAX)).unwrap().generation, u64::MAX);
        let slave = Standing::next(second, Role::Slave, None).unwrap();
        assert!(is_older(second.generation, next(slave, None).unwrap().generation));
    }
}
