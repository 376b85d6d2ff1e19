//! TLS between controller and switches, each with a certificate (1.3.5 section 6.3.4).

use crate::pem;
use crate::stream::Stream;
use rustls::crypto::ring;
use rustls::server::WebPkiClientVerifier;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a controller shows, and whom it trusts. A switch without a certificate of these authorities is no switch.
#[derive(Debug, Clone)]
pub struct Security(Arc<ServerConfig>);

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum NotSecure {
    /// A file cannot be read, or holds no such thing.
    #[error("{}: {why}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// Key and certificate do not belong together, or are of a kind that is not safe any more.
    #[error("TLS cannot be: {0}")]
    Refused(String),
}

impl Security {
    /// From PEM files: the controller's key, its certificate with what leads to a root, and the authorities whose
    /// certificates switches show.
    ///
    /// # Errors
    /// [`NotSecure`]. No message holds a key.
    pub fn load(key: &Path, certificate: &Path, authorities: &Path) -> Result<Self, NotSecure> {
        let private = pem::key(key)?;
        let refused = |why: &dyn ToString| NotSecure::Refused(why.to_string());
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(
            Arc::new(pem::authorities(authorities)?),
            provider.clone(),
        )
        .build()
        .map_err(|why| refused(&why))?;
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|why| refused(&why))?
            .with_client_cert_verifier(verifier)
            .with_single_cert(pem::chain(certificate)?, private)
            .map_err(|why| pem::unlike(certificate, key, &why))?;
        Ok(Self(Arc::new(config)))
    }

    pub(crate) fn accept(&self, stream: TcpStream) -> Result<Stream, NotSecure> {
        let connection =
            ServerConnection::new(self.0.clone()).map_err(|why| NotSecure::Refused(why.to_string()))?;
        Ok(Stream::Secure(Box::new(StreamOwned::new(connection, stream))))
    }
}
