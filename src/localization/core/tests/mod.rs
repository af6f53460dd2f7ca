//! Tests of the language core.

use super::checks;
use super::health::CheckName;

#[test]
fn every_process_check_passes() {
    for name in CheckName::ALL {
        let started = std::time::Instant::now();
        assert_eq!(checks::run(name), Ok(()), "{name}");
        eprintln!("{name} {:?}", started.elapsed());
    }
}
