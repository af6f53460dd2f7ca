//! Everything that is open while the appliance runs: the store, the clock, and each room's context.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use quintet_diagrams::pool::{Pool, PoolLimits};
use quintet_platform::Foundation;
use quintet_platform::access::{KeyUses, Service};
use quintet_platform::clock::{Clock, DueWork};
use quintet_platform::deliveries::{DeliveryRoom, DroppedTargets, OldDeliveries, Pump};
use quintet_platform::egress::Egress;
use quintet_platform::idempotency::ExpiredAnswers;
use quintet_platform::identity::SpentNames;
use quintet_platform::jobs::{Agenda, Job, Rows, Sweep};
use quintet_platform::large_values::UnownedValues;
use quintet_platform::metering::Meter;
use quintet_platform::people::PeopleEnds;
use quintet_platform::sessions::{SessionEnds, SessionUses};
use quintet_platform::stopping::Stopping;
use quintet_runs::pictures::SharedPainter;
use quintet_storage::{Failure, Migration, Snapshot, Store, StoreOptions, TableSpec, read_format};

use crate::config::Config;
use crate::metrics::Metrics;
use crate::outside;
use crate::own_runner;
use crate::pictures::DiagramRoom;
use crate::root_key::{RootKeySources, RootKeys};
use crate::sites::Places;
use crate::start_error::StartError;
use crate::tls::Tls;

/// Every table of the appliance: one line a package.
pub const TABLES: &[&[TableSpec]] = &[
    quintet_storage::seal::TABLES,
    quintet_storage::large::TABLES,
    quintet_platform::TABLES,
    quintet_ledger::TABLES,
    quintet_localization::TABLES,
    quintet_runs::TABLES,
    quintet_messaging::TABLES,
    quintet_diagrams::TABLES,
];

/// What brings a data directory of an older format to the present one: one line a package that has such steps. They
/// lead from the first format to the present one without a gap.
pub const MIGRATIONS: &[&[Migration]] = &[quintet_runs::MIGRATIONS, quintet_localization::MIGRATIONS];

/// Finds what contradicts itself in the rows of one package.
pub type Check = fn(&Snapshot) -> Result<Vec<String>, Failure>;

/// What `quintet verify` and `quintet restore` check beyond storage itself: one line a package.
pub const VERIFICATIONS: &[(&str, Check)] = &[
    ("platform", quintet_platform::verify),
    ("ledger", verify_ledger),
    ("localization", quintet_localization::verify),
    ("runs", quintet_runs::verify),
    ("messaging", quintet_messaging::verify),
    ("diagrams", quintet_diagrams::verify),
];

fn verify_ledger(read: &Snapshot) -> Result<Vec<String>, Failure> {
    let proof = quintet_ledger::verify(read)?;
    Ok(proof.findings.into_iter().map(|finding| format!("{}: {}", finding.place, finding.problem)).collect())
}

/// The permissions a key may carry: one line a service. The first list are those of a tenant over its own
/// data, which a key gets when none are asked for; the second are given by name only.
pub const PERMISSIONS: &[(Service, &[&str], &[&str])] = &[
    (Service::Ledger, &["ledger_admin", "ledger_poster", "ledger_reader"], &["ledger_partner"]),
    (Service::Localization, quintet_localization::KEY_PERMISSIONS, &[]),
    (Service::Runs, quintet_runs::PERMISSIONS, quintet_runs::SPECIAL_PERMISSIONS),
    (Service::Diagrams, &[quintet_diagrams::PERMISSION], &[]),
];

/// The open appliance. Clones share everything.
#[derive(Clone)]
pub struct App {
    /// The configuration in force.
    pub config: Arc<Config>,
    /// TLS of the listeners, if they speak it.
    pub tls: Option<Tls>,
    /// The memory.
    pub store: Store,
    /// The one clock.
    pub clock: Clock,
    /// What the operations listener tells.
    pub metrics: Metrics,
    /// Which keys were used when.
    pub uses: Arc<KeyUses>,
    /// Which sessions were used when.
    pub session_uses: Arc<SessionUses>,
    /// The root key's source, and what follows when it changes.
    pub root_keys: Arc<RootKeys>,
    /// Which tenants have made how many calls.
    pub meter: Arc<Meter>,
    /// Ends what would not end by itself: pulls, streams, those who wait for something. To be called when the appliance
    /// stops, before open requests are waited for.
    pub stopping: Stopping,
    /// The ledger's context.
    pub ledger: quintet_ledger::Context,
    /// Localization's context.
    pub localization: quintet_localization::Context,
    /// The context of runs.
    pub runs: quintet_runs::Context,
    /// Where the runner is, if there is to be one.
    pub runner: Option<own_runner::Place>,
    /// Messaging's context.
    pub messaging: quintet_messaging::Context,
    /// The diagrams' context.
    pub diagrams: quintet_diagrams::Context,
    /// What makes deliveries.
    pub pump: Pump,
    /// Where the listeners are.
    pub places: Places,
}

