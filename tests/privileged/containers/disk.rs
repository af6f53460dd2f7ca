//! The runner's disk: containers are promised what they may write of it, and are not started where that is not there.

use quintet_runtime::{Limits, Refusal, RunnerError, Stream};

use super::TestRunner;
use crate::loop_disk::{Ballast, LoopDisk};

const MIB: u64 = 1 << 20;

fn limits() -> Limits {
    Limits { scratch_bytes: 64 * MIB, memory_bytes: 64 * MIB, ..Limits::default() }
}

#[test]
fn what_a_container_may_write_is_there_for_it() {
    let Some(disk) = LoopDisk::make(384) else { return };
    let Some(mut runner) = TestRunner::make_on(&disk) else { return };
    let room = |runner: &TestRunner| runner.runner.room(64 * MIB).unwrap();
    assert_eq!(room(&runner).promised_bytes, 0);
    let ballast = Ballast::new(&disk);
    // Room for two and a half: 90 MiB each, and the reserve.
    ballast.leave(240 * MIB);
    assert_eq!(room(&runner).containers, 2);
    let script = "echo begun; until [ -e /tmp/go ]; do sleep 0.1; done";
    let first = runner.start("dd if=/dev/zero of=/big bs=1048576 count=48 conv=fsync; echo full; sleep 600", limits());
    let second = runner.start(script, limits());
    runner.wait_for_lines(&first, 1);
    // Nothing was made of the third one, not even a record: it can be asked for again.
    let third = runner.new_id();
    let refused = runner.runner.start(&third, &runner.script("true", limits()));
    let Err(RunnerError::Refused(Refusal::NoRoom { needed_bytes, left_bytes })) = refused else {
        panic!("{refused:?}")
    };
    assert!(needed_bytes == 90 * MIB && left_bytes < needed_bytes, "{needed_bytes}, {left_bytes}");
    let status = runner.runner.status(&third);
    assert!(matches!(status, Err(RunnerError::Refused(Refusal::NoSuchContainer))), "{status:?}");
    // What the first one has written is not to come any more, and the disk knows it already. Whoever does not say in
    // time what he has written counts as if he had written nothing: that is asked again.
    runner.wait_until(|| (120 * MIB..=144 * MIB).contains(&room(&runner).promised_bytes));
    // Other limits are another question.
    runner.wait_until(|| runner.runner.room(MIB).unwrap().containers == 1);
    let small = runner.new_id();
    let description = runner.script("exit 4", Limits { scratch_bytes: 2 * MIB, ..limits() });
    runner.wait_until(|| match runner.runner.start(&small, &description) {
        Err(RunnerError::Refused(Refusal::NoRoom { .. })) => false,
        started => {
            started.unwrap();
            true
        }
    });
    assert_eq!(runner.outcome(&small).exit_code, Some(4));
    // A promise outlives the runner.
    runner.kill_runner();
    runner.start_runner().unwrap();
    let refused = runner.runner.start(&third, &runner.script("true", limits()));
    assert!(matches!(refused, Err(RunnerError::Refused(Refusal::NoRoom { .. }))), "{refused:?}");
    assert_eq!(runner.lines(&first, Stream::Stdout).len(), 1, "it went on, and has what it wrote");
    runner.runner.control(&second, quintet_runtime::Action::Kill).unwrap();
    runner.outcome(&second);
    runner.wait_until(|| runner.runner.start(&third, &runner.script("exit 3", limits())).is_ok());
    assert_eq!(runner.outcome(&third).exit_code, Some(3));
    runner.runner.control(&first, quintet_runtime::Action::Kill).unwrap();
    runner.outcome(&first);
    runner.wait_until(|| room(&runner).promised_bytes == 0);
}
