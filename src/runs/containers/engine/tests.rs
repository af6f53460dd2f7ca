//! What a runner does not do when a test wants it: answer late, or not at all. Its part is played by a thread that speaks
//! the runner's protocol; the store, the engine and the way between them are real.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use quintet_platform::Foundation;
use quintet_platform::access::{Authority, Service};
use quintet_platform::egress::Egress;
use quintet_runtime::protocol::{Answer, Call, Refusal, Reply, Request, VERSION};
use quintet_runtime::{ContainerState, ContainerStatus, Digest, Runner};
use quintet_storage::{Failure, Timestamp, WriteTx};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::core::Engine;
use crate::allowances::Ceilings;
use crate::aside::Aside;
use crate::containers::changes::find;
use crate::containers::model::{Reason, Run};
use crate::containers::submission::submit;
use crate::containers::{dispatch, life};
use crate::context::{Context, Settings};
use crate::model::{RunKey, TenantId};
use crate::states::RunState;
use crate::testing::plain;
use crate::workflows::run_ended;

/// An engine whose runner says what a test has it say.
struct Place {
    engine: Arc<Engine>,
    tenant_id: TenantId,
    _directories: [TempDir; 2],
}

impl Drop for Place {
    fn drop(&mut self) {
        self.engine.context.store.shutdown();
    }
}

/// Answers calls on one connection; what it says nothing to is not answered, and the connection stays open.
fn answer(mut socket: UnixStream, say: &(dyn Fn(Request) -> Option<Answer> + Send + Sync)) -> std::io::Result<()> {
    loop {
        let mut length = [0; 4];
        socket.read_exact(&mut length)?;
        let mut body = vec![0; u32::from_be_bytes(length) as usize];
        socket.read_exact(&mut body)?;
        let call: Call = serde_json::from_slice(&body)?;
        assert_eq!(call.protocol, VERSION);
        let Some(answer) = say(call.request) else { continue };
        let answer = serde_json::to_vec(&answer)?;
        socket.write_all(&u32::try_from(answer.len()).unwrap().to_be_bytes())?;
        socket.write_all(&answer)?;
    }
}

impl Place {
    /// None, said, where this process is not root: nobody else is taken for a runner.
    fn make(say: impl Fn(Request) -> Option<Answer> + Send + Sync + 'static) -> Option<Place> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root is taken for a runner");
            return None;
        }
        let sockets = tempfile::tempdir().unwrap();
        let socket = sockets.path().join("socket");
        let (listener, say) = (UnixListener::bind(&socket).unwrap(), Arc::new(say));
        std::thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                let say = Arc::clone(&say);
                // Whoever hangs up has its reasons.
                std::thread::spawn(move || drop(answer(connection, &*say)));
            }
        });
        let (directory, store, clock) = quintet_support::store_of_a_room(crate::TABLES);
        let (tenant_id, _) = quintet_support::tenant_and_key(&store, Service::Runs, &[]);
        let settings = Settings {
            workers: 4,
            scratch_mb: 1,
            disk_reserve_bytes: 0,
            runner_socket: Some(socket.clone()),
            ceilings: Ceilings::default(),
            egress: Egress::new(|_| false),
            painter: crate::testing::no_painter(),
            pump: crate::testing::pump(&store, &clock),
            registries: Vec::new(),
        };
        let context = Context::new(Foundation::new(store, clock, Authority::Embedded), settings, run_ended).unwrap();
        let engine = Arc::new(Engine::new(context, Runner::new(socket)));
        Some(Place { engine, tenant_id: TenantId(tenant_id), _directories: [directory, sockets] })
    }

    async fn write<T: Send + 'static>(
        &self,
        verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Failure> + Send + 'static,
    ) -> T {
        self.engine.write(verb).await.unwrap()
    }

    /// A run that has its slot, and whose container is being made.
    async fn pulling(&self) -> (RunKey, Run) {
        let tenant_id = self.tenant_id;
        let verb = move |tx: &mut WriteTx<'_>, now| submit(tx, now, tenant_id, &Ceilings::default(), plain());
        let (run_id, _) = self.engine.context.write(Duration::from_secs(30), verb).await.unwrap();
        let run_key = (tenant_id, run_id);
        let run = self.write(move |tx, now| {
            let given =
                dispatch::dispatch(tx, now, 4, &Aside::default(), &Ceilings::default(), vec![run_key], run_ended)?;
            assert_eq!(given, [run_key]);
            life::pulling(tx, now, run_key)
        });
        (run_key, run.await.unwrap())
    }

    fn run(&self, run_key: RunKey) -> Run {
        find(&self.engine.context.store.read(), run_key).unwrap().unwrap()
    }
}

