//! The way of a check: schemas applied to values, within the budget, and what does not fit told as it is found.

use std::borrow::Cow;

use quintet_platform::json::Json;

use super::budget::{Budget, Stop};
use super::fault::{Misfit, Step, pointer};
use super::model::{Compiled, Dynamic, Node, NodeId, ResourceId, Rules};

/// The most misfits that are told.
pub(super) const MISFITS_MAX: usize = 20;

/// One check.
pub(super) struct Check<'s> {
    compiled: &'s Compiled,
    /// What a schema may ask for, in the order in which it is asked.
    all_rules: &'static [Rule],
    pub(super) budget: Budget,
    /// The resources that the check has come through, the outermost first.
    scope: Vec<ResourceId>,
    misfits: Vec<Misfit>,
}

/// What a schema is applied to.
#[derive(Clone, Copy)]
pub(super) struct Subject<'p> {
    pub(super) value: &'p Json,
    pub(super) at: &'p At<'p>,
    /// Whether what does not fit is told. If not, the first thing decides.
    pub(super) is_told: bool,
}

/// Where a value is in the payload: a list that leads outwards, on the stack.
pub(super) enum At<'p> {
    Whole,
    In(&'p At<'p>, Step<'p>),
}

/// Which members or items of a value have been looked at by a schema, for `unevaluatedItems` and
/// `unevaluatedProperties`.
pub(super) struct Looked(pub(super) Vec<bool>);

/// Something that a schema may ask of a subject: whether it fits.
pub(super) type Rule = for<'s> fn(&mut Check<'s>, &'s Rules, Subject<'_>, Option<&mut Looked>) -> Result<bool, Stop>;

impl<'s> Check<'s> {
    /// A check that has not begun.
    pub(super) fn new(compiled: &'s Compiled, all_rules: &'static [Rule]) -> Check<'s> {
        Check { compiled, all_rules, budget: Budget::whole(), scope: Vec::new(), misfits: Vec::new() }
    }

    /// What was told.
    pub(super) fn into_misfits(self) -> Vec<Misfit> {
        self.misfits
    }

    /// Applies a schema. Calls itself by way of the rules, as deep as the budget lets it.
    pub(super) fn apply(
        &mut self,
        id: NodeId,
        subject: Subject<'_>,
        looked: Option<&mut Looked>,
    ) -> Result<bool, Stop> {
        self.budget.enter()?;
        let fits = match self.compiled.node(id) {
            Node::Always => true,
            Node::Never => self.misfit(subject, || "is not allowed here".into())?,
            Node::Rules(rules) => self.within(rules, subject, looked)?,
        };
        self.budget.leave();
        Ok(fits)
    }

    /// The same, of what nothing is told and nothing counts as looked at.
    pub(super) fn would_fit(&mut self, id: NodeId, subject: Subject<'_>) -> Result<bool, Stop> {
        self.apply(id, Subject { is_told: false, ..subject }, None)
    }

    /// Applies the schema of a child.
    pub(super) fn apply_to_child(
        &mut self,
        id: NodeId,
        subject: Subject<'_>,
        step: Step<'_>,
        value: &Json,
    ) -> Result<bool, Stop> {
        let at = At::In(subject.at, step);
        self.apply(id, Subject { value, at: &at, is_told: subject.is_told }, None)
    }

    /// Tells of something that does not fit, unless nothing is told; always says that it does not fit.
    pub(super) fn misfit(
        &mut self,
        subject: Subject<'_>,
        message: impl FnOnce() -> Cow<'static, str>,
    ) -> Result<bool, Stop> {
        if subject.is_told {
            let path = pointer(steps(subject.at).into_iter().rev());
            self.misfits.push(Misfit { path, message: message().into_owned() });
            if self.misfits.len() == MISFITS_MAX {
                return Err(Stop::Enough);
            }
        }
        Ok(false)
    }

    /// Applies rules within the resource they belong to.
    fn within(&mut self, rules: &'s Rules, subject: Subject<'_>, looked: Option<&mut Looked>) -> Result<bool, Stop> {
        let enters = self.scope.last() != Some(&rules.resource);
        if enters {
            self.scope.push(rules.resource);
        }
        let fits = if rules.leftover_items.is_some() || rules.leftover_members.is_some() {
            // What a schema around this one has looked at does not count here; what this one has, counts there.
            let mut own = self.nothing_looked_at(subject.value)?;
            let fits = self.rules(rules, subject, Some(&mut own))?;
            if let Some(looked) = looked.filter(|_| fits) {
                looked.add(&own);
            }
            fits
        } else {
            self.rules(rules, subject, looked)?
        };
        if enters {
            self.scope.pop();
        }
        Ok(fits)
    }

    fn rules(&mut self, rules: &'s Rules, subject: Subject<'_>, mut looked: Option<&mut Looked>) -> Result<bool, Stop> {
        let mut fits = true;
        for rule in self.all_rules {
            fits &= rule(self, rules, subject, looked.as_deref_mut())?;
            if !fits && !subject.is_told {
                break;
            }
        }
        Ok(fits)
    }

    /// Applies a schema that may fit or not: what it has looked at counts if it fits.
    pub(super) fn attempt(
        &mut self,
        id: NodeId,
        subject: Subject<'_>,
        looked: Option<&mut Looked>,
    ) -> Result<bool, Stop> {
        let subject = Subject { is_told: false, ..subject };
        let Some(looked) = looked else { return self.apply(id, subject, None) };
        let mut own = self.nothing_looked_at(subject.value)?;
        let fits = self.apply(id, subject, Some(&mut own))?;
        if fits {
            looked.add(&own);
        }
        Ok(fits)
    }

    fn nothing_looked_at(&mut self, value: &Json) -> Result<Looked, Stop> {
        let children = match value {
            Json::Array(items) => items.len(),
            Json::Object(members) => members.len(),
            _ => 0,
        };
        self.budget.spend_for_bytes(children)?;
        Ok(Looked(vec![false; children]))
    }

    /// The schema that a dynamic reference means here: that of the outermost resource which has its anchor.
    pub(super) fn dynamic_target(&mut self, dynamic: &Dynamic) -> Result<NodeId, Stop> {
        let Some(anchor) = &dynamic.anchor else { return Ok(dynamic.target) };
        self.budget.spend(self.scope.len() as u64)?;
        let outermost = self.scope.iter().find_map(|resource| self.compiled.dynamic_anchor(*resource, anchor));
        Ok(outermost.unwrap_or(dynamic.target))
    }
}

impl Looked {
    pub(super) fn mark(&mut self, child: usize) {
        if let Some(child) = self.0.get_mut(child) {
            *child = true;
        }
    }

    pub(super) fn has(&self, child: usize) -> bool {
        self.0.get(child).copied().unwrap_or_default()
    }

    fn add(&mut self, other: &Looked) {
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own |= other;
        }
    }
}

fn steps<'p>(mut at: &'p At<'p>) -> Vec<Step<'p>> {
    let mut steps = Vec::new();
    while let At::In(around, step) = at {
        steps.push(*step);
        at = around;
    }
    steps
}
