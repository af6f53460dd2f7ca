//! `passphrase:VARIABLE`: the root key is made from a passphrase with Argon2id.
//!
//! Salt and parameters lie in `root.kdf` in the data directory, made with the key. They are no secret, but without
//! them the passphrase opens nothing. The variable is emptied as soon as it has been read.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use argon2::{Algorithm, Argon2, Block, Params, Version};
use data_encoding::HEXLOWER;
use quintet_platform::secrets;
use quintet_storage::seal::RootKey;
use zeroize::Zeroizing;

use crate::start_error::StartError;

/// The file with salt and parameters.
pub(super) const FILE: &str = "root.kdf";

/// The fewest characters that a passphrase may have.
const CHARACTERS_MIN: usize = 12;

/// What new keys cost to try: RFC 9106 asks for 64 MiB and three passes where memory is scarce; OWASP for less.
const MEMORY_KIB: u32 = 64 * 1024;
const PASSES: u32 = 3;
const LANES: u32 = 1;
const SALT_BYTES: usize = 32;

/// What a file may ask for: less would be too weak, more would be an attack on the start.
const MEMORY_KIB_RANGE: std::ops::RangeInclusive<u32> = 19 * 1024..=1024 * 1024;
const PASSES_RANGE: std::ops::RangeInclusive<u32> = 2..=64;
const LANES_RANGE: std::ops::RangeInclusive<u32> = 1..=16;

/// How a passphrase becomes a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recipe {
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    salt: [u8; SALT_BYTES],
}

impl Recipe {
    fn draw() -> Recipe {
        Recipe { memory_kib: MEMORY_KIB, passes: PASSES, lanes: LANES, salt: secrets::random_bytes() }
    }

    fn text(&self) -> String {
        let Recipe { memory_kib, passes, lanes, salt } = self;
        let salt = HEXLOWER.encode(salt);
        format!(
            "# How the root key is made from the passphrase. No secret, but without it the passphrase opens nothing.\n\
             kdf = argon2id\nversion = 19\nmemory_kib = {memory_kib}\npasses = {passes}\nlanes = {lanes}\nsalt = {salt}\n"
        )
    }

    fn parse(text: &str) -> Option<Recipe> {
        let field = |name: &str| {
            let mut found = text.lines().filter_map(|line| line.split_once(" = ")).filter(|(key, _)| *key == name);
            found.next().map(|(_, value)| value).filter(|_| found.next().is_none())
        };
        if field("kdf")? != "argon2id" || field("version")? != "19" {
            return None;
        }
        let recipe = Recipe {
            memory_kib: field("memory_kib")?.parse().ok()?,
            passes: field("passes")?.parse().ok()?,
            lanes: field("lanes")?.parse().ok()?,
            salt: HEXLOWER.decode(field("salt")?.as_bytes()).ok()?.try_into().ok()?,
        };
        let is_sound = MEMORY_KIB_RANGE.contains(&recipe.memory_kib)
            && PASSES_RANGE.contains(&recipe.passes)
            && LANES_RANGE.contains(&recipe.lanes);
        is_sound.then_some(recipe)
    }

    /// The recipe of a data directory; `None` if it has none.
    pub(super) fn read(data_dir: &Path) -> Result<Option<Recipe>, StartError> {
        let path = data_dir.join(FILE);
        match fs::read_to_string(&path) {
            Ok(text) => match Recipe::parse(&text) {
                Some(recipe) => Ok(Some(recipe)),
                None => Err(StartError::RootKeyDamaged { path }),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StartError::io("reading", &path, error)),
        }
    }

    /// Makes a data directory's recipe.
    pub(super) fn make(data_dir: &Path) -> Result<Recipe, StartError> {
        let recipe = Recipe::draw();
        let path = data_dir.join(FILE);
        let temporary = data_dir.join("root.kdf.tmp");
        let written = fs::write(&temporary, recipe.text())
            .and_then(|()| fs::File::open(&temporary)?.sync_all())
            .and_then(|()| fs::rename(&temporary, &path))
            .and_then(|()| fs::File::open(data_dir)?.sync_all());
        written.map_err(|error| StartError::io("writing", &path, error))?;
        Ok(recipe)
    }

    /// The key. Takes a moment and its memory on purpose.
    pub(super) fn key(&self, passphrase: &[u8]) -> Result<RootKey, StartError> {
        let failed = |error: argon2::Error| StartError::RootKeyRefused {
            reason: format!("the root key cannot be made from the passphrase: {error}"),
            hint: format!("see {FILE} in the data directory; put it back from a copy if it was changed"),
        };
        let params = Params::new(self.memory_kib, self.passes, self.lanes, None).map_err(failed)?;
        let mut key = Zeroizing::new([0; 32]);
        // The memory it works in ends as the key in another shape.
        let mut memory = Zeroizing::new(vec![Block::default(); params.block_count()]);
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into_with_memory(passphrase, &self.salt, key.as_mut_slice(), memory.as_mut_slice())
            .map_err(failed)?;
        Ok(RootKey::new(key))
    }
}

/// A passphrase, taken out of the environment.
#[derive(Clone, Default)]
pub(super) struct Passphrase(Option<Zeroizing<Vec<u8>>>);

