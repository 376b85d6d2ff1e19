//! Keys and certificates, made as anybody makes them.

use std::path::PathBuf;
use std::process::Command;

/// A folder of keys and certificates: `ours` and `theirs` are authorities, the others signed by them.
pub struct Papers(tempfile::TempDir);

impl Papers {
    pub fn new() -> Self {
        let papers = Self(tempfile::tempdir().unwrap());
        for authority in ["ours", "theirs"] {
            papers.openssl(
                &["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"],
                authority,
            );
        }
        let signed = [("controller", "ours"), ("switch", "ours"), ("other", "ours"), ("stranger", "theirs")];
        for (name, authority) in signed {
            let (root, key) = (papers.path(authority, "pem"), papers.path(authority, "key"));
            let [root, key] = [&root, &key].map(|path| path.to_str().unwrap());
            let words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
            papers.openssl(
                &[&words[..], &["-CA", root, "-CAkey", key, "-addext", "basicConstraints=CA:FALSE"]].concat(),
                name,
            );
        }
        papers
    }

    fn openssl(&self, words: &[&str], name: &str) {
        let mut openssl = Command::new("openssl");
        openssl.args(words).args(["-days", "30", "-subj", &format!("/CN={name}")]);
        openssl.args(["-addext", &format!("subjectAltName=DNS:{name}")]);
        openssl.arg("-keyout").arg(self.path(name, "key")).arg("-out").arg(self.path(name, "pem"));
        let done = openssl.output().expect("openssl is among the packages of the tests");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    pub fn path(&self, name: &str, kind: &str) -> PathBuf {
        self.0.path().join(format!("{name}.{kind}"))
    }
}
