//! OpenFlow, held against itself, against os_ken's messages and against Open vSwitch.

mod hostile;
mod meaning;
mod open_vswitch;
mod samples;
mod stream;
mod switch;
mod tables;
mod vectors;
mod witness;
mod words;
