//! Continuous backups that tell how far they are. The appliance waits for none of them: it only remembers what they said.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// More directories than anybody lets follow; the one that was heard of longest ago is forgotten.
const FOLLOWERS_MAX: usize = 8;
/// A continuous backup that is further behind is told.
pub const LAG_SECONDS_MAX: u64 = 60;

/// How a continuous backup stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowerView {
    /// The directory that follows.
    pub destination: String,
    /// Everything up to this transaction is there.
    pub lsn: u64,
    /// Everything that was acknowledged longer ago than this is there.
    pub lag_seconds: u64,
}

/// What a follower says of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Followed {
    /// The directory that follows.
    pub destination: String,
    /// Everything up to this transaction is there.
    pub lsn: u64,
    /// Everything that was acknowledged longer ago than this, in milliseconds, is there.
    pub lag_millis: u64,
}

/// All that were heard of since the start.
#[derive(Clone, Debug, Default)]
pub struct Followers(Arc<Mutex<BTreeMap<String, Heard>>>);

#[derive(Clone, Copy, Debug)]
struct Heard {
    lsn: u64,
    lag: Duration,
    at: Instant,
}

impl Heard {
    fn lag(&self) -> Duration {
        self.at.elapsed() + self.lag
    }
}

impl Followers {
    /// Notes what one says.
    pub fn hear(&self, said: Followed) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let heard = Heard { lsn: said.lsn, lag: Duration::from_millis(said.lag_millis), at: Instant::now() };
        all.insert(said.destination, heard);
        if all.len() > FOLLOWERS_MAX
            && let Some(oldest) = all.iter().min_by_key(|(_, heard)| heard.at).map(|(name, _)| name.clone())
        {
            all.remove(&oldest);
        }
    }

    /// Each directory with how far behind it is, in seconds.
    #[must_use]
    pub fn lags(&self) -> Vec<(String, f64)> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|(name, heard)| (name.clone(), heard.lag().as_secs_f64())).collect()
    }

    /// How all of them stand.
    #[must_use]
    pub fn show(&self) -> Vec<FollowerView> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let view = |(destination, heard): (&String, &Heard)| FollowerView {
            destination: destination.clone(),
            lsn: heard.lsn,
            lag_seconds: heard.lag().as_secs(),
        };
        all.iter().map(view).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_heard_of_last_is_remembered() {
        let followers = Followers::default();
        let say = |destination: &str, lsn, lag_millis| {
            followers.hear(Followed { destination: destination.to_owned(), lsn, lag_millis });
        };
        say("/old", 1, 90_000);
        assert_eq!(followers.show()[0].lag_seconds, 90);
        say("/old", 2, 400);
        assert_eq!((followers.show()[0].lsn, followers.show()[0].lag_seconds), (2, 0));
        assert!(followers.lags()[0].1 >= 0.4);
        for number in 0..FOLLOWERS_MAX {
            say(&format!("/{number}"), 1, 0);
        }
        let names: Vec<String> = followers.show().into_iter().map(|view| view.destination).collect();
        assert!(names.len() == FOLLOWERS_MAX && !names.contains(&"/old".to_owned()), "{names:?}");
    }
}
