//! Commands on links of a running testbed.

use super::Choice;
use clap::{Subcommand, ValueEnum};

#[derive(Subcommand)]
pub enum LinkCommand {
    /// Measure links against their request
    #[command(
        after_help = "Examples:\n  plait link check              all that are shaped\n  plait link check a-b --thorough"
    )]
    Check {
        #[command(flatten)]
        choice: Choice,
        /// The links; all shaped ones when none is named
        links: Vec<String>,
        /// Take the time the published accuracy needs
        #[arg(long)]
        thorough: bool,
    },
    /// Let nothing through a link
    #[command(visible_alias = "cut", after_help = "Example:\n  plait link fail a-b")]
    Fail {
        #[command(flatten)]
        choice: Choice,
        /// The link
        link: String,
    },
    /// Let packets through a failed link again
    #[command(visible_alias = "heal", after_help = "Example:\n  plait link recover a-b")]
    Recover {
        #[command(flatten)]
        choice: Choice,
        /// The link
        link: String,
    },
    /// Change conditions of a link while traffic flows
    #[command(
        after_help = "Examples:\n  plait link set a-b delay=50ms loss=1%\n  plait link set a-b rate=none --direction forward"
    )]
    Set {
        #[command(flatten)]
        choice: Choice,
        /// The link
        link: String,
        /// What changes: `delay=50ms loss=1% rate=10Mbit queue=50ms …`; `none` takes it away
        #[arg(required = true)]
        settings: Vec<String>,
        /// Which way; both when not given
        #[arg(long, value_enum)]
        direction: Option<Way>,
    },
    /// List links with their conditions
    #[command(visible_alias = "ls", after_help = "Example:\n  plait link show --json")]
    Show {
        #[command(flatten)]
        choice: Choice,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Way {
    /// From its first end to its second
    Forward,
    /// From its second end to its first
    Reverse,
}
