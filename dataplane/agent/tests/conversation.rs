//! Agents and those who ask them, over real sockets.

use plait_dataplane_agent::{Client, Clients, Conversation, home};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;

#[derive(Debug)]
struct Echo;

impl Conversation for Echo {
    type Request = String;
    type Reply = Result<String, String>;
    const VERSION: u32 = 3;
    const KIND: &'static str = "echo";
    const START: &'static str = "echo agent";

    fn refusal(text: String) -> Self::Reply {
        Err(text)
    }

    fn refused(reply: &Self::Reply) -> Option<&str> {
        reply.as_ref().err().map(String::as_str)
    }

    fn scrape() -> String {
        "agents 1\n".to_owned()
    }

    fn page(reply: &Self::Reply) -> Option<&str> {
        reply.as_ref().ok().map(String::as_str)
    }
}

/// Serves until somebody asks for the end.
fn serve(socket: &Path) -> thread::JoinHandle<()> {
    let mut clients = Clients::<Echo>::open(socket).unwrap();
    thread::spawn(move || {
        loop {
            let mut waited: Vec<_> = clients.waited().collect();
            rustix::event::poll(&mut waited, None).unwrap();
            drop(waited);
            let mut is_over = false;
            for (number, request) in clients.receive() {
                is_over |= request == "end";
                let reply = if request == "bad" { Err("bad is refused".to_owned()) } else { Ok(request) };
                clients.say(number, &reply);
            }
            clients.flush();
            if is_over {
                return;
            }
        }
    })
}

#[test]
fn who_asks_by_http_gets_the_metrics_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("agent.sock");
    let agent = serve(&socket);
    let asks = |parts: &[&str]| {
        let mut stream = UnixStream::connect(&socket).unwrap();
        for part in parts {
            stream.write_all(part.as_bytes()).unwrap();
            thread::sleep(std::time::Duration::from_millis(10));
        }
        // Until the agent ends it.
        std::io::read_to_string(stream).unwrap()
    };
    let said = asks(&["GET /metrics HTTP/1.1\r\nHost: agent\r\n", "Accept: */*\r\n", "\r\n"]);
    assert!(said.starts_with("HTTP/1.1 200 OK\r\n") && said.ends_with("\r\n\r\nagents 1\n"), "{said}");
    assert!(said.contains("Content-Length: 9\r\n") && said.contains("version=0.0.4"), "{said}");
    assert!(asks(&["GET / HTTP/1.0\n\n"]).starts_with("HTTP/1.1 404 Not Found\r\n"));
    // What is to be done is asked in lines, whatever a body says.
    let said = asks(&["POST /metrics HTTP/1.1\r\n\r\n{\"plait\":3,\"request\":\"end\"}\n"]);
    assert!(said.starts_with("HTTP/1.1 405 ") && !said.contains("end"), "{said}");
    assert!(!agent.is_finished());
    let mut client = Client::<Echo>::connect(&socket).unwrap();
    assert_eq!(client.ask("end".to_owned()).unwrap(), Ok("end".to_owned()));
    agent.join().unwrap();
}

#[test]
fn requests_are_answered_and_what_is_none_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("agent.sock");
    let agent = serve(&socket);
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    let mut client = Client::<Echo>::connect(&socket).unwrap();
    assert_eq!(client.ask("hello".to_owned()).unwrap(), Ok("hello".to_owned()));
    assert_eq!(client.ask("bad".to_owned()).unwrap_err().to_string(), "bad is refused");

    let mut raw = BufReader::new(UnixStream::connect(&socket).unwrap());
    let mut said = |line: &str| {
        raw.get_mut().write_all(line.as_bytes()).unwrap();
        let mut reply = String::new();
        raw.read_line(&mut reply).unwrap();
        reply
    };
    assert!(said("{\"plait\":4,\"request\":{\"new\":1}}\n").contains("speaks version 3, not 4"));
    assert!(said("hello\n").contains("no request"));
    assert!(said("{\"plait\":3,\"request\":7}\n").contains("no request"));
    // In pieces, and several at once.
    assert!(said("{\"plait\":3,\"request\":\"one\"}\n{\"plait\":3,").contains("one"));
    assert!(said("\"request\":\"two\"}\n").contains("two"));

    // One who sends without end is let go, and the others are answered.
    let mut flood = UnixStream::connect(&socket).unwrap();
    let chunk = [b'x'; 64 * 1024];
    assert!((0..1000).any(|_| flood.write_all(&chunk).is_err()));
    assert_eq!(client.ask("end".to_owned()).unwrap(), Ok("end".to_owned()));
    agent.join().unwrap();
    let nobody = Client::<Echo>::connect(&socket).unwrap_err().to_string();
    assert!(nobody.contains("no echo agent listens") && nobody.contains("`echo agent`"), "{nobody}");
}

#[test]
fn there_is_one_agent_of_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("a/b");
    home::make(&home).unwrap();
    let first = home::lock(&home).unwrap();
    assert!(first.is_some());
    assert!(home::lock(&home).unwrap().is_none());
    drop(first);
    assert!(home::lock(&home).unwrap().is_some());
    assert!(!home::is_bpffs(&home.join("not/there")).unwrap());
}