fn digest() -> Digest {
    Digest::of(b"an image")
}

/// A container starts after the runner has listed them all, and before its list is looked at.
#[tokio::test]
async fn nobody_is_lost_for_a_list_that_is_old() {
    let (asked, mut is_asked) = mpsc::unbounded_channel();
    let (go_on, gone_on) = std::sync::mpsc::channel::<()>();
    let (gone_on, gone) = (Mutex::new(gone_on), Arc::new(OnceLock::new()));
    let known_as_gone = Arc::clone(&gone);
    let place = Place::make(move |request| match request {
        Request::List => {
            asked.send(()).unwrap();
            gone_on.lock().unwrap().recv().unwrap();
            Some(Answer::Ok(Reply::List(Vec::new())))
        }
        Request::Status { id } if known_as_gone.get() == Some(&id) => Some(Answer::Refused(Refusal::NoSuchContainer)),
        Request::Status { id } => Some(Answer::Ok(Reply::Status(Box::new(ContainerStatus {
            id,
            state: ContainerState::Running,
            image: digest(),
            started_at_micros: Some(1),
            paused_micros: 0,
            outcome: None,
        })))),
        other => panic!("nobody asks for that: {other:?}"),
    });
    let Some(place) = place else { return };
    let (starting, _) = place.pulling().await;
    let (lost, _) = place.pulling().await;
    gone.set(place.engine.context.container_id(lost.1, 1).unwrap()).unwrap();
    let reattaching = tokio::spawn({
        let engine = Arc::clone(&place.engine);
        async move { engine.reattach().await.map_err(|trouble| trouble.to_string()) }
    });
    is_asked.recv().await.unwrap();
    for run_key in [starting, lost] {
        place.write(move |tx, now| life::started(tx, now, run_key, 1, now, &digest().to_string())).await;
    }
    go_on.send(()).unwrap();
    reattaching.await.unwrap().unwrap();
    assert_eq!(place.run(starting).state, RunState::Running, "it was not in the list, and it runs");
    let run = place.run(lost);
    assert_eq!((run.state, run.reason), (RunState::Failed, Some(Reason::WorkerLost)), "it really has gone");
}

/// How a run ends whose pull goes nowhere, and after how long.
async fn ends_while_it_is_pulled(change: impl FnOnce(Run, Timestamp) -> Run) -> Option<(Option<Reason>, Duration)> {
    // By neither of its names the image is here; then, to its pull, nothing is said any more.
    let said = AtomicU32::new(0);
    let place = Place::make(move |request| match request {
        Request::Image { .. } if said.fetch_add(1, Ordering::SeqCst) < 2 => Some(Answer::Refused(Refusal::NoSuchImage)),
        Request::Image { .. } => None,
        other => panic!("nobody asks for that: {other:?}"),
    })?;
    let (run_key, run) = place.pulling().await;
    let run = change(Run { image: "registry.invalid/an/image:1".into(), ..run }, place.engine.context.clock.now());
    // Where nothing goes on but time, it goes at once.
    tokio::time::pause();
    let began = Instant::now();
    let end = place.engine.image(run_key, &run).await.unwrap().unwrap_err();
    assert_eq!(place.engine.context.aside.count(), 0, "it is not aside any more");
    Some((end.reason, began.elapsed()))
}

#[tokio::test]
async fn a_run_waits_ten_minutes_for_its_image() {
    let Some((reason, time)) = ends_while_it_is_pulled(|run, _| run).await else { return };
    assert_eq!(reason, Some(Reason::ImagePullFailed));
    assert!((600..602).contains(&time.as_secs()), "{time:?}");
}

#[tokio::test]
async fn a_run_that_must_not_start_any_more_waits_for_no_image() {
    let expires = |run, now: Timestamp| Run { expires_at: Some(now), ..run };
    let Some((reason, time)) = ends_while_it_is_pulled(expires).await else { return };
    assert_eq!(reason, Some(Reason::Expired));
    assert!(time < Duration::from_secs(2), "{time:?}");
}
