//! The seccomp profile, as the build script has compiled it from `assets/seccomp/x86_64.txt`.

use seccompiler::{BpfProgram, sock_filter};

mod compiled {
    //! What the build script wrote.
    include!(concat!(env!("OUT_DIR"), "/seccomp.rs"));
}

/// The filters, in the order in which they are installed. The kernel asks both; the later one speaks first.
pub(crate) fn filters() -> [BpfProgram; 2] {
    [program(compiled::ALLOWED), program(compiled::ABSENT)]
}

fn program(steps: &[(u16, u8, u8, u32)]) -> BpfProgram {
    steps.iter().map(|&(code, jt, jf, k)| sock_filter { code, jt, jf, k }).collect()
}
