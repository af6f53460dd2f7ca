//! Who follows runs: a share for each tenant, and none that shuts another out.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::runs::Desk;
use crate::support::appliance::{Appliance, Setup};

/// The most of one tenant, and of all.
const SHARE: usize = 64;
const ALL: usize = 256;
const PATIENCE: Duration = Duration::from_secs(60);

/// A tenant with a run to follow.
struct Tenant {
    address: String,
    key: String,
    path: String,
}

impl Tenant {
    fn of(appliance: &Appliance) -> Tenant {
        let tenant_id = appliance.tenant();
        let key = appliance.key(&tenant_id, &[]).1;
        let desk = Desk { client: appliance.client("runs", &key) };
        let id = desk.id(&json!({"image": "a"}));
        Tenant {
            address: appliance.address("runs").to_owned(),
            key,
            path: format!("/api/v1/runs/{id}/logs?follow=true"),
        }
    }

    /// Asks to follow; the status, and the stream behind the head.
    #[expect(clippy::disallowed_methods, reason = "tests call the appliance under test, on loopback")]
    fn follow(&self) -> (u16, BufReader<TcpStream>) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let Tenant { path, key, .. } = self;
        write!(stream, "GET {path} HTTP/1.0\r\nhost: x\r\nauthorization: Bearer {key}\r\n\r\n").unwrap();
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
        }
        (head.split(' ').nth(1).unwrap().parse().unwrap(), reader)
    }

    fn follow_all(&self, count: usize) -> Vec<BufReader<TcpStream>> {
        let follow = |_| {
            let (status, reader) = self.follow();
            assert_eq!(status, 200);
            reader
        };
        (0..count).map(follow).collect()
    }
}

#[test]
fn a_tenant_has_its_share_and_shuts_nobody_out() {
    let appliance = Setup::new().start();
    let tenants: Vec<Tenant> = (0..5).map(|_| Tenant::of(&appliance)).collect();
    let [first, others @ .., last] = tenants.as_slice() else { panic!("five tenants") };
    let mut of_first = first.follow_all(SHARE);
    let (status, mut refused) = first.follow();
    let mut problem = String::new();
    refused.read_to_string(&mut problem).unwrap();
    let problem: Value = serde_json::from_str(&problem).unwrap();
    assert_eq!((status, &problem["code"]), (503, &json!("busy")), "{problem}");

    // Four tenants hold all there are. The fifth still follows, and one of the first's streams, the oldest, has ended.
    let mut held: Vec<_> = others.iter().flat_map(|tenant| tenant.follow_all(SHARE)).collect();
    assert_eq!(of_first.len() + held.len(), ALL);
    let _its_own = last.follow_all(1);
    // Its end arrives in its own time, on a machine that does other things as well.
    let mut has_ended = || {
        of_first.iter_mut().chain(&mut held).any(|reader| {
            reader.get_ref().set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            reader.read(&mut [0]).is_ok_and(|read| read == 0)
        })
    };
    assert!((0..10).any(|_| has_ended()), "one of them gave way");
}