impl App {
    /// Opens the data directory (an absent or empty one is made) and builds every room. Blocks: the log is read.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn open(config: Config, root_key: RootKeySources, rehearsal: bool) -> Result<App, StartError> {
        let tls = Tls::open(&config).map_err(StartError::Tls)?;
        // Systems that the operator names are called apart from whatever tenants name: nobody is to wait for those.
        let systems = outside::egress(&config)?;
        let authority = outside::authority(&config, &systems)?;
        let generator = outside::generator(&config, &systems)?;
        let fonts = outside::fonts(&config)?;
        let pool = Pool::start(PoolLimits::of_machine())
            .map_err(|error| StartError::Io { doing: "starting the threads that draw".into(), error })?;
        let (store, clock, root_keys) = open_store(&config, root_key, rehearsal)?;
        let foundation = Foundation::new(store.clone(), clock.clone(), authority);
        let (edge_rate, edge_burst) = (config.ledger_edge_rate_per_second, config.ledger_edge_burst);
        let ledger = quintet_ledger::Context::new(foundation.clone(), edge_rate, edge_burst);
        let egress = outside::egress(&config)?;
        let pump = pump(&store, &clock, &egress);
        let deliveries = (pump.clone(), egress.clone());
        let settings = localization_settings(&config, &systems, (&store, &clock), deliveries)?;
        let localization = quintet_localization::Context::with(foundation.clone(), settings);
        let diagrams = quintet_diagrams::Settings {
            engine: quintet_diagrams::engine::engine(fonts),
            generator,
            pool,
            requires_key: config.diagrams_require_key,
            cache_mb: config.diagrams_cache_mb,
        };
        let diagrams = quintet_diagrams::Context::new(foundation.clone(), diagrams);
        let runner = own_runner::place(&config);
        let painter = SharedPainter(Arc::new(DiagramRoom(diagrams.clone())));
        let settings = runs_settings(&config, runner.as_ref(), (egress.clone(), painter), pump.clone())?;
        let runs = quintet_runs::context(foundation.clone(), settings)
            .map_err(|error| StartError::Io { doing: "making ready for runs".into(), error })?;
        let settings = messaging_settings(&config, egress.clone(), outside::mail(&config, &systems)?);
        let messaging = quintet_messaging::Context::new(foundation.clone(), settings);
        // What the services tell an inbound endpoint of this appliance stays within it.
        egress.tie(Arc::new(quintet_messaging::Door::new(&messaging)));
        let Foundation { uses, session_uses, meter, stopping, .. } = foundation;
        let metrics = Metrics::new(&store, &clock, &diagrams, (&localization, &runs, &messaging), &pump);
        let root_keys = Arc::new(root_keys);
        let config = Arc::new(config);
        let app = App {
            config,
            tls,
            store,
            clock,
            metrics,
            uses,
            session_uses,
            root_keys,
            meter,
            stopping,
            ledger,
            localization,
            runs,
            runner,
            messaging,
            diagrams,
            pump,
            places: Places::default(),
        };
        app.register_due_work();
        Ok(app)
    }

    /// What falls due by the clock: one line a package.
    fn register_due_work(&self) {
        self.clock.register(rows(&self.store, ExpiredAnswers));
        self.clock.register(rows(&self.store, UnownedValues));
        self.clock.register(rows(&self.store, OldDeliveries));
        self.clock.register(rows(&self.store, DroppedTargets));
        self.clock.register(rows(&self.store, SpentNames));
        self.clock.register(rows(&self.store, SessionEnds));
        self.clock.register(rows(&self.store, PeopleEnds));
        self.clock.register(Arc::new(self.pump.clone()));
        self.clock.register(sweep(Arc::clone(&self.uses)));
        self.clock.register(sweep(Arc::clone(&self.session_uses)));
        self.clock.register(sweep(Arc::clone(&self.root_keys)));
        self.clock.register(sweep(Arc::clone(&self.meter)));
        let rooms = [
            quintet_ledger::due_work(&self.ledger),
            quintet_localization::due_work(&self.localization),
            quintet_runs::due_work(&self.runs),
            quintet_messaging::due_work(&self.messaging),
            quintet_diagrams::due_work(&self.diagrams),
        ];
        for work in rooms.into_iter().flatten() {
            self.clock.register(work);
        }
    }
}

