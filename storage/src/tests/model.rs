//! A model of the tables for the crash simulator: after a crash it is at any point between its last flush and what
//! had been applied, as RocksDB without a log of its own is.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex};

use crate::error::Failure;
use crate::log::format::Op;
use crate::tables::family::Family;
use crate::tables::projection::{Application, Applied, KeyRange, Projection, ProjectionRead, Visit};
use crate::time::Lsn;

pub(super) type Rows = BTreeMap<(Family, Vec<u8>), Vec<u8>>;

#[derive(Clone)]
struct State {
    applied: Applied,
    rows: Arc<Rows>,
}

pub(super) struct ModelTables {
    /// The flushed state first, the newest last.
    states: Mutex<Vec<State>>,
    /// Whether the next application fails, as a disk that is full makes RocksDB do.
    pub(super) refuses: std::sync::atomic::AtomicBool,
}

impl ModelTables {
    pub(super) fn empty() -> ModelTables {
        ModelTables {
            states: Mutex::new(vec![State { applied: Applied::NOTHING, rows: Arc::default() }]),
            refuses: false.into(),
        }
    }

    /// What a checkpoint holds: the newest state.
    pub(super) fn checkpoint(&self) -> ModelTables {
        let newest = self.states.lock().unwrap().last().unwrap().clone();
        ModelTables { states: Mutex::new(vec![newest]), refuses: false.into() }
    }

    /// What a restart finds.
    pub(super) fn crash(&self, random: &mut fastrand::Rng) -> ModelTables {
        let states = self.states.lock().unwrap();
        let kept = states[random.usize(..states.len())].clone();
        ModelTables { states: Mutex::new(vec![kept]), refuses: false.into() }
    }

    pub(super) fn newest(&self) -> (Lsn, Arc<Rows>) {
        let states = self.states.lock().unwrap();
        let newest = states.last().unwrap();
        (newest.applied.lsn, Arc::clone(&newest.rows))
    }
}

struct ModelSnapshot(Arc<Rows>);

impl ProjectionRead for ModelSnapshot {
    fn get(&self, family: Family, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<bool, Failure> {
        Ok(self.0.get(&(family, key.to_vec())).map(|value| visit(value)).is_some())
    }

    fn scan(&self, family: Family, range: &KeyRange, visit: Visit<'_>) -> Result<(), Failure> {
        let lower = Bound::Included((family, range.lower.clone()));
        let is_inside = |key: &[u8]| range.upper.as_deref().is_none_or(|upper| key < upper);
        let from_lower = self.0.range((lower, Bound::Unbounded));
        let mut rows: Vec<_> = from_lower.take_while(|((other, key), _)| *other == family && is_inside(key)).collect();
        if range.descending {
            rows.reverse();
        }
        for ((_, key), value) in rows {
            if !visit(key, value) {
                break;
            }
        }
        Ok(())
    }
}

impl ProjectionRead for ModelTables {
    fn get(&self, family: Family, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<bool, Failure> {
        ModelSnapshot(self.newest().1).get(family, key, visit)
    }

    fn scan(&self, family: Family, range: &KeyRange, visit: Visit<'_>) -> Result<(), Failure> {
        ModelSnapshot(self.newest().1).scan(family, range, visit)
    }
}

impl Projection for ModelTables {
    fn applied(&self) -> Result<Applied, Failure> {
        Ok(self.states.lock().unwrap().last().unwrap().applied)
    }

    fn apply(&self, application: Application<'_>) -> Result<(), Failure> {
        if self.refuses.load(std::sync::atomic::Ordering::SeqCst) {
            return Err(Failure::Io("the disk is full".to_owned()));
        }
        let mut states = self.states.lock().unwrap();
        let newest = states.last().unwrap();
        assert!(application.applied.lsn > newest.applied.lsn, "groups are applied in order, once");
        let mut rows = Rows::clone(&newest.rows);
        for (family, op) in application.ops {
            match op {
                Op::Put { key, value } => drop(rows.insert((family, key.to_vec()), value.to_vec())),
                Op::Delete { key } => drop(rows.remove(&(family, key.to_vec()))),
            }
        }
        states.push(State { applied: application.applied, rows: Arc::new(rows) });
        Ok(())
    }

    fn flush(&self) -> Result<(), Failure> {
        let mut states = self.states.lock().unwrap();
        let newest = states.pop().unwrap();
        *states = vec![newest];
        Ok(())
    }

    fn snapshot(&self) -> Arc<dyn ProjectionRead> {
        Arc::new(ModelSnapshot(self.newest().1))
    }

    fn fault(&self) -> Option<String> {
        None
    }
}
