//! Flows of UDP datagrams: what sends, what counts, and which a pattern makes.

use super::run::at_least_one;
use clap::{Args, Subcommand, ValueEnum};
use plait_dataplane_traffic::Head;
use plait_model_quantity::{Bandwidth, ByteCount, TimeSpan};
use plait_model_traffic::Pattern;
use std::path::PathBuf;

#[derive(Args)]
pub struct TrafficArguments {
    #[command(subcommand)]
    pub command: TrafficCommand,
}

#[derive(Subcommand)]
pub enum TrafficCommand {
    /// Count what comes of each flow, and tell it at the end
    #[command(
        after_help = "Examples:\n  plait traffic listen                            until Ctrl-C\n  plait traffic listen --for 10s --json\n  \
plait exec h2 -- plait traffic listen           in a node of a testbed"
    )]
    Listen(ListenArguments),
    /// Send many flows from this host to one host or several
    #[command(
        after_help = "Examples:\n  plait traffic send h2 --rate 10Mbit\n  plait traffic send h2 h3 --flows 20 --rate 100Mbit --rates power-law --for 30s\n  \
plait exec h1 -- plait traffic send h2 --rate 1Mbit --size 512B"
    )]
    Send(SendArguments),
    /// Print the flows that a pattern makes, or those of a file, without sending any
    #[command(
        after_help = "Examples:\n  plait traffic plan --pattern 'stride(4)' --hosts 16 --rate 160Mbit\n  \
plait traffic plan --pattern permutation --hosts h1,h2,h3 --rate 1Gbit --rates random --seed 7\n  \
plait traffic plan net.yaml                     what its `traffic:` sends, in either world"
    )]
    Plan(PlanArguments),
    /// Carry a node's share of a run's traffic; `plait run` starts it
    #[command(hide = true)]
    Share {
        /// What to send and where to listen, as JSON, in as many pieces as it takes
        #[arg(required = true)]
        share: Vec<String>,
    },
}

#[derive(Args)]
pub struct ListenArguments {
    /// The ports to listen on, of IPv4 and IPv6
    #[arg(long, default_value = "60009", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Vec<u16>,
    /// How long; until Ctrl-C or SIGTERM when not said
    #[arg(long = "for", value_name = "TIME")]
    pub time: Option<TimeSpan>,
}

#[derive(Args)]
pub struct SendArguments {
    /// Who receives: names or addresses, to which flows go in turn
    #[arg(required = true, value_name = "HOST")]
    pub hosts: Vec<String>,
    #[command(flatten)]
    pub flows: FlowArguments,
    /// What all flows carry together, counted over whole Ethernet frames
    #[arg(long, value_parser = rate)]
    pub rate: Bandwidth,
    /// How long
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = some_time)]
    pub time: TimeSpan,
    /// The port of the first flow on this host; each has one of its own
    #[arg(long, default_value = "20000", value_parser = clap::value_parser!(u16).range(1..))]
    pub source_port: u16,
    /// Take names for IPv4 addresses only
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// Take names for IPv6 addresses only
    #[arg(short = '6', long)]
    pub ipv6: bool,
}

#[derive(Args)]
pub struct PlanArguments {
    /// A network file, whose `traffic:` is meant
    #[arg(required_unless_present = "pattern", conflicts_with_all = ["pattern", "hosts", "rate", "flows", "rates", "size", "port", "seed"])]
    pub file: Option<PathBuf>,
    /// Who sends to whom: random, stride(4), permutation, incast(0), one_to_all(0), all_to_all, pair(0,1)
    #[arg(long, requires_all = ["hosts", "rate"])]
    pub pattern: Option<Pattern>,
    /// The hosts, which patterns count from 0: how many, or their names with commas between them
    #[arg(long, value_delimiter = ',', requires = "pattern")]
    pub hosts: Vec<String>,
    #[command(flatten)]
    pub flows: FlowArguments,
    /// What all flows carry together, counted over whole Ethernet frames
    #[arg(long, value_parser = rate, requires = "pattern")]
    pub rate: Option<Bandwidth>,
}

/// What flows are like.
#[derive(Args)]
pub struct FlowArguments {
    /// How many flows; one round of the pattern, or one to each host, when not said
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub flows: Option<usize>,
    /// How the rate is shared among them
    #[arg(long, value_enum, default_value_t)]
    pub rates: RatesArgument,
    /// UDP payload of each datagram
    #[arg(long, default_value = "1024B", value_parser = size)]
    pub size: ByteCount,
    /// The port that receivers listen on
    #[arg(long, default_value = "60009", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,
    /// What is drawn by lot is drawn from this
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// A law by which a rate is shared.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum RatesArgument {
    /// The same for each
    #[default]
    Same,
    /// In proportion to numbers drawn evenly
    Random,
    /// In proportion to 1/rank: the second has half of the first, the third a third
    #[value(alias = "power_law")]
    PowerLaw,
}

fn rate(text: &str) -> Result<Bandwidth, String> {
    match text.parse::<Bandwidth>() {
        Ok(rate) if rate.bits_per_second() == 0 => {
            Err("nothing is sent at no rate: write 1kbit or more".to_owned())
        }
        Ok(rate) => Ok(rate),
        Err(error) => Err(error.to_string()),
    }
}

fn some_time(text: &str) -> Result<TimeSpan, String> {
    match text.parse::<TimeSpan>() {
        Ok(TimeSpan::ZERO) => Err("nothing is sent in no time: write 1s or more".to_owned()),
        Ok(time) => Ok(time),
        Err(error) => Err(error.to_string()),
    }
}

fn size(text: &str) -> Result<ByteCount, String> {
    let size = text.parse::<ByteCount>().map_err(|error| error.to_string())?;
    match size.bytes() {
        bytes if bytes < Head::LENGTH as u64 => {
            Err(format!("this is too short for what tells datagrams apart: write {}B or more", Head::LENGTH))
        }
        65_508.. => Err("a UDP datagram carries at most 65507B".to_owned()),
        _ => Ok(size),
    }
}