/// What makes the deliveries of all rooms that have some.
fn pump(store: &Store, clock: &Clock, egress: &Egress) -> Pump {
    let rooms: Vec<Arc<dyn DeliveryRoom>> = vec![
        Arc::new(quintet_runs::WEBHOOKS),
        Arc::new(quintet_localization::WEBHOOKS),
        Arc::new(quintet_messaging::DELIVERIES),
    ];
    Pump::new(store.clone(), clock.clone(), egress.clone(), rooms)
}

fn rows(store: &Store, agenda: impl Agenda) -> Arc<dyn DueWork> {
    sweep(Rows::new(store.clone(), agenda))
}

fn sweep(job: impl Job) -> Arc<dyn DueWork> {
    Arc::new(Sweep(job))
}

/// What the operator says of localization.
fn localization_settings(
    config: &Config,
    systems: &Egress,
    (store, clock): (&Store, &Clock),
    deliveries: (Pump, Egress),
) -> Result<quintet_localization::Settings, StartError> {
    Ok(quintet_localization::Settings {
        engine: outside::translator(config, systems)?,
        anchor_file: config.audit_anchor_file.clone(),
        decisions: Some(outside::decisions(config, systems, store)?),
        authorization: outside::authorization_system(config, systems)?,
        identity: outside::identity(config, systems, store, clock)?,
        deliveries: Some(deliveries),
    })
}

/// What the operator says of runs.
fn runs_settings(
    config: &Config,
    runner: Option<&own_runner::Place>,
    (egress, painter): (Egress, SharedPainter),
    pump: Pump,
) -> Result<quintet_runs::Settings, StartError> {
    let (cores, memory_mb) = own_runner::machine();
    Ok(quintet_runs::Settings {
        workers: if config.runs_workers == 0 { own_runner::workers_of_machine() } else { config.runs_workers },
        scratch_mb: u64::from(config.runs_scratch_mb),
        disk_reserve_bytes: config.disk_reserve_mb << 20,
        runner_socket: runner.map(|place| place.socket.clone()),
        ceilings: quintet_runs::Ceilings::on_machine(config.runs_ceilings.clone(), cores, memory_mb),
        egress,
        painter,
        pump,
        registries: outside::registries(config)?,
    })
}

/// What the operator says of messaging.
fn messaging_settings(config: &Config, egress: Egress, mail: quintet_messaging::Mail) -> quintet_messaging::Settings {
    quintet_messaging::Settings {
        domain: config.messaging_domain.clone(),
        public_url: config.messaging_public_url.clone(),
        rate_per_second: config.messaging_rate_per_second,
        rate_burst: config.messaging_rate_burst,
        egress,
        mail,
        is_signup_open: config.messaging_signup_open,
    }
}

/// Opens the store under the clock it is to live with, and looks after the root key.
///
/// # Errors
/// See [`StartError`].
pub fn open_store(
    config: &Config,
    root_key: RootKeySources,
    rehearsal: bool,
) -> Result<(Store, Clock, RootKeys), StartError> {
    check_permissions(&config.data_dir)?;
    root_key.check()?;
    let system = Clock::system();
    let clock = if rehearsal { Clock::rehearsal(system.now()) } else { system };
    let opened = Store::open_with(store_options(config, rehearsal, &clock), TABLES, MIGRATIONS);
    let store = opened.map_err(|error| StartError::Open { directory: config.data_dir.clone(), error })?;
    // Nothing is written before the root key is known to be right.
    let unlocked = root_key.unlock(&store);
    let prepared = unlocked.and_then(|keys| clock.resume(&store).map(|()| keys).map_err(StartError::Clock));
    let prepared = prepared.and_then(|keys| make_audit_key(&store).map(|()| keys));
    clock.attend(&store);
    match prepared {
        Ok(root_keys) => Ok((store, clock, root_keys)),
        Err(error) => {
            store.shutdown();
            Err(error)
        }
    }
}