impl Passphrase {
    /// Takes a variable's value and leaves the variable empty, in the environment and in what the kernel shows of it.
    pub(super) fn take(variable: &str) -> Passphrase {
        let found = std::env::var_os(variable).map(|value| Zeroizing::new(value.as_bytes().to_vec()));
        if found.is_some()
            && let Err(error) = empty_variable(variable)
        {
            tracing::warn!(variable, %error, "the passphrase cannot be taken out of this process's environment");
        }
        Passphrase(found)
    }

    /// The passphrase, if there is one that is long enough.
    pub(super) fn checked(&self, variable: &str) -> Result<&[u8], StartError> {
        let refused = |reason: String| StartError::RootKeyRefused {
            reason,
            hint: format!(
                "start the appliance with a passphrase of at least {CHARACTERS_MIN} characters in the environment variable {variable}; six random words or more are good"
            ),
        };
        let Some(passphrase) = &self.0 else {
            return Err(refused(format!("the root key's passphrase is missing: {variable} is not set")));
        };
        let characters = str::from_utf8(passphrase).map_or(passphrase.len(), |text| text.chars().count());
        if characters < CHARACTERS_MIN {
            return Err(refused(format!("the root key's passphrase in {variable} is empty or too short")));
        }
        Ok(passphrase)
    }
}

/// Where the kernel put the environment when the process began: fields 50 and 51 of `/proc/self/stat` (proc(5)).
fn environment_range() -> io::Result<(u64, u64)> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The second field is the name, in parentheses, and may hold anything.
    let numbers: Vec<&str> =
        stat.rsplit_once(')').map(|(_, rest)| rest.split_ascii_whitespace().collect()).unwrap_or_default();
    let field = |number: usize| numbers.get(number - 3).and_then(|text| text.parse().ok());
    field(50).zip(field(51)).ok_or_else(|| io::Error::other("/proc/self/stat has no environment"))
}

/// Overwrites a variable's value with zeros where the kernel put it, which is what `/proc/PID/environ` shows and what
/// the C library's environment points to. For other threads the value turns empty, byte by byte.
fn empty_variable(variable: &str) -> io::Result<()> {
    let (start, end) = environment_range()?;
    let length = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX).min(8 << 20);
    let memory = fs::OpenOptions::new().read(true).write(true).open(PathBuf::from("/proc/self/mem"))?;
    let mut environment = Zeroizing::new(vec![0; length]);
    memory.read_exact_at(&mut environment, start)?;
    let mut offset = start;
    for entry in environment.split(|byte| *byte == 0) {
        let value = entry.strip_prefix(variable.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
        if let Some(value) = value {
            let skipped = entry.len() - value.len();
            memory.write_all_at(&vec![0; value.len()], offset + skipped as u64)?;
        }
        offset += entry.len() as u64 + 1;
    }
    match std::env::var_os(variable) {
        Some(left) if !left.is_empty() => Err(io::Error::other("it is still there")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipe_comes_back_and_a_weak_one_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(Recipe::read(directory.path()).unwrap(), None);
        let recipe = Recipe::make(directory.path()).unwrap();
        assert_eq!(Recipe::read(directory.path()).unwrap(), Some(recipe.clone()));
        let text = recipe.text();
        for (part, other) in [
            ("argon2id", "argon2i"),
            ("version = 19", "version = 16"),
            ("memory_kib = 65536", "memory_kib = 1024"),
            ("memory_kib = 65536", "memory_kib = 4194304"),
            ("passes = 3", "passes = 1"),
            ("passes = 3", "passes = 3\npasses = 4"),
            ("lanes = 1", "lanes = 0"),
            ("salt = ", "salt = 0"),
        ] {
            assert!(text.contains(part));
            fs::write(directory.path().join(FILE), text.replace(part, other)).unwrap();
            assert!(matches!(Recipe::read(directory.path()), Err(StartError::RootKeyDamaged { .. })), "{other}");
        }
    }

    #[test]
    fn a_key_depends_on_passphrase_and_salt() {
        let recipe = Recipe { memory_kib: 19 * 1024, passes: 2, lanes: 1, salt: [7; SALT_BYTES] };
        let id = |recipe: &Recipe, passphrase: &[u8]| recipe.key(passphrase).unwrap().id();
        let first = id(&recipe, b"correct horse battery");
        assert_eq!(first, id(&recipe, b"correct horse battery"));
        assert_ne!(first, id(&recipe, b"correct horse batterz"));
        assert_ne!(first, id(&Recipe { salt: [8; SALT_BYTES], ..recipe.clone() }, b"correct horse battery"));
        assert_ne!(first, id(&Recipe { passes: 3, ..recipe }, b"correct horse battery"));
    }

    #[test]
    fn short_passphrases_are_refused_without_being_told() {
        for short in [None, Some(""), Some("hunter2"), Some("elf charact")] {
            let passphrase = Passphrase(short.map(|text| Zeroizing::new(text.as_bytes().to_vec())));
            let Err(StartError::RootKeyRefused { reason, hint }) = passphrase.checked("PASS") else {
                panic!("{short:?}")
            };
            assert!(reason.contains("PASS") && !format!("{reason}{hint}").contains("hunter2"), "{reason}");
        }
        let long = Passphrase(Some(Zeroizing::new(b"just long en".to_vec())));
        assert_eq!(long.checked("PASS").unwrap(), b"just long en");
    }
}
