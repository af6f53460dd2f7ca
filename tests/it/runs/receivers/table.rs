//! The table of receivers: what each does, what the first attempt comes to, and what becomes of the delivery.
//! `cargo test --test it the_table_of_receivers -- --nocapture` prints it.

use std::io::{Error, ErrorKind};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use quintet_platform::clock::{parse_rfc3339, rfc3339};
use quintet_storage::Timestamp;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use serde_json::{Value, json};

use super::odd::{Behaviour, Odd, Wire, answer, field, read, read_head};
use crate::runs::Desk;
use crate::support::appliance::Setup;

/// How a receiver is called.
#[derive(Clone, Copy)]
enum Line {
    /// `http`.
    Plain,
    /// `https`, though it may speak no TLS.
    Bare,
    /// `https`, with a certificate of this kind.
    Tls(Certificate),
    /// `http`, and nobody is there.
    Nobody,
}

/// What a receiver proves that it is.
#[derive(Clone, Copy)]
enum Certificate {
    Right,
    /// By an authority that the appliance is not told of.
    Strange,
    Expired,
    NotYet,
    /// For another name.
    Other,
    /// By nobody but itself.
    Own,
}

/// What the first attempt comes to: the status, what was wrong, and seconds until the next.
type First = (Option<u16>, Option<&'static str>, std::ops::RangeInclusive<i64>);

/// What it is, how it is called, what it does, what the first attempt comes to, how the delivery ends, after how many.
type Row = (&'static str, Line, Behaviour, First, &'static str, u64);

/// After the first attempt: ten seconds, give or take a tenth; measured in whole seconds from the row's creation. All
/// these ranges end a second later than the rule says: an attempt may end before the clock was put on, or after it.
const SOON: std::ops::RangeInclusive<i64> = 9..=12;
const NEVER: std::ops::RangeInclusive<i64> = -1..=-1;

fn taken(status: u16) -> First {
    (Some(status), None, NEVER)
}

fn refused(status: u16) -> First {
    (Some(status), Some("bad_status"), NEVER)
}

fn retried(status: u16) -> First {
    (Some(status), Some("bad_status"), SOON)
}

fn failed(error: &'static str) -> First {
    (None, Some(error), SOON)
}

/// Reads the request and answers with this status.
fn says<const STATUS: u16>(wire: &mut dyn Wire, _: usize) -> std::io::Result<()> {
    read(wire)?;
    answer(wire, STATUS, "")
}

/// Does nothing to the first connection until it is closed, and answers the others.
fn silent(wire: &mut dyn Wire, number: usize) -> std::io::Result<()> {
    read(wire)?;
    if number > 1 {
        return answer(wire, 204, "");
    }
    wire.read_exact(&mut [0])
}

/// Writes a piece again and again, first something else, until nobody hears it.
fn endless(wire: &mut dyn Wire, first: &str, piece: &str, pause: Duration) -> std::io::Result<()> {
    read(wire)?;
    wire.write_all(first.as_bytes())?;
    loop {
        wire.write_all(piece.as_bytes())?;
        wire.flush()?;
        std::thread::sleep(pause);
    }
}

/// An HTTP date (RFC 9110, 5.6.7).
fn http_date(at: Timestamp) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let text = rfc3339(at);
    let day = usize::try_from(at.as_micros() / 86_400_000_000).unwrap() % 7;
    let month: usize = text[5..7].parse().unwrap();
    format!("{}, {} {} {} {} GMT", DAYS[day], &text[8..10], MONTHS[month - 1], &text[..4], &text[11..19])
}

/// Asks for five minutes, as a date by the clock that the appliance itself goes by.
fn later_by_date(wire: &mut dyn Wire, number: usize) -> std::io::Result<()> {
    let head = read(wire)?;
    let seconds: i64 = field(&head, "x-svc-timestamp").parse().map_err(|_| Error::from(ErrorKind::InvalidData))?;
    let date = http_date(Timestamp::from_micros((seconds + 300) * 1_000_000));
    if number == 1 { answer(wire, 429, &format!("Retry-After: {date}")) } else { answer(wire, 204, "") }
}