/// Makes the key that checkpoints are signed with, once. A full disk is a state: it is made when there is room.
fn make_audit_key(store: &Store) -> Result<(), StartError> {
    match quintet_localization::prepare(store) {
        Ok(()) | Err(Failure::StorageFull) => Ok(()),
        Err(failure) => Err(StartError::AuditKey(failure)),
    }
}

/// What the configuration says about storage.
fn store_options(config: &Config, rehearsal: bool, clock: &Clock) -> StoreOptions {
    let bytes = |mb: u32| usize::try_from(u64::from(mb) << 20).unwrap_or(usize::MAX);
    StoreOptions {
        rehearsal,
        disk_reserve_bytes: config.disk_reserve_mb << 20,
        copy_window: Duration::from_secs(60 * u64::from(config.copy_window_minutes)),
        copy_bytes_max: config.copy_keep_mb << 20,
        write_buffer_bytes: bytes(config.write_buffer_mb),
        block_cache_bytes: bytes(config.cache_mb),
        ..StoreOptions::new(&config.data_dir, Arc::new(clock.clone()))
    }
}

/// Refuses a data directory into which other users may put files of their own. What is no data directory, and not
/// about to become one, is left to the store.
fn check_permissions(data_dir: &Path) -> Result<(), StartError> {
    let Ok(found) = std::fs::metadata(data_dir) else { return Ok(()) };
    let is_empty = || std::fs::read_dir(data_dir).is_ok_and(|mut entries| entries.next().is_none());
    let is_data = || read_format(data_dir).is_ok_and(|format| format.is_some());
    if found.is_dir() && found.mode() & 0o022 != 0 && (is_data() || is_empty()) {
        return Err(StartError::Exposed(data_dir.to_path_buf()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use quintet_storage::{FORMAT_VERSION, Registry};

    use super::*;
    use crate::config::Sources;

    #[test]
    fn storage_is_opened_as_the_configuration_says() {
        let variables =
            [("COPY_WINDOW_MINUTES", "7"), ("COPY_KEEP_MB", "3"), ("WRITE_BUFFER_MB", "16"), ("CACHE_MB", "8")];
        let environment = variables.map(|(name, value)| (format!("QUINTET_STORAGE__{name}"), value.to_string()));
        let config = Config::load(&Sources { environment: environment.to_vec(), ..Sources::default() }).unwrap();
        let options = store_options(&config, true, &Clock::system());
        assert_eq!(options.copy_window, Duration::from_secs(420));
        assert_eq!(options.copy_bytes_max, 3 << 20);
        assert_eq!((options.write_buffer_bytes, options.block_cache_bytes), (16 << 20, 8 << 20));
        assert_eq!(options.disk_reserve_bytes, 512 << 20);
        assert!(options.rehearsal);
    }

    #[test]
    fn tags_and_names_of_tables_are_unique() {
        Registry::new(TABLES).unwrap();
    }

    #[test]
    fn migrations_lead_from_the_first_format_to_the_present_one() {
        let mut from: Vec<u32> = MIGRATIONS.iter().copied().flatten().map(|migration| migration.from).collect();
        from.sort_unstable();
        assert!(from.iter().copied().eq(1..FORMAT_VERSION), "{from:?} do not lead to {FORMAT_VERSION}");
    }

    #[test]
    fn every_permission_a_route_asks_for_can_be_given_to_a_key() {
        let given: Vec<&str> =
            PERMISSIONS.iter().flat_map(|(_, own, special)| own.iter().chain(*special)).copied().collect();
        let ledger = quintet_ledger::served().map(|route| (route.permission, route.path));
        let diagrams = quintet_diagrams::served().map(|route| (route.permission, route.path));
        let runs = quintet_runs::served().map(|route| (route.permission, route.path));
        for (permission, path) in ledger.chain(runs).chain(diagrams).filter(|(permission, _)| !permission.is_empty()) {
            assert!(given.contains(&permission), "{permission} of {path}");
        }
    }
}
