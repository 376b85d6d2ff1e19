//! A command that has ended, and what is expected of it.

use serde_json::Value;
use std::process::ExitStatus;

/// A command that has ended.
#[derive(Debug)]
pub struct Ended {
    pub what: String,
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// It succeeded; its output.
    #[track_caller]
    pub fn fine(self) -> String {
        assert!(self.status.success(), "{self:#?}");
        self.stdout
    }

    /// It failed with this code; what it said on standard error.
    #[track_caller]
    pub fn fails(self, code: i32) -> String {
        assert_eq!(self.status.code(), Some(code), "{self:#?}");
        self.stderr
    }

    /// It failed with this code and said all of this.
    #[track_caller]
    pub fn fails_saying(self, code: i32, words: &[&str]) {
        assert_eq!(self.status.code(), Some(code), "{self:#?}");
        for word in words {
            assert!(self.stderr.contains(word), "`{word}` is not in what was said: {self:#?}");
        }
    }

    /// It succeeded and answered JSON.
    #[track_caller]
    pub fn json(self) -> Value {
        assert!(self.status.success(), "{self:#?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// Its exit code.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }
}
