//! What is asked of arrays and objects: how many children they have, which, and what each of them must fit.

use quintet_platform::json::Json;

use super::budget::Stop;
use super::check::{Check, Looked, Subject};
use super::fault::{Step, shown};
use super::model::{Arrays, Contains, Named, NodeId, Objects, Rules};
use super::same::text_of;
use super::scalars::many;

/// `minItems`, `maxItems`, `uniqueItems`, `prefixItems`, `items`, `contains`
pub(super) fn arrays<'s>(
    check: &mut Check<'s>,
    rules: &'s Rules,
    subject: Subject<'_>,
    mut looked: Option<&mut Looked>,
) -> Result<bool, Stop> {
    let (Some(arrays), Json::Array(items)) = (&rules.arrays, subject.value) else { return Ok(true) };
    let mut fits = count(check, subject, items.len(), arrays.items_min, arrays.items_max, "item")?;
    if !fits && !subject.is_told {
        return Ok(false);
    }
    for (place, item) in items.iter().enumerate() {
        let Some(schema) = arrays.prefix.get(place).copied().or(arrays.items) else { break };
        if !check.apply_to_child(schema, subject, Step::Item(place), item)? {
            fits = false;
            if !subject.is_told {
                return Ok(false);
            }
        }
        if let Some(looked) = looked.as_deref_mut() {
            looked.mark(place);
        }
    }
    if let Some(contains) = &arrays.contains {
        fits &= contained(check, contains, subject, items, looked)?;
    }
    Ok(fits & are_unique(check, arrays, subject, items)?)
}

fn contained(
    check: &mut Check<'_>,
    contains: &Contains,
    subject: Subject<'_>,
    items: &[Json],
    mut looked: Option<&mut Looked>,
) -> Result<bool, Stop> {
    let mut found: u64 = 0;
    let untold = Subject { is_told: false, ..subject };
    for (place, item) in items.iter().enumerate() {
        if check.apply_to_child(contains.schema, untold, Step::Item(place), item)? {
            found += 1;
            if let Some(looked) = looked.as_deref_mut() {
                looked.mark(place);
            }
        }
    }
    let mut fits = true;
    if found < contains.least {
        let message = || format!("must have at least {} that fit contains", many(contains.least, "item")).into();
        fits = check.misfit(subject, message)?;
    }
    if let Some(most) = contains.most.filter(|most| found > *most) {
        fits =
            check.misfit(subject, || format!("must have at most {} that fit contains", many(most, "item")).into())?;
    }
    Ok(fits)
}

/// By sorting: comparing each with each would take a square of steps.
fn are_unique(check: &mut Check<'_>, arrays: &Arrays, subject: Subject<'_>, items: &[Json]) -> Result<bool, Stop> {
    if !arrays.are_unique || items.len() < 2 {
        return Ok(true);
    }
    let mut texts = Vec::with_capacity(items.len());
    for item in items {
        texts.push(text_of(item, &mut check.budget)?);
    }
    // Sorting takes longer than looking at each once.
    check.budget.spend(4 * items.len() as u64)?;
    texts.sort_unstable();
    if texts.array_windows().all(|[one, other]| one != other) {
        return Ok(true);
    }
    check.misfit(subject, || "must not have an item twice".into())
}

/// `minProperties`, `maxProperties`, `properties`, `patternProperties`, `additionalProperties`, `propertyNames`,
/// `required`, `dependentRequired`, `dependentSchemas`
pub(super) fn objects<'s>(
    check: &mut Check<'s>,
    rules: &'s Rules,
    subject: Subject<'_>,
    mut looked: Option<&mut Looked>,
) -> Result<bool, Stop> {
    let (Some(objects), Json::Object(members)) = (&rules.objects, subject.value) else { return Ok(true) };
    let mut fits = count(check, subject, members.len(), objects.members_min, objects.members_max, "member")?;
    check.budget.spend_for_bytes(objects.named.len())?;
    let mut is_there = vec![false; objects.named.len()];
    for (place, (name, value)) in members.iter().enumerate() {
        if !fits && !subject.is_told {
            return Ok(false);
        }
        let named = objects.named(name);
        if let Some(there) = named.and_then(|(place, _)| is_there.get_mut(place)) {
            *there = true;
        }
        let schema = named.and_then(|(_, named)| named.schema);
        let (member_fits, is_looked_at) = member(check, objects, schema, subject, name, value)?;
        fits &= member_fits;
        if let Some(looked) = looked.as_deref_mut().filter(|_| is_looked_at) {
            looked.mark(place);
        }
    }
    for (place, named) in objects.named.iter().enumerate() {
        let is_here = is_there.get(place) == Some(&true);
        if named.is_required && !is_here {
            fits = check.misfit(subject, || format!("must have the member {:?}", shown(&named.name)).into())?;
        }
        if is_here {
            fits &= dependents(check, objects, named, &is_there, subject, looked.as_deref_mut())?;
        }
    }
    Ok(fits)
}

