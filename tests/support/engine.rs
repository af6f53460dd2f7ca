//! A scripted AI engine: OpenAI's interface of chat completions on loopback, which does with each request what a test
//! says, and remembers what it was asked.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

/// A request to the engine.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The request's line and header fields.
    pub head: String,
    /// Its body.
    pub body: Value,
}

impl Asked {
    /// What the system message says.
    #[must_use]
    pub fn system(&self) -> &str {
        self.body["messages"][0]["content"].as_str().unwrap()
    }

    /// The JSON object of the user message.
    #[must_use]
    pub fn told(&self) -> Value {
        serde_json::from_str(self.body["messages"][1]["content"].as_str().unwrap()).unwrap()
    }

    /// The items to be translated.
    #[must_use]
    pub fn items(&self) -> Vec<Value> {
        self.told()["items"].as_array().unwrap().clone()
    }

    /// A reply that says of every item what `text` makes of it; of a plural's for each of these categories.
    #[must_use]
    pub fn translated(&self, categories: &[&str], text: impl Fn(&Value) -> String) -> Reply {
        let of = |item: &Value| match item["source"].is_string() {
            true => json!({"id": item["id"], "text": text(&item["source"])}),
            false => {
                let of = |category: &&str| {
                    let source = if item["forms"][*category].is_null() { "other" } else { *category };
                    ((*category).to_owned(), json!(text(&item["forms"][source])))
                };
                json!({"id": item["id"], "forms": categories.iter().map(of).collect::<serde_json::Map<_, _>>()})
            }
        };
        let items: Vec<Value> = self.items().iter().map(of).collect();
        Reply::says(&json!({"translations": items}).to_string())
    }
}

/// What the engine does with a request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Answers with a status, these header fields and this body.
    Answers(u16, Vec<(String, String)>, Vec<u8>),
    /// The same so much later.
    Late(Duration, Box<Reply>),
    /// Begins to answer and never ends, for as long as anybody reads.
    Endless,
    /// Says nothing at all, for as long as anybody waits.
    Silent,
    /// Closes the connection.
    Gone,
}

impl Reply {
    /// A chat completion that says this.
    #[must_use]
    pub fn says(content: &str) -> Reply {
        let message = json!({"role": "assistant", "content": content});
        let completion = json!({"id": "x", "object": "chat.completion", "choices": [{"index": 0, "message": message}]});
        Reply::status(200, &completion.to_string())
    }

    /// A status and a body.
    #[must_use]
    pub fn status(status: u16, body: &str) -> Reply {
        Reply::Answers(status, Vec::new(), body.as_bytes().to_vec())
    }

    /// The same answer with a header field.
    #[must_use]
    pub fn with(self, name: &str, value: &str) -> Reply {
        match self {
            Reply::Answers(status, mut headers, body) => {
                headers.push((name.to_owned(), value.to_owned()));
                Reply::Answers(status, headers, body)
            }
            other => other,
        }
    }
}

type Script = Arc<dyn Fn(&Asked) -> Reply + Send + Sync>;

struct State {
    script: Script,
    asked: Vec<Asked>,
    under_way: usize,
    at_once: usize,
}

/// The engine. It ends with the process.
#[derive(Clone)]
pub struct ScriptedEngine {
    url: String,
    state: Arc<(Mutex<State>, Condvar)>,
}

impl ScriptedEngine {
    /// On a free port, following this script.
    #[must_use]
    pub fn open(script: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> ScriptedEngine {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let state = State { script: Arc::new(script), asked: Vec::new(), under_way: 0, at_once: 0 };
        let engine = ScriptedEngine { url, state: Arc::new((Mutex::new(state), Condvar::new())) };
        let serving = engine.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serving = serving.clone();
                std::thread::spawn(move || serving.serve(stream));
            }
        });
        engine
    }

    /// Its base address.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows another script from now on; what it was asked so far is forgotten.
    pub fn follow(&self, script: impl Fn(&Asked) -> Reply + Send + Sync + 'static) {
        let mut state = self.state();
        state.script = Arc::new(script);
        state.asked.clear();
        state.at_once = state.under_way;
    }

    /// What it was asked so far.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        self.state().asked.clone()
    }

    /// How many requests were under way at a time, at most.
    #[must_use]
    pub fn at_once(&self) -> usize {
        self.state().at_once
    }

    /// Waits until it has been asked so often.
    pub fn wait_for(&self, requests: usize) {
        let (_, changed) = &*self.state;
        let waited =
            changed.wait_timeout_while(self.state(), Duration::from_secs(30), |state| state.asked.len() < requests);
        let (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(!timeout.timed_out(), "asked {} times, not {requests}", state.asked.len());
    }

    fn serve(&self, mut stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        let length =
            head.to_lowercase().split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        // One that only reads has none.
        let asked =
            Asked { head, body: if body.is_empty() { Value::Null } else { serde_json::from_slice(&body).unwrap() } };
        let script = {
            let mut state = self.state();
            state.asked.push(asked.clone());
            state.under_way += 1;
            state.at_once = state.at_once.max(state.under_way);
            Arc::clone(&state.script)
        };
        self.state.1.notify_all();
        let mut told = script(&asked);
        while let Reply::Late(wait, later) = told {
            std::thread::sleep(wait);
            told = *later;
        }
        // Whoever has an answer asks again at once: then this one is not under way any more.
        let is_over = matches!(told, Reply::Answers(..));
        if is_over {
            self.state().under_way -= 1;
        }
        // Whoever asked may be gone by now.
        let _ = reply(&mut stream, told);
        if !is_over {
            self.state().under_way -= 1;
        }
    }
}

fn reply(stream: &mut TcpStream, reply_: Reply) -> std::io::Result<()> {
    match reply_ {
        Reply::Answers(status, headers, body) => {
            let mut head = format!("HTTP/1.1 {status} x\r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
            for (name, value) in headers {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
            stream.write_all(format!("{head}\r\n").as_bytes())?;
            stream.write_all(&body)
        }
        Reply::Endless => {
            stream.write_all(b"HTTP/1.1 200 x\r\ntransfer-encoding: chunked\r\n\r\n")?;
            loop {
                stream.write_all(b"1\r\n{\r\n")?;
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Reply::Silent => {
            // The end of the connection is what ends it.
            let mut rest = [0; 1];
            stream.read(&mut rest).map(drop)
        }
        // One that is late has been waited for.
        Reply::Late(..) | Reply::Gone => Ok(()),
    }
}
