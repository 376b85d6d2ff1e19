//! Testbeds: one supervisor process that owns the namespaces of a network.

pub mod sample;
