//! Samples and licences.

use quintet_platform::json::Json;
use quintet_platform::service::{Id, Instant, written};
use quintet_storage::{Failure, Timestamp, Uuid};
use serde::Serialize;

use super::states::LicenceState;
use super::tables::LicenceRow;
use crate::decisions::{Raise, Subject};
use crate::model::ProjectId;
use crate::refusal::Refusal;

/// How large a sample is, at least and at most (contract, Limits).
pub const SAMPLE_SIZES: std::ops::RangeInclusive<u32> = 300..=100_000;
/// Of a sample at most one in so many may have needed a correction: 5 percent.
const CORRECTIONS_ONE_IN: u64 = 20;
/// Of its prose at most one in so many may have changed.
const CHANGED_ONE_IN: u64 = 10;
/// How long a licence holds, in seconds: 30 days.
pub const LICENCE_SECONDS: i64 = 30 * 86_400;

/// What somebody has read, and how much of it was wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// How many translations.
    pub size: u32,
    /// How many of them needed a correction.
    pub corrections: u64,
    /// How many said something else than their source.
    pub meaning_errors: u64,
    /// Where it is written down.
    pub reference: String,
}

impl Sample {
    /// That it has no more faults than translations (localization, P1).
    ///
    /// # Errors
    /// [`Refusal::SampleInvalid`]
    pub fn check(&self) -> Result<(), Refusal> {
        let size = u64::from(self.size);
        for (name, faults) in [("corrections", self.corrections), ("meaning_errors", self.meaning_errors)] {
            if faults > size {
                return Err(Refusal::SampleInvalid(name, "is more than sample_size"));
            }
        }
        Ok(())
    }

    /// Whether it is good enough.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.corrections.saturating_mul(CORRECTIONS_ONE_IN) <= u64::from(self.size) && self.meaning_errors == 0
    }
}

/// Whether more has changed than a licence bears (localization, P3).
#[must_use]
pub const fn has_changed_too_much(changed: u64, prose_keys: u64) -> bool {
    changed.saturating_mul(CHANGED_ONE_IN) > prose_keys
}

/// A licence as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Licence {
    /// What a decision about it is about.
    pub subject: Subject,
    /// In which project.
    pub project_id: ProjectId,
    /// Everything else that is stored of it.
    pub row: LicenceRow,
}

impl Licence {
    /// The decision that is wanted (localization, W1).
    #[must_use]
    pub fn raise(&self, policy: &str) -> Raise {
        let row = &self.row;
        let action = Json::object([
            ("project", Json::from(self.project_id.0.to_string())),
            ("locale", Json::from(row.locale.as_str())),
            ("sample_size", Json::from(row.sample_size)),
            ("corrections", Json::from(row.corrections)),
            ("meaning_errors", Json::from(row.meaning_errors)),
            ("sample_ref", Json::from(row.sample_ref.as_str())),
        ]);
        let context = r#"{"items":[]}"#.to_owned();
        Raise { subject: self.subject, policy: policy.to_owned(), action, context, expires_at: row.decide_until }
    }
}

/// When a licence lapses that was decided at an instant.
#[must_use]
pub fn expiry(decided_at: Timestamp) -> Timestamp {
    decided_at.plus_seconds(LICENCE_SECONDS)
}

#[derive(Serialize)]
struct LicenceBody<'a> {
    id: Id,
    locale: &'a str,
    state: &'static str,
    sample_size: u32,
    corrections: u64,
    meaning_errors: u64,
    sample_ref: &'a str,
    approval_request_id: Option<Id>,
    decision_id: Option<&'a str>,
    decided_by: Option<&'a str>,
    decided_at: Option<Instant>,
    lapsed_at: Option<Instant>,
    lapse_reason: Option<&'static str>,
    prose_keys: u64,
    prose_changed_since_grant: u64,
    expires_at: Option<Instant>,
    created_at: Instant,
}

fn of_licence<'a>(id: Uuid, row: &'a LicenceRow) -> LicenceBody<'a> {
    let was_raised = row.state != LicenceState::SampleFailed;
    LicenceBody {
        id: Id(id),
        locale: &row.locale,
        state: row.state.name(),
        sample_size: row.sample_size,
        corrections: row.corrections,
        meaning_errors: row.meaning_errors,
        sample_ref: &row.sample_ref,
        approval_request_id: was_raised.then_some(Id(id)),
        decision_id: row.decision_id.as_deref(),
        decided_by: row.decided_by.as_deref(),
        decided_at: row.decided_at.map(Instant),
        lapsed_at: row.lapsed_at.map(Instant),
        lapse_reason: row.lapse_reason.map(|reason| reason.name()),
        prose_keys: row.prose_keys,
        prose_changed_since_grant: row.prose_changed,
        expires_at: row.expires_at.map(Instant),
        created_at: Instant(row.created_at),
    }
}

/// Licence.
///
/// # Errors
/// None that can happen with these types.
pub fn write_licence(id: Uuid, row: &LicenceRow) -> Result<Vec<u8>, Failure> {
    written(&of_licence(id, row))
}

#[derive(Serialize)]
struct LicenceList<'a> {
    licences: Vec<LicenceBody<'a>>,
}

/// LicenceList.
///
/// # Errors
/// None that can happen with these types.
pub fn write_licences(licences: &[(Uuid, LicenceRow)]) -> Result<Vec<u8>, Failure> {
    written(&LicenceList { licences: licences.iter().map(|(id, row)| of_licence(*id, row)).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_pass_up_to_five_percent_and_without_errors_of_meaning() {
        let sample =
            |size, corrections, meaning_errors| Sample { size, corrections, meaning_errors, reference: "r".to_owned() };
        for (size, corrections, errors, passes) in
            [(300, 15, 0, true), (300, 16, 0, false), (319, 15, 0, true), (320, 16, 0, true), (300, 0, 1, false)]
        {
            let sample = sample(size, corrections, errors);
            assert_eq!((sample.check(), sample.passes()), (Ok(()), passes), "{sample:?}");
        }
        let invalid = |name| Err(Refusal::SampleInvalid(name, "is more than sample_size"));
        assert_eq!(sample(300, 301, 0).check(), invalid("corrections"));
        assert_eq!(sample(300, 0, 301).check(), invalid("meaning_errors"));
        assert!(!sample(300, u64::MAX, 0).passes());
    }

    #[test]
    fn a_tenth_may_change() {
        assert!(!has_changed_too_much(1, 10) && has_changed_too_much(2, 19) && !has_changed_too_much(0, 0));
        assert!(has_changed_too_much(1, 9) && has_changed_too_much(u64::MAX, u64::MAX - 1));
    }
}
