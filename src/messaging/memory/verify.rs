//! What contradicts itself in the rows of memories.

use std::collections::BTreeMap;

use quintet_platform::verify::each;
use quintet_storage::{Failure, Read};

use super::tables::{CountsRow, MEMORY, MEMORY_COUNTS};
use crate::model::AgentKey;

/// Everything that does: what is counted of an agent's entries is what there is.
pub(crate) fn verify(read: &impl Read, findings: &mut Vec<String>) -> Result<(), Failure> {
    let mut counted: BTreeMap<AgentKey, CountsRow> = BTreeMap::new();
    each(read, &MEMORY, findings, |(workspace, agent, seq), row, _| {
        let counts = counted.entry((workspace, agent)).or_default();
        counts.last_seq = counts.last_seq.max(seq);
        counts.entries += 1;
        counts.bytes += row.bytes;
        Ok(())
    })?;
    each(read, &MEMORY_COUNTS, findings, |agent, row, findings| {
        let real = counted.remove(&agent).unwrap_or_default();
        if (row.entries, row.bytes) != (real.entries, real.bytes) || row.last_seq < real.last_seq {
            findings.push(format!("the agent {agent:?} remembers {real:?}, and counts {row:?}"));
        }
        Ok(())
    })?;
    findings.extend(counted.keys().map(|agent| format!("what {agent:?} remembers is not counted")));
    Ok(())
}
