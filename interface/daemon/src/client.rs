//! The other end: a question to a controller that runs.

use http_body_util::{BodyExt, Full, Limited};
pub use hyper::Method;
use hyper::body::Bytes;
use hyper::{Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest answer taken.
const LONGEST: usize = 256 << 20;
const PATIENCE: Duration = Duration::from_secs(15);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum NotAsked {
    /// Nobody listens.
    #[error("no controller runs at {}: start one with `plait controller run`, or name it with --name", .0.display())]
    Nobody(PathBuf),
    /// It said why.
    #[error("{0}")]
    Refused(String),
    /// Something went wrong on the way.
    #[error("the controller did not answer: {0}")]
    Broken(String),
}

/// What a controller answers to a `GET` of `what`.
///
/// # Errors
/// [`NotAsked`].
pub fn ask(socket: &Path, what: &str) -> Result<Vec<u8>, NotAsked> {
    tell(socket, Method::GET, what, Vec::new())
}

/// What a controller answers when it is asked for a change.
///
/// # Errors
/// [`NotAsked`].
pub fn tell(socket: &Path, method: Method, what: &str, body: Vec<u8>) -> Result<Vec<u8>, NotAsked> {
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(broken)?;
    let asked = async {
        tokio::time::timeout(PATIENCE, exchange(socket, method, what, body))
            .await
            .unwrap_or_else(|_| Err(NotAsked::Broken(format!("nothing came in {PATIENCE:?}"))))
    };
    executor.block_on(asked)
}

async fn exchange(socket: &Path, method: Method, what: &str, body: Vec<u8>) -> Result<Vec<u8>, NotAsked> {
    let stream = tokio::net::UnixStream::connect(socket).await.map_err(|fault| match fault.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => NotAsked::Nobody(socket.to_owned()),
        _ => broken(fault),
    })?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    tokio::spawn(connection);
    let request = Request::builder().method(method).uri(what).header(header::HOST, "controller");
    let request = request.header(header::CONTENT_TYPE, "application/json");
    let request = request.body(Full::new(Bytes::from(body))).map_err(broken)?;
    let answer = sender.send_request(request).await.map_err(broken)?;
    let status = answer.status();
    let body = Limited::new(answer.into_body(), LONGEST).collect().await.map_err(broken)?.to_bytes().to_vec();
    if status == StatusCode::OK {
        return Ok(body);
    }
    let said = serde_json::from_slice::<serde_json::Value>(&body).ok();
    let said = said.as_ref().and_then(|said| said["error"].as_str()).map(str::to_owned);
    Err(NotAsked::Refused(said.unwrap_or_else(|| status.to_string())))
}

fn broken(fault: impl ToString) -> NotAsked {
    NotAsked::Broken(fault.to_string())
}
