//! TLS of emulated switches, each of which shows the same certificate.

use plait_dataplane_openflow::{NotSecure, pem};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme,
    StreamOwned,
};
use std::io;
use std::net::{IpAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;

/// What switches show, and whom they trust.
#[derive(Debug, Clone)]
pub struct Security(Arc<ClientConfig>);

impl Security {
    /// From PEM files: the switches' key, their certificate with what leads to a root, and the authorities whose certificate a
    /// controller shows.
    ///
    /// # Errors
    /// [`NotSecure`]. No message holds a key.
    pub fn load(key: &Path, certificate: &Path, authorities: &Path) -> Result<Self, NotSecure> {
        let private = pem::key(key)?;
        let refused = |why: &dyn ToString| NotSecure::Refused(why.to_string());
        let provider = Arc::new(ring::default_provider());
        let roots = Arc::new(pem::authorities(authorities)?);
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider.clone())
            .build()
            .map_err(|why| refused(&why))?;
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|why| refused(&why))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(OfAnyName(verifier)))
            .with_client_auth_cert(pem::chain(certificate)?, private)
            .map_err(|why| pem::unlike(certificate, key, &why))?;
        Ok(Self(Arc::new(config)))
    }

    /// The other end of a connection whose socket waits, once both have shown who they are.
    pub(crate) fn connect(
        &self,
        mut stream: TcpStream,
        controller: IpAddr,
    ) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
        let mut connection =
            ClientConnection::new(self.0.clone(), ServerName::from(controller)).map_err(io::Error::other)?;
        while connection.is_handshaking() {
            connection.complete_io(&mut stream).map_err(told)?;
        }
        Ok(StreamOwned::new(connection, stream))
    }
}

/// Why there is no handshake, in words.
fn told(why: io::Error) -> io::Error {
    let is_other = |why: &(dyn std::error::Error + Send + Sync + 'static)| {
        matches!(why.downcast_ref(), Some(Error::InvalidMessage(_)))
    };
    if why.get_ref().is_some_and(is_other) {
        io::Error::other("what answers there speaks no TLS: leave out what switches show")
    } else {
        why
    }
}

/// Trusts whoever shows a certificate of the authorities, as Open vSwitch does: controllers are called by their addresses, which
/// certificates seldom have.
#[derive(Debug)]
struct OfAnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for OfAnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        status: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.0.verify_server_cert(certificate, between, name, status, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
