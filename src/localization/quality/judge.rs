//! All checks over one translation.

use super::model::{CheckId, CheckSet, Outcome, Pair, QaCheck, Status, Subject};
use super::{q01, q02, q03, q04, q05, q06, q07, q08, q09, q10, q11, q12, q14, q16, q17, q18, q19, q20};

/// What a check says of one text.
type PairCheck = fn(&Subject<'_>, &Pair<'_>) -> Outcome;
/// What a check says of the whole translation.
type WholeCheck = fn(&Subject<'_>) -> Outcome;

/// The checks that look at each text for itself.
const PAIR_CHECKS: &[(CheckId, PairCheck)] = &[
    (CheckId::Q01, q01::judge),
    (CheckId::Q02, q02::judge),
    (CheckId::Q03, q03::judge),
    (CheckId::Q06, q06::judge),
    (CheckId::Q07, q07::judge),
    (CheckId::Q08, q08::judge),
    (CheckId::Q09, q09::judge),
    (CheckId::Q10, q10::judge),
    (CheckId::Q11, q11::judge),
    (CheckId::Q12, q12::judge),
    (CheckId::Q14, q14::judge),
    (CheckId::Q16, q16::judge),
    (CheckId::Q17, q17::judge),
    (CheckId::Q18, q18::judge),
    (CheckId::Q19, q19::judge),
    (CheckId::Q20, q20::judge),
];

/// The checks that look at all forms together.
const WHOLE_CHECKS: &[(CheckId, WholeCheck)] = &[(CheckId::Q04, q04::judge), (CheckId::Q05, q05::judge)];

/// What every check says, in the order of the interface.
#[must_use]
pub fn judge(subject: &Subject<'_>) -> Vec<QaCheck> {
    let mut checks: Vec<QaCheck> = PAIR_CHECKS
        .iter()
        .map(|(check, judge)| of_pairs(*check, subject, *judge))
        .chain(WHOLE_CHECKS.iter().map(|(check, judge)| told(*check, judge(subject))))
        .collect();
    checks.sort_by_key(|told| told.check);
    checks
}

/// The checks that fail: what [`judge`] says, without its details.
#[must_use]
pub fn failing(subject: &Subject<'_>) -> CheckSet {
    let failed = |(_, outcome): &(CheckId, Outcome)| matches!(outcome, Outcome::Fail(_));
    let of_pairs = PAIR_CHECKS
        .iter()
        .flat_map(|(check, judge)| subject.pairs.iter().map(move |pair| (*check, judge(subject, pair))));
    let of_whole = WHOLE_CHECKS.iter().map(|(check, judge)| (*check, judge(subject)));
    of_pairs.chain(of_whole).filter(failed).map(|(check, _)| check).collect()
}

/// A plural fails if any form fails, and says which; it is skipped if there is nothing to look at in any.
fn of_pairs(check: CheckId, subject: &Subject<'_>, judge: PairCheck) -> QaCheck {
    let mut skipped = None;
    let mut passed = false;
    let mut failed = Vec::new();
    for pair in &subject.pairs {
        match (judge(subject, pair), pair.category) {
            (Outcome::Pass, _) => passed = true,
            (Outcome::Skipped(why), _) => skipped = skipped.or(Some(why)),
            (Outcome::Fail(detail), None) => failed.push(detail),
            (Outcome::Fail(detail), Some(category)) => failed.push(format!("{}: {detail}", category.name())),
        }
    }
    if !failed.is_empty() {
        return told(check, Outcome::Fail(super::detail::shortened(failed.join("; "))));
    }
    told(check, if passed { Outcome::Pass } else { Outcome::Skipped(skipped.unwrap_or("nothing")) })
}

fn told(check: CheckId, outcome: Outcome) -> QaCheck {
    let (status, detail) = match outcome {
        Outcome::Pass => (Status::Pass, None),
        Outcome::Fail(detail) => (Status::Fail, Some(detail)),
        Outcome::Skipped(why) => (Status::Skipped, Some(why.to_owned())),
    };
    QaCheck { check, status, detail }
}
