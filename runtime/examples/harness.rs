//! Temporary.
#![allow(clippy::all, clippy::pedantic)]
use quintet_runtime::*;
use std::sync::Arc;
struct C;
impl WallClock for C {
    fn now_micros(&self) -> i64 {
        let t = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        t.tv_sec * 1_000_000 + t.tv_nsec / 1000
    }
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    match a[1].as_str() {
        "supervise" => {
            if let Err(e) = supervise(&C) {
                eprintln!("supervise: {e}");
                std::process::exit(1)
            }
        }
        "runner" => {
            let o = RunnerOptions {
                directory: a[2].clone().into(),
                socket: a[3].clone().into(),
                client_group: None,
                limits: ImageLimits::default(),
                containers_max: 512,
                shared_ids: a.get(4).is_some(),
                supervisor: vec!["/proc/self/exe".into(), "supervise".into()],
                version: "x".into(),
            };
            let s = start_runner(o, Arc::new(C)).unwrap();
            eprintln!("{:?}", s.features());
            s.run().unwrap();
        }
        "import" => {
            println!("{:?}", Runner::new(&a[2]).import(std::fs::File::open(&a[3]).unwrap().into(), &a[4], None));
        }
        "run" => {
            let r = Runner::new(&a[2]);
            let id = ContainerId::parse(&a[3]).unwrap();
            let image = r.image(&a[4]).unwrap().unwrap();
            let d = ContainerDescription {
                image: image.digest,
                command: a[5..].to_vec(),
                env: Default::default(),
                limits: Limits { scratch_bytes: 64 << 20, ..Limits::default() },
            };
            let t = std::time::Instant::now();
            println!("{:?} {:?}", r.start(&id, &d), t.elapsed());
            println!("{:?} {:?}", r.wait(&id, std::time::Duration::from_secs(20)), t.elapsed());
            for s in [Stream::Stdout, Stream::Stderr] {
                if let Ok(p) = r.log(&id, s, 0, 1000) {
                    for l in p.lines {
                        println!("{s:?} {}", l.text)
                    }
                }
            }
            println!("{:?}", r.samples(&id, 0));
        }
        _ => {}
    }
}
