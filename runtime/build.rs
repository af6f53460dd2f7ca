//! Compiles the seccomp profile into the BPF programs that containers start with, so that a start compiles nothing.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

const PROFILE: &str = "../assets/seccomp/x86_64.txt";
/// `clone3` hides its flags behind a pointer; what is told that it does not exist uses `clone`. The contexts of
/// `io_setup` are counted for the whole machine (fs.aio-max-nr); what is told that there are none uses threads.
const CLONE3: i64 = 435;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={PROFILE}");
    let mut calls: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for line in std::fs::read_to_string(PROFILE)?.lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut words = line.split_whitespace();
        let number: i64 = words.next().ok_or("a line without a number")?.parse()?;
        words.next().ok_or_else(|| format!("{line}: no name"))?;
        let rules = calls.entry(number).or_default();
        let conditions = words.collect::<Vec<_>>().join(" ");
        if !conditions.is_empty() {
            let parsed: Result<Vec<_>, _> = conditions.split(", ").map(|text| condition_of(text, line)).collect();
            rules.push(SeccompRule::new(parsed?)?);
        }
    }
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let allowed = SeccompFilter::new(calls, refused, SeccompAction::Allow, TargetArch::x86_64)?;
    let absent = SeccompAction::Errno(libc::ENOSYS as u32);
    let not_there = BTreeMap::from([(CLONE3, vec![]), (libc::SYS_io_setup, vec![])]);
    let absent = SeccompFilter::new(not_there, SeccompAction::Allow, absent, TargetArch::x86_64)?;
    let pretended =
        SeccompFilter::new(pretended()?, SeccompAction::Allow, SeccompAction::Errno(0), TargetArch::x86_64)?;

    let mut out = String::new();
    write_program(&mut out, "ALLOWED", &allowed.try_into()?)?;
    write_program(&mut out, "ABSENT", &absent.try_into()?)?;
    write_program(&mut out, "PRETENDED", &pretended.try_into()?)?;
    std::fs::write(Path::new(&std::env::var("OUT_DIR")?).join("seccomp.rs"), out)?;
    Ok(())
}

/// What is said to have been done and is not: to set the limit of core files, which is one byte. A program of the host
/// that takes them through a pipe (core_pattern) is not stopped by a limit of 0, but by one of a single byte (core(5)).
fn pretended() -> Result<BTreeMap<i64, Vec<SeccompRule>>, Box<dyn Error>> {
    let of_cores = |argument| {
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, u64::from(libc::RLIMIT_CORE))
    };
    // Who only asks gives no new limit.
    let sets = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    Ok(BTreeMap::from([
        (libc::SYS_setrlimit, vec![SeccompRule::new(vec![of_cores(0)?])?]),
        (libc::SYS_prlimit64, vec![SeccompRule::new(vec![of_cores(1)?, sets])?]),
    ]))
}

/// `0 = 0x8` or `0 & 0xff = 0`.
fn condition_of(text: &str, line: &str) -> Result<SeccompCondition, Box<dyn Error>> {
    let words: Vec<&str> = text.split(' ').collect();
    let (argument, operator, value) = match words.as_slice() {
        [argument, "=", value] => (argument, SeccompCmpOp::Eq, value),
        [argument, "&", mask, "=", value] => (argument, SeccompCmpOp::MaskedEq(number(mask)?), value),
        _ => return Err(format!("{line}: not a condition").into()),
    };
    // The arguments that are looked at are ints to the kernel: what a caller leaves in the upper half is not looked at.
    Ok(SeccompCondition::new(argument.parse()?, SeccompCmpArgLen::Dword, operator, number(value)?)?)
}

fn number(text: &str) -> Result<u64, Box<dyn Error>> {
    Ok(match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16)?,
        None => text.parse()?,
    })
}

fn write_program(out: &mut String, name: &str, program: &BpfProgram) -> std::fmt::Result {
    writeln!(out, "/// Compiled from the profile by the build script: code, jump if true, jump if false, operand.")?;
    writeln!(out, "pub const {name}: &[(u16, u8, u8, u32)] = &[")?;
    for step in program {
        writeln!(out, "    ({}, {}, {}, {}),", step.code, step.jt, step.jf, step.k)?;
    }
    writeln!(out, "];")
}
