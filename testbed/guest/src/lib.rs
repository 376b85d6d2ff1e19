//! Guests: nodes with a kernel of their own.
//!
//! What this machine's kernel lacks (netem, Geneve, WireGuard, MPLS, …) the distribution's kernel has. A
//! guest runs that kernel in QEMU, inside a node of a running testbed, and takes the node's place on its
//! links: same interfaces, hardware addresses, addresses and routes. Packets go host → Plait's link → guest →
//! Plait's link → host.
//!
//! ```no_run
//! use plait_testbed_guest::{Equipment, Guest, Image};
//! use plait_testbed_runtime::control::Testbed;
//!
//! let testbed = Testbed::find(Some("lab"))?;
//! let mut guest = Guest::start(&testbed, "r", &Equipment::new(Image::prepare(&[])?))?;
//! guest.disciplines("eth1", &["netem delay 10ms", "tbf rate 20mbit burst 16kb latency 50ms"])?;
//! println!("{}", guest.shell("tc -s qdisc show dev eth1")?);
//! # std::io::Result::Ok(())
//! ```
//!
//! Read in this order:
//!
//! 1. [`Image`] – the kernel and the root file system, made once and kept;
//! 2. [`Guest`] – a running guest: commands, files, disciplines; [`Equipment`] – what it starts with;
//! 3. `machine` – QEMU's command line, and how it gets at the node's interfaces (`inside/join.sh`);
//! 4. `channel` – the conversation with process 1 of the guest (`inside/init.sh`);
//! 5. `identity` – a node's place on the network as commands for the guest.
//!
//! **Nothing is left.** QEMU is a program of its node, so it ends with the one who started it and with the
//! testbed. What it boots comes to it through a descriptor, and its disk is its memory: there is no file to
//! leave behind.
//!
//! Choice: guests are always emulated (TCG), also where KVM would serve. A node sees no `/dev/kvm`, which is
//! a door to the machine, and figures from two machines then differ by their speed alone. An emulated guest
//! boots in seconds and carries some hundred Mbit/s: enough for functions and ratios, not for absolute
//! performance.
#![forbid(unsafe_code)]

mod archive;
mod channel;
mod debian;
mod guest;
mod identity;
mod image;
mod machine;

pub use channel::Ended;
pub use guest::{Equipment, Guest};
pub use image::Image;
