//! A bounded queue in which those who ask take turns: nobody waits for all that another has in it.
//!
//! Of one source, which is an address or a tenant, the shortest goes first, for it is most likely short work. Where the queue is full, whoever has
//! most in it loses the longest of that, so that neither many jobs of one source nor long ones keep others out.

use std::net::IpAddr;

use quintet_storage::Uuid;

/// How many are remembered that had their turn.
const SERVED_MAX: usize = 256;

/// Where something to be drawn comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The address of a caller.
    Address(IpAddr),
    /// A tenant, whose workflows and templates the appliance draws by itself.
    Tenant(Uuid),
}

/// Who asks for something, and how much it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker {
    /// Where it comes from, if that is known.
    pub source: Option<Source>,
    /// How long what is to be read is.
    pub bytes: usize,
}

struct Waiting<J> {
    asker: Asker,
    number: u64,
    job: J,
}

impl<J> Waiting<J> {
    /// In which order the jobs of one source are begun.
    fn rank(&self) -> (usize, u64) {
        (self.asker.bytes, self.number)
    }
}

/// The queue.
pub struct Queue<J> {
    places: usize,
    waiting: Vec<Waiting<J>>,
    /// Sources that had their turn, the latest last.
    served: Vec<Option<Source>>,
    next_number: u64,
}

impl<J> Queue<J> {
    /// An empty one of so many places.
    pub fn new(places: usize) -> Queue<J> {
        Queue { places, waiting: Vec::new(), served: Vec::new(), next_number: 0 }
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether there is a place, or one would be made.
    pub fn has_place(&self, asker: Asker) -> bool {
        self.len() < self.places || self.victim(asker).is_some()
    }

    /// Adds a job; gives back the one that lost its place to it.
    ///
    /// # Errors
    /// The job itself, if there is no place for it.
    pub fn push(&mut self, asker: Asker, job: J) -> Result<Option<J>, J> {
        let displaced = if self.len() < self.places {
            None
        } else {
            match self.victim(asker) {
                Some(victim) => Some(self.waiting.swap_remove(victim).job),
                None => return Err(job),
            }
        };
        self.waiting.push(Waiting { asker, number: self.next_number, job });
        self.next_number += 1;
        Ok(displaced)
    }

    /// Takes the next job: of the source whose turn is longest ago, the shortest.
    pub fn pop(&mut self) -> Option<J> {
        let turn = |source: Option<Source>| self.served.iter().position(|served| *served == source);
        let order = |(_, waiting): &(usize, &Waiting<J>)| (turn(waiting.asker.source), waiting.rank());
        let (at, _) = self.waiting.iter().enumerate().min_by_key(order)?;
        let Waiting { asker, job, .. } = self.waiting.swap_remove(at);
        self.served.retain(|served| *served != asker.source);
        if self.served.len() >= SERVED_MAX {
            self.served.remove(0);
        }
        self.served.push(asker.source);
        Some(job)
    }

    /// Which job loses its place to that of `asker`; `None`: its own would be the first to go.
    fn victim(&self, asker: Asker) -> Option<usize> {
        let count = |source| {
            let own = usize::from(asker.source == source);
            self.waiting.iter().filter(|waiting| waiting.asker.source == source).count() + own
        };
        let most = self.waiting.iter().map(|waiting| count(waiting.asker.source)).max()?;
        let of_most = |waiting: &Waiting<J>| count(waiting.asker.source) == most;
        let candidates = self.waiting.iter().enumerate().filter(|(_, waiting)| of_most(waiting));
        let (at, worst) = candidates.max_by_key(|(_, waiting)| waiting.rank())?;
        let is_own = count(asker.source) == most;
        (!is_own || worst.rank() > (asker.bytes, self.next_number)).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn of(last: u8, bytes: usize) -> Asker {
        Asker { source: Some(Source::Address(Ipv4Addr::new(192, 0, 2, last).into())), bytes }
    }

    fn all(mut queue: Queue<&str>) -> String {
        std::iter::from_fn(|| queue.pop()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn addresses_take_turns_and_the_shortest_goes_first() {
        let mut queue = Queue::new(9);
        for (asker, job) in [
            (of(1, 5), "a5"),
            (of(1, 4), "a4"),
            (of(1, 3), "a3"),
            (of(2, 90), "b90"),
            (of(2, 91), "b91"),
            (of(3, 4), "c4"),
            (of(1, 3), "a3'"),
        ] {
            assert_eq!(queue.push(asker, job), Ok(None));
        }
        assert_eq!(all(queue), "a3 c4 b90 a3' b91 a4 a5");
    }

    #[test]
    fn tenants_take_turns_among_themselves_and_with_addresses() {
        let tenant = |number| Asker { source: Some(Source::Tenant(Uuid::from_u128(number))), bytes: 1 };
        let mut queue = Queue::new(4);
        for (asker, job) in [(tenant(1), "t1"), (tenant(1), "t2"), (tenant(1), "t3"), (tenant(2), "u")] {
            assert_eq!(queue.push(asker, job), Ok(None));
        }
        assert_eq!(queue.push(tenant(1), "t4"), Err("t4"), "whoever has most is turned away");
        assert_eq!(queue.push(of(1, 9), "a"), Ok(Some("t3")));
        assert_eq!(all(queue), "t1 u a t2");
    }

    #[test]
    fn whoever_has_most_in_a_full_queue_loses_the_longest() {
        let mut queue = Queue::new(3);
        for (bytes, job) in [(5, "a5"), (9, "a9"), (5, "a5'")] {
            assert_eq!(queue.push(of(1, bytes), job), Ok(None));
        }
        assert_eq!(queue.push(of(1, 9), "a9'"), Err("a9'"), "it is the longest itself");
        assert_eq!(queue.push(of(1, 4), "a4"), Ok(Some("a9")));
        assert_eq!(queue.push(of(2, 100), "b"), Ok(Some("a5'")));
        assert!(!queue.has_place(of(1, 5)) && queue.has_place(of(3, 500)) && queue.has_place(of(1, 3)));
        assert_eq!(all(queue), "a4 b a5");
    }
}
