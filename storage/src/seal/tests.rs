//! Sealing on a real store: what opens, what must not, and rotation step by step with every key that a copy may have.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use bincode::{Decode, Encode};
use proptest::prelude::*;
use tempfile::TempDir;
use uuid::Uuid;
use zeroize::Zeroizing;

use super::root::{OtherKey, Phase, ROOT, RootRow, Verdict};
use super::rotation::{self, Progress};
use super::*;
use crate::error::{Abort, Failure, Refusal};
use crate::large::value::{CHUNKS, ChunkRow};
use crate::large::{self, CHUNK_BYTES, LargeValue, Upload, UploadRefusal};
use crate::open::options::StoreOptions;
use crate::open::store::Store;
use crate::tables::codec::Row;
use crate::tables::family::Family;
use crate::tables::table::Table;
use crate::time::{TimeSource, Timestamp};
use crate::vault::cipher::{self, Binding, KeyBytes};
use crate::vault::data_keys::{CACHED_MAX, DATA_KEYS, KeyRow, unwrap_with};
use crate::view::read::{Read, Scan};
use crate::view::snapshot::Snapshot;
use crate::write::tx::WriteTx;

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
struct Letter(Sealed);
impl Row for Letter {}

const LETTERS: Table<(Uuid, u32), Letter> = Table::new(0x0F11, Family::APPLIANCE, "test_letters");
const OTHERS: Table<(Uuid, u32), Letter> = Table::new(0x0F12, Family::APPLIANCE, "test_others");
const TEST_TABLES: &[TableSpec] = &[LETTERS.spec(), OTHERS.spec()];

#[derive(Debug, PartialEq, Eq)]
struct No;
impl Refusal for No {}

#[derive(Default)]
struct Hands(AtomicI64);
impl TimeSource for Hands {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_700_000_000_000_000 + self.0.load(Ordering::SeqCst))
    }
}

fn root(n: u8) -> RootKey {
    RootKey::new(Zeroizing::new([n; 32]))
}

fn ring(current: u8, previous: Option<u8>) -> KeyRing {
    KeyRing::new(root(current), previous.map(root))
}

