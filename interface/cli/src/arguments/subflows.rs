//! How many subflows connections have.

use clap::Args;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  plait subflows --count 8                    on the host that opens connections\n  \
plait subflows --count 1                    on the host that they are opened to\n  mptcpize run iperf3 -c h2                   makes iperf3's connections Multipath TCP's"
)]
pub struct SubflowsArguments {
    /// Subflows of each connection that this host opens, 1 to 8
    #[arg(long, short = 'n', default_value_t = 2)]
    pub count: usize,
}