fn rows() -> Vec<Row> {
    use Line::{Nobody, Plain};
    let mut rows: Vec<Row> = vec![
        ("answers 200", Plain, says::<200>, taken(200), "delivered", 1),
        ("answers 204", Plain, says::<204>, taken(204), "delivered", 1),
        (
            "answers 204 after two seconds",
            Plain,
            |wire, _| {
                read(wire)?;
                std::thread::sleep(Duration::from_secs(2));
                answer(wire, 204, "")
            },
            taken(204),
            "delivered",
            1,
        ),
        (
            "answers 204 before it has read the request",
            Plain,
            |wire, _| {
                // What comes before any request is no answer to one.
                wire.read_exact(&mut [0])?;
                answer(wire, 204, "")?;
                read(wire).map(drop)
            },
            taken(204),
            "delivered",
            1,
        ),
        (
            "answers 204 to the head and never reads the body",
            Plain,
            |wire, _| {
                read_head(wire)?;
                answer(wire, 204, "")?;
                // Closed with something unread, it would take its answer back.
                std::thread::sleep(Duration::from_secs(30));
                Ok(())
            },
            taken(204),
            "delivered",
            1,
        ),
        ("says nothing the first time", Plain, silent, failed("timed_out"), "delivered", 2),
        (
            "has a head that trickles the first time",
            Plain,
            |wire, number| {
                let pause = Duration::from_millis(200);
                if number == 1 {
                    endless(wire, "HTTP/1.1 200 OK\r\nx-a: ", "y", pause)
                } else {
                    says::<204>(wire, number)
                }
            },
            failed("timed_out"),
            "delivered",
            2,
        ),
        (
            "has a head without an end",
            Plain,
            |wire, _| endless(wire, "HTTP/1.1 200 OK\r\n", &format!("x-a: {}\r\n", "y".repeat(500)), Duration::ZERO),
            failed("connection_failed"),
            "dead",
            5,
        ),
        (
            "has one field without an end",
            Plain,
            |wire, _| endless(wire, "HTTP/1.1 200 OK\r\nx-a: ", &"y".repeat(500), Duration::ZERO),
            failed("connection_failed"),
            "dead",
            5,
        ),
        (
            "has a body without an end",
            Plain,
            |wire, _| {
                let chunk = format!("1f4\r\n{}\r\n", "y".repeat(500));
                endless(wire, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", &chunk, Duration::ZERO)
            },
            taken(200),
            "delivered",
            1,
        ),
        (
            "has a body that trickles",
            Plain,
            |wire, _| {
                let pause = Duration::from_millis(200);
                endless(wire, "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n", "y", pause)
            },
            taken(200),
            "delivered",
            1,
        ),
        (
            "cuts its head",
            Plain,
            |wire, _| {
                read(wire)?;
                wire.write_all(b"HTTP/1.1 200 OK\r\ncontent-le")
            },
            failed("connection_failed"),
            "dead",
            5,
        ),
        (
            "cuts its body",
            Plain,
            |wire, _| {
                read(wire)?;
                wire.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhello")
            },
            taken(200),
            "delivered",
            1,
        ),
        ("closes at once", Plain, |_, _| Ok(()), failed("connection_failed"), "dead", 5),
        (
            "closes when it has read the request",
            Plain,
            |wire, _| read(wire).map(drop),
            failed("connection_failed"),
            "dead",
            5,
        ),
        (
            "speaks another protocol",
            Plain,
            |wire, _| wire.write_all(b"SSH-2.0-OpenSSH_9.2\r\n"),
            failed("connection_failed"),
            "dead",
            5,
        ),
        ("is not there", Nobody, |_, _| Ok(()), failed("connection_failed"), "dead", 5),
        (
            "answers 103 and then 204",
            Plain,
            |wire, _| {
                read(wire)?;
                wire.write_all(b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n")?;
                answer(wire, 204, "")
            },
            taken(204),
            "delivered",
            1,
        ),
        (
            "answers 103 and nothing more",
            Plain,
            |wire, _| {
                read(wire)?;
                wire.write_all(b"HTTP/1.1 103 Early Hints\r\n\r\n")
            },
            failed("connection_failed"),
            "dead",
            5,
        ),
        (
            "answers 101",
            Plain,
            |wire, _| {
                read(wire)?;
                wire.write_all(b"HTTP/1.1 101 x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n")
            },
            retried(101),
            "dead",
            5,
        ),
    ];
    rows.extend(statuses());
    rows.extend(encrypted());
    rows
}

fn encrypted() -> Vec<Row> {
    use Line::{Bare, Tls};
    vec![
        (
            "speaks no TLS where it should",
            Bare,
            |wire, _| {
                // So do servers of HTTP with what is no HTTP.
                wire.read_exact(&mut [0; 16])?;
                answer(wire, 400, "")
            },
            failed("tls_failed"),
            "dead",
            5,
        ),
        (
            "hears a greeting of TLS and closes",
            Bare,
            |wire, _| wire.read_exact(&mut [0; 16]),
            failed("tls_failed"),
            "dead",
            5,
        ),
        (
            "hears a greeting of TLS and says nothing the first time",
            Bare,
            |wire, number| {
                if number == 1 { wire.read_exact(&mut [0; 100_000]) } else { Ok(()) }
            },
            failed("timed_out"),
            "dead",
            5,
        ),
        ("proves who it is", Tls(Certificate::Right), says::<204>, taken(204), "delivered", 1),
        (
            "is vouched for by a strange authority",
            Tls(Certificate::Strange),
            says::<204>,
            failed("tls_failed"),
            "dead",
            5,
        ),
        ("is vouched for by itself", Tls(Certificate::Own), says::<204>, failed("tls_failed"), "dead", 5),
        ("has a certificate that has expired", Tls(Certificate::Expired), says::<204>, failed("tls_failed"), "dead", 5),
        ("has a certificate for later", Tls(Certificate::NotYet), says::<204>, failed("tls_failed"), "dead", 5),
        ("has another's certificate", Tls(Certificate::Other), says::<204>, failed("tls_failed"), "dead", 5),
    ]
}

fn statuses() -> Vec<Row> {
    use Line::Plain;
    let wait = |seconds| (Some(429), Some("bad_status"), seconds);
    vec![
        (
            "answers 302 to another address",
            Plain,
            |wire, number| {
                read(wire)?;
                // The other address is its own: whoever went there would be counted.
                answer(wire, 302, &format!("location: /elsewhere-{number}"))
            },
            (Some(302), Some("redirect"), SOON),
            "dead",
            5,
        ),
        ("answers 304", Plain, says::<304>, (Some(304), Some("redirect"), SOON), "dead", 5),
        ("answers 400", Plain, says::<400>, refused(400), "dead", 1),
        ("answers 401", Plain, says::<401>, refused(401), "dead", 1),
        ("answers 404", Plain, says::<404>, refused(404), "dead", 1),
        ("answers 408", Plain, says::<408>, retried(408), "dead", 5),
        ("answers 410", Plain, says::<410>, refused(410), "dead", 1),
        ("answers 429", Plain, says::<429>, retried(429), "dead", 5),
        (
            "answers 429 and asks for two minutes once",
            Plain,
            |wire, number| {
                read(wire)?;
                if number == 1 { answer(wire, 429, "retry-after: 120") } else { answer(wire, 204, "") }
            },
            wait(119..=121),
            "delivered",
            2,
        ),
        (
            "answers 429 and asks for a second",
            Plain,
            |wire, number| {
                read(wire)?;
                if number == 1 { answer(wire, 429, "retry-after: 1") } else { answer(wire, 204, "") }
            },
            wait(SOON),
            "delivered",
            2,
        ),
        ("answers 429 and asks for five minutes, by a date", Plain, later_by_date, wait(298..=301), "delivered", 2),
        (
            "answers 503 and asks for a year",
            Plain,
            |wire, number| {
                read(wire)?;
                if number == 1 { answer(wire, 503, "retry-after: 31536000") } else { answer(wire, 204, "") }
            },
            (Some(503), Some("bad_status"), 3_599..=3_601),
            "delivered",
            2,
        ),
        ("answers 500", Plain, says::<500>, retried(500), "dead", 5),
        ("answers 999", Plain, says::<999>, retried(999), "dead", 5),
    ]
}

/// Certificates, and the authority that the appliance is told of.
struct Authorities {
    trusted: Issuer<'static, KeyPair>,
    strange: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authorities {
    fn new() -> Authorities {
        let make = || {
            let mut parameters = CertificateParams::new(Vec::new()).unwrap();
            parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let key = KeyPair::generate().unwrap();
            let pem = parameters.self_signed(&key).unwrap().pem();
            (Issuer::new(parameters, key), pem)
        };
        let ((trusted, pem), (strange, _)) = (make(), make());
        Authorities { trusted, strange, pem }
    }

    fn config(&self, kind: Certificate) -> Arc<ServerConfig> {
        let name = if matches!(kind, Certificate::Other) { "elsewhere.example" } else { "localhost" };
        let mut parameters = CertificateParams::new([name.to_owned()]).unwrap();
        (parameters.not_before, parameters.not_after) = match kind {
            Certificate::Expired => (date_time_ymd(2000, 1, 1), date_time_ymd(2001, 1, 1)),
            Certificate::NotYet => (date_time_ymd(2098, 1, 1), date_time_ymd(2099, 1, 1)),
            _ => (date_time_ymd(2000, 1, 1), date_time_ymd(2099, 1, 1)),
        };
        let key = KeyPair::generate().unwrap();
        let certificate = match kind {
            Certificate::Strange => parameters.signed_by(&key, &self.strange),
            Certificate::Own => parameters.self_signed(&key),
            _ => parameters.signed_by(&key, &self.trusted),
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let chain = vec![certificate.unwrap().der().clone()];
        let config = config.with_no_client_auth().with_single_cert(chain, key.serialize_der().try_into().unwrap());
        Arc::new(config.unwrap())
    }
}

/// A row's receiver, its address, and the run whose end it is told of.
struct Tried {
    row: Row,
    odd: Option<Odd>,
    run: String,
}

impl Tried {
    fn begin(desk: &Desk, authorities: &Authorities, row: Row) -> Tried {
        let odd = match row.1 {
            Line::Nobody => None,
            Line::Tls(kind) => Some(Odd::start("127.0.0.1:0", row.2, Some(authorities.config(kind)))),
            _ => Some(Odd::start("127.0.0.1:0", row.2, None)),
        };
        let port = match &odd {
            Some(odd) => odd.port(),
            // It is free, and nobody else listens on this address.
            None => TcpListener::bind("127.7.7.7:0").unwrap().local_addr().unwrap().port(),
        };
        let url = match row.1 {
            Line::Plain => format!("http://127.0.0.1:{port}/"),
            Line::Nobody => format!("http://127.7.7.7:{port}/"),
            Line::Bare | Line::Tls(_) => format!("https://localhost:{port}/"),
        };
        let webhook = json!({"url": url, "events": ["run.failed"], "secret": "s"});
        let run = desk.id(&json!({"image": "a", "expires_at": "2020-01-01T00:00:00Z", "webhook": webhook}));
        Tried { row, odd, run }
    }

    fn delivery(&self, desk: &Desk) -> Value {
        let found = desk.deliveries(&format!("resource_id={}", self.run));
        assert_eq!(found.len(), 1, "{}", self.row.0);
        found[0].clone()
    }

    /// What the first attempt came to, if it was as it should be.
    fn first(&self, desk: &Desk) -> String {
        let (name, _, _, (status, error, wait), end, attempts) = &self.row;
        let found = self.delivery(desk);
        assert_eq!((&found["last_status_code"], &found["last_error"]), (&json!(status), &json!(error)), "{name}");
        assert_eq!(found["attempt"], 1, "{name}");
        let state = if *attempts > 1 { "pending" } else { end };
        assert_eq!(found["state"], *state, "{name}");
        let instant = |member: &str| found[member].as_str().map(|text| parse_rfc3339(text).unwrap());
        let next = instant("next_attempt_at").map(|next| next.micros_since(instant("created_at").unwrap()) / 1_000_000);
        assert!(wait.contains(&next.unwrap_or(-1)), "{name}: {next:?} is not in {wait:?}");
        let status = status.map_or(String::new(), |status| format!("{status} "));
        let next = next.map_or(String::new(), |seconds| format!(", again after {seconds} s"));
        format!("{status}{}{next}", error.unwrap_or("taken"))
    }

    /// How it ended, if it was as it should be.
    fn end(&self, desk: &Desk) -> String {
        let (name, _, _, _, end, attempts) = &self.row;
        let found = self.delivery(desk);
        assert_eq!((&found["state"], &found["attempt"]), (&json!(end), &json!(attempts)), "{name}: {found}");
        if let Some(odd) = &self.odd {
            assert_eq!(odd.connections() as u64, *attempts, "{name}: one connection for an attempt, and nowhere else");
        }
        (*end).to_owned()
    }
}

#[test]
fn the_table_of_receivers() {
    let authorities = Authorities::new();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &authorities.pem).unwrap();
    let setup = || Setup::new().rehearsal().env("QUINTET_EGRESS__ALLOW_PRIVATE", "127.0.0.0/8, ::1/128");
    let appliance = setup().env("QUINTET_TLS__EXTRA_CA", file.path().to_str().unwrap()).start();
    let desk = Desk::open(&appliance);
    let all: Vec<Tried> = rows().into_iter().map(|row| Tried::begin(&desk, &authorities, row)).collect();
    appliance.cli_json(&["clock", "advance", "1"]);
    let firsts: Vec<String> = all.iter().map(|tried| tried.first(&desk)).collect();
    appliance.cli_json(&["clock", "advance", "7200"]);
    println!("| a receiver that … | first attempt | end | attempts |\n|---|---|---|---|");
    for (tried, first) in all.iter().zip(firsts) {
        println!("| {} | {first} | {} | {} |", tried.row.0, tried.end(&desk), tried.row.5);
    }
    // Without the authority in the configuration nobody is trusted that it vouches for.
    let appliance = setup().start();
    let desk = Desk::open(&appliance);
    let row: Row = ("proves it to others", Line::Tls(Certificate::Right), says::<204>, failed("tls_failed"), "dead", 5);
    let stranger = Tried::begin(&desk, &authorities, row);
    appliance.cli_json(&["clock", "advance", "1"]);
    stranger.first(&desk);
}