fn uuid(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

const TENANT: KeyOwner = KeyOwner::Tenant(Uuid::from_u128(1));
const MEMBER: KeyOwner = KeyOwner::Member { tenant: Uuid::from_u128(1), member: Uuid::from_u128(2) };

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

/// A store on the disk, in a directory of its own.
struct Bench {
    store: Store,
    time: Arc<Hands>,
    directory: Arc<TempDir>,
}

impl Bench {
    fn locked_in(directory: Arc<TempDir>, time: Arc<Hands>) -> Bench {
        let options =
            StoreOptions { segment_bytes: 4 << 20, ..StoreOptions::new(directory.path().join("data"), time.clone()) };
        let store = Store::open(options, &[TEST_TABLES, TABLES, large::TABLES]).unwrap();
        Bench { store, time, directory }
    }

    fn locked() -> Bench {
        Bench::locked_in(Arc::new(tempfile::tempdir().unwrap()), Arc::default())
    }

    fn open() -> Bench {
        let bench = Bench::locked();
        bench.store.unlock(ring(1, None)).unwrap();
        bench
    }

    /// Ends the store and opens it again, locked.
    fn again(self) -> Bench {
        let (directory, time) = (Arc::clone(&self.directory), Arc::clone(&self.time));
        drop(self);
        Bench::locked_in(directory, time)
    }

    fn write<T: Send + 'static>(
        &self,
        verb: impl FnOnce(&mut WriteTx<'_>, Timestamp) -> Result<T, Abort<Erased>> + Send + 'static,
    ) -> Result<T, Abort<Erased>> {
        self.store.write_blocking(soon(), verb)
    }

    fn post(&self, owner: KeyOwner, n: u32, text: &'static [u8]) -> Result<Sealed, Abort<Erased>> {
        self.write(move |tx, _| {
            let key = (uuid(9), n);
            let sealed = seal(tx, owner, &LETTERS, &key, text)?;
            tx.put(&LETTERS, &key, &Letter(sealed.clone()))?;
            Ok(sealed)
        })
    }

    fn read(&self, owner: KeyOwner, n: u32) -> Result<Vec<u8>, Abort<Erased>> {
        read_at(&self.store.read(), owner, n)
    }

    fn destroy(&self, owner: KeyOwner) -> bool {
        self.write(move |tx, now| Ok(destroy(tx, now, owner)?)).unwrap()
    }

    fn step(&self) -> Progress {
        self.write(|tx, now| Ok(rotation::step(tx, now, 900)?)).unwrap()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.store.shutdown();
    }
}

fn read_at(read: &Snapshot, owner: KeyOwner, n: u32) -> Result<Vec<u8>, Abort<Erased>> {
    let key = (uuid(9), n);
    let Letter(sealed) = read.get(&LETTERS, &key)?.expect("the letter was posted");
    open(read, owner, &LETTERS, &key, &sealed).map(|text| text.to_vec())
}

fn is_damage<T: fmt::Debug>(outcome: Result<T, Abort<Erased>>) -> bool {
    matches!(outcome, Err(Abort::Failed(Failure::Damaged(_))))
}

fn any_owner() -> impl Strategy<Value = KeyOwner> {
    let uuid = || any::<u128>().prop_map(Uuid::from_u128);
    prop_oneof![
        Just(KeyOwner::Appliance),
        uuid().prop_map(KeyOwner::Tenant),
        (uuid(), uuid()).prop_map(|(tenant, member)| KeyOwner::Member { tenant, member }),
    ]
}

proptest! {
    #[test]
    fn a_value_opens_where_it_was_sealed_and_nowhere_else(
        key in any::<[u8; 32]>(),
        other_key in any::<[u8; 32]>(),
        owners in (any_owner(), any_owner()),
        rows in (proptest::collection::vec(any::<u8>(), 2..40), proptest::collection::vec(any::<u8>(), 2..40)),
        text in proptest::collection::vec(any::<u8>(), 0..200),
        flip in any::<prop::sample::Index>(),
        bit in 0..8_u8,
        cut in any::<prop::sample::Index>(),
    ) {
        let key = KeyBytes::new(key);
        let binding = Binding::Value { owner: owners.0, stored_key: &rows.0 };
        let sealed = cipher::seal(&key, &binding, &text).unwrap();
        prop_assert_eq!(sealed.len(), text.len() + OVERHEAD_BYTES);
        prop_assert_eq!(cipher::open(&key, &binding, &sealed).map(|text| text.to_vec()), Some(text.clone()));
        // Another nonce each time.
        prop_assert_ne!(&cipher::seal(&key, &binding, &text).unwrap(), &sealed);
        if *key != other_key {
            prop_assert!(cipher::open(&KeyBytes::new(other_key), &binding, &sealed).is_none());
        }
        if owners.0 != owners.1 {
            let binding = Binding::Value { owner: owners.1, stored_key: &rows.0 };
            prop_assert!(cipher::open(&key, &binding, &sealed).is_none());
        }
        if rows.0 != rows.1 {
            let binding = Binding::Value { owner: owners.0, stored_key: &rows.1 };
            prop_assert!(cipher::open(&key, &binding, &sealed).is_none());
        }
        // Any bit of version, nonce, ciphertext and tag.
        let mut changed = sealed.clone();
        changed[flip.index(sealed.len())] ^= 1 << bit;
        prop_assert!(cipher::open(&key, &binding, &changed).is_none());
        prop_assert!(cipher::open(&key, &binding, &sealed[..cut.index(sealed.len())]).is_none());
        changed = sealed.clone();
        changed.push(0);
        prop_assert!(cipher::open(&key, &binding, &changed).is_none());
    }

    #[test]
    fn owners_come_back_from_their_bytes(owner in any_owner(), other in any_owner()) {
        let bytes = crate::tables::codec::encode_plain(&owner).unwrap();
        prop_assert_eq!(crate::tables::codec::decode_plain::<KeyOwner>(&bytes).unwrap(), owner);
        prop_assert_eq!(owner.bytes() == other.bytes(), owner == other);
        prop_assert_eq!(KeyOwner::of_key(owner.key()), Some(owner));
    }
}

/// XChaCha20-Poly1305 is what others mean by it: the vector of draft-irtf-cfrg-xchacha-03, A.3.1.
#[test]
fn the_cipher_is_the_one_of_the_draft() {
    use chacha20poly1305::{AeadInOut, KeyInit, XChaCha20Poly1305, XNonce};
    let key: [u8; 32] = std::array::from_fn(|n| 0x80 + u8::try_from(n).unwrap());
    let nonce: [u8; 24] = std::array::from_fn(|n| 0x40 + u8::try_from(n).unwrap());
    let aad = [0x50, 0x51, 0x52, 0x53, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7];
    let mut text = *b"Ladies and Gentlemen of the class of '99: If I could offer you \
        only one tip for the future, sunscreen would be it.";
    let tag = XChaCha20Poly1305::new(&key.into())
        .encrypt_inout_detached(&XNonce::from(nonce), &aad, text.as_mut_slice().into())
        .unwrap();
    assert_eq!(text[..8], [0xbd, 0x6d, 0x17, 0x9d, 0x3e, 0x83, 0xd4, 0x3b]);
    assert_eq!(tag[..4], [0xc0, 0x87, 0x59, 0x24]);
}

#[test]
fn a_ciphertext_that_is_moved_does_not_open() {
    let bench = Bench::open();
    for owner in [KeyOwner::Appliance, TENANT, MEMBER] {
        bench.post(owner, 1, b"a secret").unwrap();
        assert_eq!(bench.read(owner, 1).unwrap(), b"a secret");
    }
    let others = [KeyOwner::Tenant(uuid(2)), MEMBER, KeyOwner::Appliance];
    for (n, other) in others.into_iter().enumerate() {
        bench.post(other, 10 + u32::try_from(n).unwrap(), b"so that it has a key").unwrap();
    }
    let sealed = bench.post(TENANT, 1, b"a secret").unwrap();
    let read = bench.store.read();
    let key = (uuid(9), 1);
    assert_eq!(*open(&read, TENANT, &LETTERS, &key, &sealed).unwrap(), b"a secret");
    for other in others {
        assert!(is_damage(open(&read, other, &LETTERS, &key, &sealed)), "{other:?}");
    }
    assert!(is_damage(open(&read, TENANT, &OTHERS, &key, &sealed)), "another table");
    assert!(is_damage(open(&read, TENANT, &LETTERS, &(uuid(9), 2), &sealed)), "another row");
    assert!(is_damage(open(&read, TENANT, &LETTERS, &(uuid(8), 1), &sealed)), "another row");
    assert!(is_damage(open(&read, KeyOwner::Tenant(uuid(77)), &LETTERS, &key, &sealed)), "nobody's");
    assert!(is_damage(open(&read, TENANT, &LETTERS, &key, &Sealed(Vec::new()))), "nothing");
}

#[test]
fn a_destroyed_key_opens_nothing_at_once() {
    let bench = Bench::open();
    bench.post(MEMBER, 1, b"personal").unwrap();
    bench.post(TENANT, 2, b"the tenant's").unwrap();
    let before = bench.store.read();
    assert_eq!(read_at(&before, MEMBER, 1).unwrap(), b"personal");
    // A destruction that is refused changes nothing.
    let refused = bench.write(|tx, now| {
        assert!(destroy(tx, now, MEMBER)?);
        let Letter(sealed) = tx.get(&LETTERS, &(uuid(9), 1))?.unwrap();
        assert_eq!(open(tx, MEMBER, &LETTERS, &(uuid(9), 1), &sealed), Err(Abort::Refused(Erased)));
        Err::<(), _>(Abort::Refused(Erased))
    });
    assert!(refused.is_err());
    assert_eq!(bench.read(MEMBER, 1).unwrap(), b"personal");

    assert_eq!(bench.read(TENANT, 2).unwrap(), b"the tenant's");
    assert_eq!(bench.store.vault().cached(), 2);
    assert!(bench.destroy(MEMBER));
    assert_eq!(bench.store.vault().cached(), 1, "nor does its key stay in memory");
    assert!(!bench.destroy(MEMBER), "once is enough");
    for read in [&before, &bench.store.read()] {
        assert_eq!(read_at(read, MEMBER, 1), Err(Abort::Refused(Erased)));
        assert_eq!(read_at(read, TENANT, 2).unwrap(), b"the tenant's");
    }
    assert_eq!(bench.store.vault().cached(), 1, "the tenant's key alone is left in memory");
    assert_eq!(bench.post(MEMBER, 3, b"again"), Err(Abort::Refused(Erased)));
    // One that never had a key is shut out, too.
    let stranger = KeyOwner::Member { tenant: uuid(1), member: uuid(3) };
    assert!(bench.destroy(stranger));
    assert_eq!(bench.post(stranger, 3, b"first"), Err(Abort::Refused(Erased)));
    let own = bench.write(|tx, now| Ok(destroy(tx, now, KeyOwner::Appliance)?));
    assert!(matches!(own, Err(Abort::Failed(Failure::Io(_)))));

    drop(before);
    let bench = bench.again();
    bench.store.unlock(ring(1, None)).unwrap();
    assert_eq!(bench.read(MEMBER, 1), Err(Abort::Refused(Erased)));
    assert_eq!(bench.read(TENANT, 2).unwrap(), b"the tenant's");
}

#[test]
fn a_reader_in_the_middle_of_a_destruction_does_not_keep_the_key() {
    let bench = Bench::open();
    bench.post(MEMBER, 1, b"personal").unwrap();
    let reader = bench.store.read();
    bench
        .write(move |tx, now| {
            destroy(tx, now, MEMBER)?;
            // Nothing has been acknowledged yet.
            assert_eq!(read_at(&reader, MEMBER, 1).unwrap(), b"personal");
            Ok(())
        })
        .unwrap();
    assert_eq!(bench.store.vault().cached(), 1, "it was unwrapped once more");
    assert_eq!(bench.read(MEMBER, 1), Err(Abort::Refused(Erased)));
    assert_eq!(bench.store.vault().cached(), 0);
}

#[test]
fn a_key_that_a_refused_transaction_made_is_nobodys() {
    let bench = Bench::open();
    let kept = Arc::new(std::sync::Mutex::new(None));
    let leak = Arc::clone(&kept);
    let refused = bench.store.write_blocking(soon(), move |tx, _| {
        let key = (uuid(9), 1);
        let sealed = seal(tx, TENANT, &LETTERS, &key, b"never").map_err(|_| No)?;
        // Sealed twice: the key is read back within the transaction.
        seal(tx, TENANT, &LETTERS, &key, b"never").map_err(|_| No)?;
        assert_eq!(*open(tx, TENANT, &LETTERS, &key, &sealed).map_err(|_| No)?, b"never");
        *leak.lock().unwrap() = Some(sealed);
        Err::<(), _>(Abort::Refused(No))
    });
    assert_eq!(refused, Err(Abort::Refused(No)));
    let lost = kept.lock().unwrap().take().unwrap();
    assert!(is_damage(open(&bench.store.read(), TENANT, &LETTERS, &(uuid(9), 1), &lost)), "no key");
    bench.post(TENANT, 1, b"later").unwrap();
    assert!(is_damage(open(&bench.store.read(), TENANT, &LETTERS, &(uuid(9), 1), &lost)), "another key");
    assert_eq!(bench.read(TENANT, 1).unwrap(), b"later");
}

#[test]
fn the_keys_in_memory_are_bounded() {
    let bench = Bench::open();
    let owner = |n: usize| KeyOwner::Tenant(uuid(1000 + n as u128));
    let count = CACHED_MAX + 200;
    let mut letters = Vec::new();
    for first in (0..count).step_by(500) {
        let sealed = bench.write(move |tx, _| {
            (first..count.min(first + 500)).map(|n| seal(tx, owner(n), &LETTERS, &(uuid(9), 1), b"x")).collect()
        });
        letters.extend::<Vec<Sealed>>(sealed.unwrap());
    }
    let read = bench.store.read();
    for (n, sealed) in letters.iter().enumerate() {
        assert_eq!(*open(&read, owner(n), &LETTERS, &(uuid(9), 1), sealed).unwrap(), b"x");
    }
    assert_eq!(bench.store.vault().cached(), CACHED_MAX);
}

#[test]
fn a_store_without_its_root_key_neither_seals_nor_opens() {
    let bench = Bench::open();
    bench.post(TENANT, 1, b"x").unwrap();
    let bench = bench.again();
    let locked = |outcome| matches!(outcome, Err(Abort::Failed(Failure::Io(_))));
    assert!(locked(bench.read(TENANT, 1)));
    assert!(locked(bench.post(TENANT, 2, b"y").map(|_| Vec::new())));
    assert_eq!(bench.store.root_keys(), None);
}

#[test]
fn the_wrong_root_key_is_told_at_once() {
    let bench = Bench::open();
    bench.post(TENANT, 1, b"x").unwrap();
    let lsn = bench.store.read().lsn();
    let bench = bench.again();
    for wrong in [ring(2, None), ring(2, Some(3))] {
        let refused = bench.store.unlock(wrong).unwrap_err();
        assert!(matches!(refused, UnlockError::Wrong { needed, .. } if needed == root(1).id()), "{refused}");
        let told = refused.to_string();
        assert!(told.contains(&root(1).id().to_string()) && told.contains(&root(2).id().to_string()), "{told}");
    }
    assert_eq!(bench.store.read().lsn(), lsn, "nothing was written");
    assert_eq!(bench.store.root_keys(), None);
    bench.store.unlock(ring(1, Some(5))).unwrap();
    assert_eq!(bench.read(TENANT, 1).unwrap(), b"x");
    assert!(matches!(bench.store.replace_root_keys(ring(2, None)), Err(UnlockError::Wrong { .. })));
    assert_eq!(bench.store.root_keys(), Some((root(1).id(), Some(root(5).id()))));
}

#[test]
fn lost_rows_about_keys_are_damage() {
    let bench = Bench::open();
    bench.post(TENANT, 1, b"x").unwrap();
    bench
        .write(|tx, _| {
            tx.delete(&ROOT, &());
            Ok(())
        })
        .unwrap();
    let bench = bench.again();
    let refused = bench.store.unlock(ring(2, None)).unwrap_err();
    assert!(matches!(refused, UnlockError::Failed(Failure::Damaged(_))), "{refused}");
    assert_eq!(bench.store.root_keys(), None);

    let bench = Bench::open();
    bench
        .write(|tx, _| {
            tx.delete(&DATA_KEYS, &KeyOwner::Appliance.key());
            Ok(())
        })
        .unwrap();
    let bench = bench.again();
    assert!(matches!(bench.store.unlock(ring(1, None)), Err(UnlockError::Failed(Failure::Damaged(_)))));
}

#[test]
fn a_full_disk_does_not_keep_a_new_store_from_its_root_key() {
    let directory = tempfile::tempdir().unwrap();
    let open = |disk_reserve_bytes| {
        let options = StoreOptions::new(directory.path().join("data"), Arc::new(Hands::default()));
        let options = StoreOptions { segment_bytes: 1 << 20, disk_reserve_bytes, ..options };
        let store = Store::open(options, &[TEST_TABLES, TABLES]).unwrap();
        let expected = if disk_reserve_bytes == 0 { crate::Room::Ample } else { crate::Room::Exhausted };
        while store.room() != expected {
            std::thread::sleep(Duration::from_millis(5));
        }
        store
    };
    let store = open(u64::MAX / 4);
    store.unlock(ring(1, None)).unwrap();
    assert_eq!(root_state(&store.read()).unwrap(), None);
    store.shutdown();
    drop(store);
    let store = open(0);
    store.vault().set_ring(Some(ring(1, None)));
    store.write_blocking(soon(), |tx, _| seal(tx, TENANT, &LETTERS, &(uuid(9), 1), b"x")).unwrap();
    assert_eq!(root_state(&store.read()).unwrap().unwrap().current, root(1).id());
    store.shutdown();
    drop(store);
    // The key by which a start proves the root key came with the first one.
    let store = open(0);
    store.unlock(ring(1, None)).unwrap();
    store.shutdown();
}

#[test]
fn which_ring_opens_which_store() {
    let now = Timestamp::from_micros(5);
    let id = |n| root(n).id();
    let row = |other: Option<(u8, Phase)>| RootRow {
        current: id(1),
        since: Timestamp::EPOCH,
        rotated_at: None,
        other: other.map(|(n, phase)| OtherKey { id: id(n), phase }),
    };
    let adding = || Phase::Adding { after: None };
    let both = || Phase::Both { since: now };
    let removing = || Phase::Removing { after: None };
    // The store; the ring; the other key and phase of the row to begin with (`Ok(None)`: in force), or the key that is
    // needed (`Err`, with whether the current one is right).
    type Expected = Result<Option<(u8, Phase)>, (u8, bool)>;
    type Case = (Option<(u8, Phase)>, KeyRing, Expected);
    let cases: Vec<Case> = vec![
        (None, ring(1, None), Ok(None)),
        (None, ring(1, Some(9)), Ok(None)),
        (None, ring(2, None), Err((1, false))),
        (None, ring(2, Some(1)), Ok(Some((1, adding())))),
        (None, ring(2, Some(3)), Err((1, false))),
        (Some((2, adding())), ring(1, Some(2)), Ok(None)),
        (Some((2, adding())), ring(1, None), Err((2, true))),
        (Some((2, adding())), ring(1, Some(3)), Err((2, true))),
        (Some((2, adding())), ring(2, None), Ok(Some((1, both())))),
        (Some((2, adding())), ring(2, Some(1)), Ok(Some((1, both())))),
        (Some((2, adding())), ring(3, Some(1)), Err((2, true))),
        (Some((2, adding())), ring(3, Some(2)), Err((1, false))),
        (Some((2, both())), ring(1, None), Ok(None)),
        (Some((2, both())), ring(1, Some(2)), Ok(None)),
        (Some((2, both())), ring(2, None), Ok(Some((1, both())))),
        (Some((2, both())), ring(3, Some(1)), Ok(Some((1, adding())))),
        (Some((2, both())), ring(3, None), Err((1, false))),
        (Some((2, removing())), ring(1, None), Ok(None)),
        (Some((2, removing())), ring(2, None), Err((1, false))),
        (Some((2, removing())), ring(2, Some(1)), Ok(Some((1, adding())))),
        (Some((2, removing())), ring(3, Some(1)), Ok(Some((1, adding())))),
        (Some((2, removing())), ring(3, Some(2)), Err((1, false))),
    ];
    for (other, ring, expected) in cases {
        let row = row(other);
        let judged = row.judge(&ring, now);
        let found = match &judged {
            Ok(Verdict::InForce) => Ok(None),
            Ok(Verdict::Begin(begun)) => {
                assert_eq!((begun.current, begun.since), (ring.current().id(), now));
                let other = begun.other.clone().unwrap();
                Ok(Some((other.id, other.phase)))
            }
            Err(UnlockError::Wrong { needed, .. }) => Err((*needed, false)),
            Err(UnlockError::PreviousNeeded(needed)) => Err((*needed, true)),
            Err(UnlockError::Failed(failure)) => panic!("{failure}"),
        };
        let expected = expected.map(|begun| begun.map(|(n, phase)| (id(n), phase))).map_err(|(n, is)| (id(n), is));
        assert_eq!(found, expected, "{row:?} with {ring:?}");
    }
}

/// What a ring that the store accepts must do: open every data key there is.
fn every_accepted_ring_opens_everything(bench: &Bench, rings: &[KeyRing]) -> Vec<bool> {
    let read = bench.store.read();
    let row = read.get(&ROOT, &()).unwrap().unwrap();
    let rows = read.scan(&DATA_KEYS, Scan::all()).unwrap();
    let accepted = |ring: &KeyRing| {
        let is_accepted = row.judge(ring, read.time()).is_ok();
        for (key, row) in rows.iter().filter(|_| is_accepted) {
            let KeyRow::Live { id, wraps } = row else { continue };
            unwrap_with(ring, KeyOwner::of_key(*key).unwrap(), *id, wraps).unwrap();
        }
        is_accepted
    };
    rings.iter().map(accepted).collect()
}

#[test]
fn a_copy_opens_at_every_step_of_a_rotation() {
    let mut bench = Bench::open();
    let owner = |n: u128| KeyOwner::Member { tenant: uuid(1), member: uuid(n) };
    for first in (0..1_200).step_by(400) {
        bench.write(move |tx, _| (first..first + 400).try_for_each(|n| prepare(tx, owner(n)))).unwrap();
    }
    bench.post(TENANT, 1, b"before").unwrap();
    bench.destroy(owner(7));
    assert_eq!(bench.step(), Progress::Done, "nothing to do");

    // The key file of a copy: of before, of during, of after; and one that was never right.
    let copies = [ring(1, None), ring(2, Some(1)), ring(2, None), ring(3, None)];
    assert_eq!(every_accepted_ring_opens_everything(&bench, &copies), [true, true, false, false]);
    bench.store.replace_root_keys(ring(2, Some(1))).unwrap();
    let mut seen = Vec::new();
    let mut made = 0;
    loop {
        // New keys come in all the time.
        made += 1;
        let newcomer = KeyOwner::Tenant(uuid(50_000 - made));
        bench.write(move |tx, _| prepare(tx, newcomer)).unwrap();
        let progress = bench.step();
        let accepted = every_accepted_ring_opens_everything(&bench, &copies);
        if seen.last() != Some(&accepted) {
            seen.push(accepted);
        }
        assert_eq!(bench.read(TENANT, 1).unwrap(), b"before");
        // A start between any two steps takes it up.
        bench = bench.again();
        bench.store.unlock(ring(2, Some(1))).unwrap();
        match progress {
            Progress::More => {}
            Progress::Wait(until) => {
                let state = root_state(&bench.store.read()).unwrap().unwrap();
                assert!(matches!(state.previous, Some(PreviousKey { phase: PreviousPhase::Kept(_), .. })), "{state:?}");
                assert_eq!(until.micros_since(bench.time.now()), 900_000_000);
                assert_eq!(bench.step(), progress, "it waits");
                bench.time.0.fetch_add(900_000_000, Ordering::SeqCst);
            }
            Progress::Done => break,
        }
    }
    let yes = |first, last| vec![first, true, last, false];
    assert_eq!(seen, [yes(true, false), yes(true, true), yes(false, true)]);
    let state = root_state(&bench.store.read()).unwrap().unwrap();
    assert_eq!((state.current, state.previous.clone()), (root(2).id(), None));
    assert!(state.rotated_at.is_some());
    for (_, row) in bench.store.read().scan(&DATA_KEYS, Scan::all()).unwrap() {
        let KeyRow::Live { wraps, .. } = row else { continue };
        assert_eq!(wraps.iter().map(|wrap| wrap.root).collect::<Vec<_>>(), [root(2).id()]);
    }
    assert_eq!(bench.store.root_keys(), Some((root(2).id(), Some(root(1).id()))));
    bench.store.forget_previous_root_key().unwrap();
    assert_eq!(bench.store.root_keys(), Some((root(2).id(), None)));
    assert_eq!(bench.read(TENANT, 1).unwrap(), b"before");
    assert_eq!(bench.read(owner(7), 1), Err(Abort::Refused(Erased)));
}

#[test]
fn a_rotation_can_be_taken_back_and_gone_on_from() {
    let bench = Bench::open();
    bench.post(TENANT, 1, b"x").unwrap();
    let rest = |bench: &Bench| while bench.step() == Progress::More {};
    bench.store.replace_root_keys(ring(2, Some(1))).unwrap();
    bench.step();
    bench.store.forget_previous_root_key().unwrap();
    assert!(bench.store.root_keys().unwrap().1.is_some(), "it is still needed");
    // A copy that has the old key alone, half-way.
    bench.store.vault().set_ring(Some(ring(1, None)));
    rest(&bench);
    bench.post(MEMBER, 2, b"y").unwrap();
    let state = root_state(&bench.store.read()).unwrap().unwrap();
    assert_eq!((state.current, state.previous.unwrap().id), (root(1).id(), root(2).id()));
    // From there on to a third key.
    bench.store.replace_root_keys(ring(3, Some(1))).unwrap();
    rest(&bench);
    bench.time.0.fetch_add(900_000_000, Ordering::SeqCst);
    rest(&bench);
    assert_eq!(bench.step(), Progress::Done);
    let bench = bench.again();
    bench.store.unlock(ring(3, None)).unwrap();
    assert_eq!(bench.read(TENANT, 1).unwrap(), b"x");
    assert_eq!(bench.read(MEMBER, 2).unwrap(), b"y");
}

#[test]
fn a_damaged_data_key_stops_a_rotation() {
    let bench = Bench::open();
    bench.post(TENANT, 1, b"x").unwrap();
    bench
        .write(|tx, _| {
            // The member's row holds the tenant's key.
            let row = tx.get(&DATA_KEYS, &TENANT.key())?.unwrap();
            Ok(tx.put(&DATA_KEYS, &MEMBER.key(), &row)?)
        })
        .unwrap();
    let bench = bench.again();
    bench.store.unlock(ring(2, Some(1))).unwrap();
    assert!(is_damage(bench.read(MEMBER, 1)));
    assert_eq!(bench.step(), Progress::More);
    assert!(is_damage(bench.write(|tx, now| Ok(rotation::step(tx, now, 900)?))));
    assert_eq!(bench.read(TENANT, 1).unwrap(), b"x");
}

#[test]
fn nothing_of_a_key_is_ever_printed() {
    let bench = Bench::open();
    let sealed = bench.post(TENANT, 1, b"hunter2").unwrap();
    let key = bench.store.read().data_key(TENANT).unwrap();
    let ring = ring(0xAB, Some(0xCD));
    let told = format!("{sealed:?} {key:?} {ring:?} {:?} {}", ring.current(), ring.current().id());
    for secret in ["ab, ab", "abab", "171, 171", "205, 205", "cdcd", "hunter2", "ABAB"] {
        assert!(!told.contains(secret), "{told}");
    }
    assert_eq!(format!("{sealed:?}"), "Sealed(48 bytes)");
    assert_ne!(root(1).id(), root(2).id());
}

async fn upload(bench: &Bench, owner: Option<KeyOwner>, bytes: &[u8]) -> LargeValue {
    let patience = Duration::from_secs(20);
    let mut upload = match owner {
        Some(owner) => Upload::begin_sealed(&bench.store, owner, 60, patience).await.unwrap(),
        None => Upload::begin(&bench.store, 60, patience).await.unwrap(),
    };
    for piece in bytes.chunks(100_000) {
        upload.push(piece).await.unwrap();
    }
    upload.finish().await.unwrap()
}

fn download(read: &Snapshot, value: &LargeValue) -> Result<Vec<u8>, Abort<Erased>> {
    let mut bytes = Vec::new();
    for index in 0.. {
        let Some(chunk) = large::read_chunk(read, value, index)? else { break };
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

#[tokio::test]
async fn large_values_are_sealed_chunk_by_chunk() {
    use sha2::{Digest as _, Sha256};
    let bench = Bench::open();
    let id_of = |value: &LargeValue| Uuid::from_bytes(value.id);
    for size in [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 2 * CHUNK_BYTES, 600_000] {
        let bytes: Vec<u8> = (0..size).map(|n| (n % 253) as u8).collect();
        for owner in [None, Some(TENANT)] {
            let value = upload(&bench, owner, &bytes).await;
            assert_eq!((value.size_bytes, value.sealed_for()), (size as u64, owner));
            let read = bench.store.read();
            assert_eq!(download(&read, &value).unwrap(), bytes, "{size} {owner:?}");
            let stored = read.scan(&CHUNKS, Scan::prefix(&(id_of(&value),))).unwrap();
            let stored: Vec<u8> = stored.into_iter().flat_map(|(_, ChunkRow(chunk))| chunk).collect();
            assert_eq!(value.sha256, <[u8; 32]>::from(Sha256::digest(&stored)));
            assert_eq!(stored == bytes, owner.is_none());
            // Cut by a chunk, the last one that is left is not marked as the last.
            if let (Some(chunks), true) = (value.chunks.checked_sub(1), owner.is_some()) {
                let cut = LargeValue { chunks, ..value.clone() };
                assert!(chunks == 0 || is_damage(download(&read, &cut)), "{size}");
            }
        }
    }
}

/// Who looks at a checkpoint opens what is sealed: with the store's keys, or with root keys that he brings.
#[tokio::test]
async fn a_view_of_a_checkpoint_opens_with_the_right_keys() {
    let bench = Bench::open();
    let (of_tenant, of_member) =
        (upload(&bench, Some(TENANT), b"tenant").await, upload(&bench, Some(MEMBER), b"x").await);
    bench.destroy(MEMBER);
    let view = bench.store.long_view().unwrap();
    let view = view.snapshot();
    for read in [view, &view.clone().with_root_keys(ring(1, None)), &view.clone().with_root_keys(ring(2, Some(1)))] {
        assert_eq!(download(read, &of_tenant).unwrap(), b"tenant");
        assert_eq!(download(read, &of_member), Err(Abort::Refused(Erased)));
    }
    let wrong = view.clone().with_root_keys(ring(2, None));
    assert!(is_damage(download(&wrong, &of_tenant)));
    let missing = view.clone().with_root_keys(ring(1, None)).data_key(KeyOwner::Tenant(uuid(99))).unwrap();
    assert_eq!(format!("{missing:?}"), "DataKey(missing)");
}

#[tokio::test]
async fn chunks_cannot_be_exchanged_and_end_with_their_owner() {
    let bench = Bench::open();
    let bytes = vec![7; 3 * CHUNK_BYTES];
    let (first, second) = (upload(&bench, Some(MEMBER), &bytes).await, upload(&bench, Some(MEMBER), &bytes).await);
    let id_of = |value: &LargeValue| Uuid::from_bytes(value.id);
    let (a, b) = (id_of(&first), id_of(&second));
    assert_eq!(download(&bench.store.read(), &first).unwrap(), bytes);
    for (from, to) in [((a, 1), (a, 0)), ((b, 0), (a, 0)), ((a, 2), (a, 1))] {
        let before = bench.store.read().get(&CHUNKS, &to).unwrap().unwrap();
        let moved = bench.store.read().get(&CHUNKS, &from).unwrap().unwrap();
        bench.write(move |tx, _| Ok(tx.put(&CHUNKS, &to, &moved)?)).unwrap();
        assert!(is_damage(download(&bench.store.read(), &first)), "{from:?} at {to:?}");
        bench.write(move |tx, _| Ok(tx.put(&CHUNKS, &to, &before)?)).unwrap();
    }
    let foreign = LargeValue { sealed_for: Some(TENANT), ..first.clone() };
    bench.post(TENANT, 1, b"so that it has a key").unwrap();
    assert!(is_damage(download(&bench.store.read(), &foreign)));

    // An owner that is erased in the middle of an upload.
    let patience = Duration::from_secs(20);
    let mut under_way = Upload::begin_sealed(&bench.store, MEMBER, 60, patience).await.unwrap();
    under_way.push(&bytes).await.unwrap();
    let before = bench.store.read();
    bench.destroy(MEMBER);
    assert_eq!(under_way.finish().await, Err(Abort::Refused(UploadRefusal::Erased)));
    let begun = Upload::begin_sealed(&bench.store, MEMBER, 60, patience).await;
    assert_eq!(begun.err(), Some(Abort::Refused(UploadRefusal::Erased)));
    for read in [&before, &bench.store.read()] {
        assert_eq!(download(read, &first), Err(Abort::Refused(Erased)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chunk_that_was_sealed_right_before_an_erasure_is_not_written_after_it() {
    let bench = Bench::open();
    let upload = Upload::begin_sealed(&bench.store, MEMBER, 60, Duration::from_secs(20)).await.unwrap();
    let (go, wait) = std::sync::mpsc::channel();
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let store = bench.store.clone();
    let erasure = tokio::spawn(async move {
        store
            .write(soon(), move |tx, now| {
                begun.send(()).unwrap();
                wait.recv_timeout(Duration::from_secs(20)).unwrap();
                Ok::<_, Abort<Erased>>(destroy(tx, now, MEMBER)?)
            })
            .await
    });
    has_begun.await.unwrap();
    let finished = tokio::spawn(upload.finish());
    while bench.store.stats().queue_depth == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    go.send(()).unwrap();
    assert_eq!(erasure.await.unwrap(), Ok(true));
    assert_eq!(finished.await.unwrap(), Err(Abort::Refused(UploadRefusal::Erased)));
}
