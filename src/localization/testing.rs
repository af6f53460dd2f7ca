//! A real store under a clock that tests set, and what their tenants have in it; where the files of real projects lie.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use icu_normalizer::ComposingNormalizerBorrowed;
use quintet_platform::json::Json;
use quintet_storage::{Abort, Timestamp, Uuid, WriteTx};

use crate::audit::{self, Actor, ActorKind, Event};
use crate::content::{Arrived, FileId, Format, ImportFile, Original, Receiver, prepare_import, publish_import};
use crate::context::Context;
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::spaces::{self, CreateProject, CreateWorkspace, ProjectId, WorkspaceId, get_project};

/// A store under a clock that tests set.
pub(crate) type Bench = quintet_support::Bench<Refusal>;

/// Two tenants of a furnished bench.
pub(crate) const TENANT: TenantId = TenantId(Uuid::from_u128(7));
pub(crate) const OTHER: TenantId = TenantId(Uuid::from_u128(8));

/// Who does everything.
pub(crate) fn actor(tenant_id: TenantId) -> Actor {
    let principal_id = Uuid::from_u128(0xabc);
    Actor { tenant_id, kind: ActorKind::ServiceAccount, principal_id, request_id: "request-1".into(), uid: None }
}

/// A new store.
pub(crate) fn bench() -> Bench {
    Bench::new(crate::TABLES, 1_700_000_000_000_000)
}

/// Two tenants, the first with a workspace, a project in it and a few events more.
pub(crate) fn furnished() -> (Bench, WorkspaceId, ProjectId) {
    let bench = bench();
    let command = |slug: &str| CreateWorkspace { slug: slug.to_owned(), name: "Name".to_owned() };
    let (first, second) = (command("first"), command("second"));
    let workspace = bench.run(move |tx, now| spaces::create_workspace(tx, now, &actor(TENANT), first)).unwrap();
    bench.run(move |tx, now| spaces::create_workspace(tx, now, &actor(OTHER), second)).unwrap();
    let command = CreateProject {
        workspace_id: workspace.workspace_id,
        slug: "site".into(),
        name: "Site".into(),
        source_locale: spaces::given_locale("en").unwrap(),
    };
    let project = bench.run(move |tx, now| spaces::create_project(tx, now, &actor(TENANT), command)).unwrap();
    for number in 0..3_u32 {
        let event = Event::about("test", "thing", Uuid::from_u128(1)).with([("number", Json::from(number))]);
        bench.run(move |tx, now| Ok(audit::record(tx, now, &actor(TENANT), event)?)).unwrap();
    }
    (bench, workspace.workspace_id, project.project_id)
}

/// Runs a transaction as endpoints do.
pub(crate) async fn write<T: Send + 'static>(
    bench: &Bench,
    verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<Refusal>> + Send + 'static,
) -> Result<T, Refusal> {
    let written = bench.store.write(Instant::now() + Duration::from_secs(30), verb).await;
    written.map_err(|abort| match abort {
        Abort::Refused(refusal) => refusal,
        Abort::Failed(failure) => panic!("the store failed: {failure}"),
    })
}

/// Uploads a JSON file with these texts to a project of the first tenant.
pub(crate) async fn upload(
    bench: &Bench,
    context: &Context,
    project_id: ProjectId,
    path: &str,
    texts: &impl serde::Serialize,
) -> FileId {
    let mut receiver = Receiver::begin(&bench.store, TENANT).await.unwrap();
    receiver.push(&serde_json::to_vec(texts).unwrap()).await.unwrap();
    let Arrived { sha256, units_max, staged } = receiver.finish().await.unwrap();
    let staged = staged.unwrap();
    let original = Original { value: staged.value().clone(), sha256, units_max };
    let project = get_project(&bench.store.read(), TENANT, project_id).unwrap();
    let command = ImportFile { project, path: path.into(), format: Format::Json, root_locale: None, original };
    let (prepared, _staged) = prepare_import(context, TENANT, command).await.unwrap();
    write(bench, move |tx, now| publish_import(tx, now, &actor(TENANT), prepared)).await.unwrap().file_id
}

/// Where files, suites and parsers lie, if they can be had on this machine.
pub(crate) fn corpora() -> Option<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpora/fetch.sh");
    let output = Command::new(script).stderr(Stdio::inherit()).output().unwrap();
    if !output.status.success() {
        eprintln!("corpora: not tried, see above");
        return None;
    }
    Some(PathBuf::from(String::from_utf8(output.stdout).unwrap().trim()))
}

/// Whether all there is is tried, which takes minutes.
pub(crate) fn is_long() -> bool {
    std::env::var("QUINTET_CORPORA").is_ok_and(|value| value == "all")
}

/// Levenshtein's distance as the textbook has it.
pub(crate) fn textbook(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (place, of_one) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = place + 1;
        for (column, of_other) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(of_one != *of_other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

/// What the score of two texts must be; both are at most 2,000 characters long, and not the same.
pub(crate) fn expected_score(one: &str, other: &str) -> u8 {
    const NFC: ComposingNormalizerBorrowed<'static> = ComposingNormalizerBorrowed::new_nfc();
    let (one, other) = (NFC.normalize(one), NFC.normalize(other));
    let longer = one.chars().count().max(other.chars().count());
    (((longer - textbook(&one, &other)) * 100).checked_div(longer).unwrap_or(100) as u8).min(99)
}
