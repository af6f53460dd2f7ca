//! What is wrong, and the cure: what `quintet doctor` finds, seen by the appliance's own user.

use std::time::Instant;

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;

use super::door::Console;
use super::notice::Notice;
use super::pages::{DoctorPage, FindingLine, answer};
use super::visitor::Operator;
use crate::admin::status;
use crate::doctor::examination::{LeftBehind, examine_running};
use crate::doctor::subject::{Finding, State as Grade};

/// The page.
pub async fn show(State(console): State<Console>, operator: Operator) -> Result<Response, Notice> {
    let app = console.app.clone();
    let examine = move |left: &LeftBehind| {
        let status = status::show(&app)?;
        Ok::<_, Notice>(examine_running(&app.config, app.store.directory(), status, left))
    };
    let findings = console.examinations.findings(Instant::now(), examine).await?;
    let (right, mut wrong): (Vec<_>, Vec<_>) = findings.iter().cloned().partition(|finding| finding.state == Grade::Ok);
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
