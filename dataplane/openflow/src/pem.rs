//! Keys and certificates in PEM.

use crate::security::NotSecure;
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::Path;

fn at(path: &Path, why: &dyn ToString) -> NotSecure {
    NotSecure::File { path: path.to_owned(), why: why.to_string() }
}

/// A certificate and a key that cannot be shown together.
pub fn unlike(certificate: &Path, key: &Path, why: &dyn ToString) -> NotSecure {
    let (certificate, key) = (certificate.display(), key.display());
    NotSecure::Refused(format!("with {certificate} and {key}: {}", why.to_string()))
}

/// A certificate, with what leads to a root.
///
/// # Errors
/// The file cannot be read, or holds none.
pub fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, NotSecure> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    match read {
        Ok(found) if found.is_empty() => Err(at(path, &"it holds no certificate in PEM")),
        Ok(found) => Ok(found),
        Err(why) => Err(at(path, &why)),
    }
}

/// A private key. No error's message holds any of it.
///
/// # Errors
/// The file cannot be read, or holds none.
pub fn key(path: &Path) -> Result<PrivateKeyDer<'static>, NotSecure> {
    PrivateKeyDer::from_pem_file(path).map_err(|why| at(path, &why))
}

/// The certificates of those that are trusted.
///
/// # Errors
/// The file cannot be read, or holds none.
pub fn authorities(path: &Path) -> Result<RootCertStore, NotSecure> {
    let mut roots = RootCertStore::empty();
    for root in chain(path)? {
        roots.add(root).map_err(|why| at(path, &why))?;
    }
    Ok(roots)
}