/// One member: whether it fits, and whether a schema was there for it.
fn member(
    check: &mut Check<'_>,
    objects: &Objects,
    named: Option<NodeId>,
    subject: Subject<'_>,
    name: &str,
    value: &Json,
) -> Result<(bool, bool), Stop> {
    check.budget.spend_for_bytes(name.len())?;
    let step = Step::Member(name);
    let mut fits = true;
    let mut is_looked_at = named.is_some();
    if let Some(schema) = named {
        fits &= check.apply_to_child(schema, subject, step, value)?;
    }
    for (pattern, schema) in &objects.patterns {
        if pattern.is_found_in(name, &mut check.budget)? {
            is_looked_at = true;
            fits &= check.apply_to_child(*schema, subject, step, value)?;
        }
    }
    if let Some(schema) = objects.additional.filter(|_| !is_looked_at) {
        is_looked_at = true;
        fits &= check.apply_to_child(schema, subject, step, value)?;
    }
    if let Some(schema) = objects.names {
        check.budget.spend_for_bytes(name.len())?;
        let untold = Subject { is_told: false, ..subject };
        if !check.apply_to_child(schema, untold, step, &Json::from(name))? {
            let message = || format!("must not have a member with the name {:?}", shown(name)).into();
            fits &= check.misfit(subject, message)?;
        }
    }
    Ok((fits, is_looked_at))
}

/// What a member that is there asks for besides.
fn dependents<'s>(
    check: &mut Check<'s>,
    objects: &'s Objects,
    named: &'s Named,
    is_there: &[bool],
    subject: Subject<'_>,
    looked: Option<&mut Looked>,
) -> Result<bool, Stop> {
    let mut fits = true;
    check.budget.spend(named.also_required.len() as u64)?;
    for place in &named.also_required {
        if is_there.get(*place) == Some(&false) {
            let other = objects.named.get(*place).map_or("", |other| &other.name);
            let message = || format!("must have the member {:?}, since it has {:?}", shown(other), shown(&named.name));
            fits &= check.misfit(subject, || message().into())?;
        }
    }
    if let Some(schema) = named.dependent {
        fits &= check.apply(schema, subject, looked)?;
    }
    Ok(fits)
}

/// How many children there are.
fn count(
    check: &mut Check<'_>,
    subject: Subject<'_>,
    children: usize,
    least: Option<u64>,
    most: Option<u64>,
    noun: &str,
) -> Result<bool, Stop> {
    let children = children as u64;
    let mut fits = true;
    if let Some(least) = least.filter(|least| children < *least) {
        fits = check.misfit(subject, || format!("must have at least {}", many(least, noun)).into())?;
    }
    if let Some(most) = most.filter(|most| children > *most) {
        fits = check.misfit(subject, || format!("must have at most {}", many(most, noun)).into())?;
    }
    Ok(fits)
}

/// `unevaluatedItems`
pub(super) fn leftover_items<'s>(
    check: &mut Check<'s>,
    rules: &'s Rules,
    subject: Subject<'_>,
    looked: Option<&mut Looked>,
) -> Result<bool, Stop> {
    match (rules.leftover_items, subject.value) {
        (Some(schema), Json::Array(items)) => {
            let children = items.iter().enumerate().map(|(place, item)| (Step::Item(place), item));
            leftovers(check, schema, subject, looked, children)
        }
        _ => Ok(true),
    }
}

/// `unevaluatedProperties`
pub(super) fn leftover_members<'s>(
    check: &mut Check<'s>,
    rules: &'s Rules,
    subject: Subject<'_>,
    looked: Option<&mut Looked>,
) -> Result<bool, Stop> {
    match (rules.leftover_members, subject.value) {
        (Some(schema), Json::Object(members)) => {
            let children = members.iter().map(|(name, value)| (Step::Member(name), value));
            leftovers(check, schema, subject, looked, children)
        }
        _ => Ok(true),
    }
}

/// Applies a schema to the children that nothing has looked at, which it has then.
fn leftovers<'p>(
    check: &mut Check<'_>,
    schema: NodeId,
    subject: Subject<'p>,
    mut looked: Option<&mut Looked>,
    children: impl Iterator<Item = (Step<'p>, &'p Json)>,
) -> Result<bool, Stop> {
    let mut fits = true;
    for (place, (step, child)) in children.enumerate() {
        check.budget.spend(1)?;
        if looked.as_deref().is_some_and(|looked| looked.has(place)) {
            continue;
        }
        fits &= check.apply_to_child(schema, subject, step, child)?;
        if let Some(looked) = looked.as_deref_mut() {
            looked.mark(place);
        }
    }
    Ok(fits)
}
