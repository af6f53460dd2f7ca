//! Compiles the seccomp profile into the BPF programs that containers start with, so that a start compiles nothing.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

const PROFILE: &str = "../assets/seccomp/x86_64.txt";
/// `clone3` hides its flags behind a pointer; what is told that it does not exist uses `clone`.
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
        let condition: Vec<&str> = words.collect();
        if !condition.is_empty() {
            rules.push(SeccompRule::new(vec![condition_of(&condition, line)?])?);
        }
    }
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let allowed = SeccompFilter::new(calls, refused, SeccompAction::Allow, TargetArch::x86_64)?;
    let absent = SeccompAction::Errno(libc::ENOSYS as u32);
    let no_clone3 = BTreeMap::from([(CLONE3, vec![])]);
    let absent = SeccompFilter::new(no_clone3, SeccompAction::Allow, absent, TargetArch::x86_64)?;

    let mut out = String::new();
    write_program(&mut out, "ALLOWED", &allowed.try_into()?)?;
    write_program(&mut out, "ABSENT", &absent.try_into()?)?;
    std::fs::write(Path::new(&std::env::var("OUT_DIR")?).join("seccomp.rs"), out)?;
    Ok(())
}

/// `0 = 0x8` or `0 & 0xff = 0`.
fn condition_of(words: &[&str], line: &str) -> Result<SeccompCondition, Box<dyn Error>> {
    let (argument, operator, value) = match words {
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
