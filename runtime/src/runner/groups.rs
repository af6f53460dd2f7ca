//! Control groups that are nobody's: what is left when a runner or a supervisor is killed in the middle of a start.
//!
//! Each supervisor takes its own group away, and the runner does so as well. But a group may be made again behind the one
//! who removes it, by what goes on making the container, and what waits for a disk cannot be killed in time. So the runner
//! looks again and again.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::nursery::Strays;
use super::shared::Shared;
use super::watcher::spawn_watcher;
use crate::cgroup::SUPERVISORS;

/// Between two looks: short at first, when there may be something left of an earlier runner, and whenever something was
/// found, which may be made again by who had not heard of it.
const LOOK_FIRST: Duration = Duration::from_millis(250);
const LOOK_LATER: Duration = Duration::from_secs(5);
/// How long one group may hold up the others. It is looked for again.
const GROUP_PATIENCE: Duration = Duration::from_secs(1);

impl Shared {
    /// Ends what lives in groups that are nobody's, and removes them; says whether any went.
    pub(super) fn sweep(&self) -> bool {
        // First what there is: what is made after that is nobody's business here.
        let found = self.hierarchies.children(&self.group());
        let own = self.containers.groups.all();
        let mut have_gone = false;
        for child in found.into_iter().filter(|child| child != SUPERVISORS && !own.contains(child)) {
            let path = format!("{}/{child}", self.group());
            let group = self.hierarchies.group(&path);
            // What cannot be killed (it waits for a disk) must not keep the runner from its work.
            match group.kill_within(GROUP_PATIENCE).and_then(|()| group.remove_within(GROUP_PATIENCE)) {
                Ok(()) => have_gone = true,
                Err(error) => tracing::error!(%child, %error, "what is left of a container stays for now"),
            }
            self.hierarchies.remove_if_idle(&path);
        }
        have_gone
    }

    /// Looks for them from now on, for children that nobody waits for, and for a supervisor that was kept ready and killed: it is the one who takes the groups
    /// along when the runner goes.
    pub(super) fn keep_sweeping(self: &Arc<Shared>) -> io::Result<()> {
        let shared = Arc::clone(self);
        spawn_watcher(move || {
            let (mut pause, mut strays) = (LOOK_FIRST, Strays::default());
            loop {
                shared.get_ready(None);
                if let Err(error) = strays.let_go(shared.nursery()) {
                    tracing::warn!(%error, "children that have ended cannot be looked for");
                }
                std::thread::sleep(pause);
                let have_gone = shared.sweep();
                pause = if have_gone { LOOK_FIRST } else { (pause * 2).min(LOOK_LATER) };
            }
        })
    }
}
