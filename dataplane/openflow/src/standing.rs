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
        let known = before.generation;
        if role != Role::Master {
            return Ok(Candidacy { role, generation: known });
        }
        if let Some(asked) = generation.filter(|asked| *asked < known) {
            return Err(NotAsked::Older { asked, known });
        }
        let clock = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |time| time.as_micros() as u64);
        Ok(Candidacy { role, generation: generation.unwrap_or(clock.max(known + 1)) })
    }
}
