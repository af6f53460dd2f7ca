//! Proposals for the keys of a call: from the memory, where that is asked for and what it has will do, and else from the
//! engine.

use std::time::Duration;

use quintet_storage::{Abort, Read, Timestamp};
use tokio::task::JoinSet;

use super::answers::{self, Said};
use super::batches::{Batch, batches};
use super::draft::judge;
use super::hints;
use super::model::{Candidate, Guidance, Item, Match, Proposal, Wish};
use super::prompt;
use crate::content::{Source, Wished};
use crate::context::Context;
use crate::engine::{Ask, Caller};
use crate::language::Category;
use crate::model::TenantId;
use crate::refusal::Refusal;
use crate::spaces::Project;

/// How long a call may wait for the engine, all of its requests together.
const CALL_TIME: Duration = Duration::from_secs(300);

/// What is known of a call's keys before the engine is asked.
#[derive(Debug)]
pub struct Prepared {
    /// What the memory proposes, and what passes.
    pub proposals: Vec<Proposal>,
    /// What the engine is to be asked, and for which items.
    asks: Vec<(Batch, Ask)>,
}

impl Prepared {
    /// Whether the engine is to be asked for anything.
    pub fn needs_engine(&self) -> bool {
        !self.asks.is_empty()
    }
}

/// Looks up what the memory has of the candidates, and makes ready what the engine is to be asked.
///
/// # Errors
/// Only the store's.
pub fn prepare(
    context: &Context,
    read: &impl Read,
    tenant_id: TenantId,
    project: &Project,
    wish: &Wish,
    candidates: Vec<Candidate>,
) -> Result<Prepared, Abort<Refusal>> {
    let (mut proposals, mut items) = (Vec::new(), Vec::new());
    for candidate in candidates {
        let memory = hints::matches(context, read, tenant_id, project, &candidate.key, &wish.locale)?;
        let remembered = remembered(&candidate, &memory, wish);
        let will_do = match &remembered {
            None => false,
            Some(proposal) => {
                let (shelf, key) = (&context.shelf, &candidate.key);
                judge(read, shelf, tenant_id, project, key, wish, proposal.clone())?.is_ok()
            }
        };
        match remembered.filter(|_| will_do) {
            Some(proposal) => proposals.push(proposal),
            None => items.push(Item { candidate, memory }),
        }
    }
    let guidance = if items.is_empty() {
        Guidance::default()
    } else {
        hints::guidance(context, read, tenant_id, project, &wish.locale)?
    };
    let source_locale = project.source.locale.tag.as_str();
    let asks = batches(items).into_iter().map(|batch| {
        let ask = prompt::ask(&batch, &guidance, source_locale, &wish.locale);
        (batch, ask)
    });
    Ok(Prepared { proposals, asks: asks.collect() })
}

/// What the memory proposes for a key, if it has anything as like as was asked for. It has single texts: of plurals those
/// alone that have one form in the locale.
fn remembered(candidate: &Candidate, memory: &[Match], wish: &Wish) -> Option<Proposal> {
    let best = memory.first().filter(|best| wish.from_memory.is_some_and(|least| best.score >= least))?;
    let wished = match &candidate.key.entry.source {
        Source::Text(_) => Wished::Text(best.target.clone()),
        Source::Forms(_) => {
            let is_single = wish.locale.cardinal().iter().eq([Category::Other]);
            let forms = is_single.then(|| vec![(Category::Other.name().to_owned(), best.target.clone())]);
            Wished::Forms(forms?)
        }
    };
    Some(Proposal { candidate: candidate.clone(), wished: Some(wished), is_from_memory: true })
}

/// Asks the engine for everything that is left; the proposals of all keys.
///
/// # Errors
/// [`Refusal::AiUnavailable`] if one request fails in the end, or all take too long together.
pub async fn ask(caller: &Caller, now: Timestamp, prepared: Prepared) -> Result<Vec<Proposal>, Refusal> {
    let Prepared { mut proposals, asks } = prepared;
    // Whoever leaves this drops it, and with it all that is under way.
    let mut asking: JoinSet<Result<(Batch, Said), Refusal>> = JoinSet::new();
    for (batch, ask) in asks {
        let caller = caller.clone();
        asking.spawn(async move {
            let is_plural = batch.is_plural;
            let said = caller.ask(&ask, now, move |document| answers::read(document, is_plural)).await;
            Ok((batch, said.map_err(|_| Refusal::AiUnavailable)?))
        });
    }
    let all = async {
        while let Some(ended) = asking.join_next().await {
            let (batch, mut said) = ended.unwrap_or(Err(Refusal::AiUnavailable))?;
            for Item { candidate, .. } in batch.items {
                let wished = said.remove(&candidate.key.key_id).flatten();
                proposals.push(Proposal { candidate, wished, is_from_memory: false });
            }
        }
        Ok::<_, Refusal>(())
    };
    tokio::time::timeout(CALL_TIME, all).await.unwrap_or(Err(Refusal::AiUnavailable))?;
    proposals.sort_by_key(|proposal| proposal.candidate.key.key_id);
    Ok(proposals)
}
