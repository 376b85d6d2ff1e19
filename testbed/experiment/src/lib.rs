//! Runs: timed events, collectors, results folders and reports.
