//! What is wrong, and the cure: what `quintet doctor` finds, seen by the appliance's own user.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;

use super::door::Console;
use super::notice::Notice;
use super::pages::{DoctorPage, FindingLine, answer};
use super::visitor::Operator;
use crate::admin::status;
use crate::doctor::examination::examine_running;
use crate::doctor::subject::{Finding, State as Grade};

/// The page. One examination at a time: each starts threads and programs, and takes some seconds at most.
pub async fn show(State(console): State<Console>, operator: Operator) -> Result<Response, Notice> {
    let _turn = console.examinations.acquire().await.map_err(|_| Notice::Unavailable)?;
    let app = console.app.clone();
    let examined = tokio::task::spawn_blocking(move || {
        let status = status::show(&app)?;
        Ok::<_, Notice>(examine_running(&app.config, app.store.directory(), status))
    });
    let findings = examined.await.map_err(|_| Notice::Unavailable)??;
    let (right, mut wrong): (Vec<_>, Vec<_>) = findings.into_iter().partition(|finding| finding.state == Grade::Ok);
    wrong.sort_by_key(|finding| finding.state == Grade::Warning);
    let lines = |findings: Vec<Finding>| findings.into_iter().map(line).collect();
    Ok(answer(StatusCode::OK, &DoctorPage { frame: operator.frame, wrong: lines(wrong), right: lines(right) }))
}

fn line(finding: Finding) -> FindingLine {
    let (state, word) = match finding.state {
        Grade::Ok => ("good", "doctor.ok"),
        Grade::Warning => ("fair", "doctor.warning"),
        Grade::Problem => ("bad", "doctor.problem"),
    };
    FindingLine { check: finding.check, says: finding.says, cure: finding.cure, state, word }
}
