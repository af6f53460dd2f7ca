//! What stands between a pull and a registry: a server of the tests' own that hands requests on, cuts, lies, stalls,
//! redirects and asks for tokens, and remembers what it was asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A request, as it came.
#[derive(Clone, Debug)]
pub struct Asked {
    pub path: String,
    /// Names in small letters.
    pub headers: Vec<(String, String)>,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn is_blob(&self) -> bool {
        self.path.contains("/blobs/")
    }

    pub fn is_manifest(&self) -> bool {
        self.path.contains("/manifests/")
    }
}

/// What is done with a request.
pub enum Act {
    /// The registry behind answers it.
    Pass,
    /// The registry behind answers it without being told of a range.
    PassWhole,
    /// The registry behind answers it, and the connection ends after so many bytes of the body.
    Cut(usize),
    /// This is the answer: status line and headers, and the body, whose length is said.
    Answer(String, Vec<u8>),
    /// This is written, as it is.
    Raw(Vec<u8>),
    /// Nothing is answered.
    Stall,
    /// The registry behind answers it, a byte at a time.
    Drip,
}

/// An answer of a few words.
pub fn answer(status: &str, headers: &[&str], body: &[u8]) -> Act {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    Act::Answer(format!("HTTP/1.1 {status}\r\n{headers}"), body.to_vec())
}

type Rule = dyn Fn(&Asked) -> Act + Send + Sync;

/// The server. It listens until the tests end.
pub struct Front {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Front {
    /// Before the registry at this address; on 127.0.0.1.
    pub fn before(behind: &str, rule: impl Fn(&Asked) -> Act + Send + Sync + 'static) -> Front {
        Front::on("127.0.0.1", behind, rule)
    }

    /// On an address of one's choice.
    pub fn on(host: &str, behind: &str, rule: impl Fn(&Asked) -> Act + Send + Sync + 'static) -> Front {
        let listener = TcpListener::bind((host, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::<Mutex<Vec<Asked>>>::default();
        let (behind, rule, seen) = (behind.to_owned(), Arc::<Rule>::from(Box::new(rule) as Box<Rule>), asked.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (behind, rule, seen) = (behind.clone(), rule.clone(), seen.clone());
                // Whoever hangs up has its reasons.
                std::thread::spawn(move || serve(&stream.unwrap(), &behind, &*rule, &seen));
            }
        });
        Front { address, asked }
    }

    /// Host and port.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// Everything it was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// How many requests were like this.
    pub fn count(&self, like: impl Fn(&Asked) -> bool) -> usize {
        self.asked().iter().filter(|asked| like(asked)).count()
    }
}

fn serve(stream: &TcpStream, behind: &str, rule: &Rule, seen: &Mutex<Vec<Asked>>) -> std::io::Result<()> {
    let mut lines = Vec::new();
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        lines.push(line);
    }
    let Some(first) = lines.first() else { return Ok(()) };
    let headers = lines[1..].iter().filter_map(|line| line.split_once(':'));
    let asked = Asked {
        path: first.split(' ').nth(1).unwrap_or_default().to_owned(),
        headers: headers.map(|(name, value)| (name.to_lowercase(), value.trim().to_owned())).collect(),
    };
    seen.lock().unwrap().push(asked.clone());
    let mut out = stream;
    match rule(&asked) {
        Act::Answer(head, body) => {
            write!(out, "{head}content-length: {}\r\nconnection: close\r\n\r\n", body.len())?;
            out.write_all(&body)
        }
        Act::Raw(bytes) => out.write_all(&bytes),
        Act::Stall => {
            std::thread::sleep(Duration::from_secs(60));
            Ok(())
        }
        Act::Pass => hand_on(&lines, behind, out, usize::MAX, false),
        Act::PassWhole => {
            lines.retain(|line| !line.to_lowercase().starts_with("range:"));
            hand_on(&lines, behind, out, usize::MAX, false)
        }
        Act::Cut(after) => hand_on(&lines, behind, out, after, false),
        Act::Drip => hand_on(&lines, behind, out, usize::MAX, true),
    }
}

#[expect(clippy::disallowed_methods, reason = "a test's own connection")]
fn hand_on(lines: &[String], behind: &str, mut out: &TcpStream, most: usize, drips: bool) -> std::io::Result<()> {
    let mut registry = TcpStream::connect(behind)?;
    // One request a connection, on both sides: the registry says so to whoever asks.
    let lines: String = lines.iter().filter(|line| !line.to_lowercase().starts_with("connection:")).cloned().collect();
    write!(registry, "{lines}connection: close\r\n\r\n")?;
    let mut answer = BufReader::new(registry);
    loop {
        let mut line = String::new();
        answer.read_line(&mut line)?;
        out.write_all(line.as_bytes())?;
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = Vec::new();
    answer.take(most as u64).read_to_end(&mut body)?;
    for part in body.chunks(if drips { 1 } else { 4096 }) {
        out.write_all(part)?;
        if drips {
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    Ok(())
}
