//! What the operations listener tells Prometheus: requests of every service, the store, the process.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::Method;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use quintet_platform::access::Service;
use quintet_platform::backups::list_backups;
use quintet_platform::clock::Clock;
use quintet_platform::deliveries::{Pump, all_counters};
use quintet_runs::operator::workflows;
use quintet_storage::{Room, Store, Timestamp, Uuid};

use crate::followers::Followers;
use crate::measures::{disk_free_bytes, memory_bytes, seconds_between};

/// Upper bounds of the latency histogram, in seconds.
const LATENCY_BOUNDS_SECONDS: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// One kind of request. The route is its template, so the number of kinds is bounded.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    service: &'static str,
    method: &'static str,
    route: String,
    status: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    service: &'static str,
    route: String,
}

/// Counters of one process.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<Registry>,
    requests: Family<RequestLabels, Counter>,
    latency: Family<RouteLabels, Histogram, fn() -> Histogram>,
    followers: Followers,
    started: Instant,
    /// The time of day then, also under a rehearsal clock.
    started_at: Timestamp,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    /// Counters at zero, and the collectors that read the store and the process when asked.
    #[must_use]
    pub fn new(
        store: &Store,
        clock: &Clock,
        diagrams: &quintet_diagrams::Context,
        (localization, runs, messaging): (
            &quintet_localization::Context,
            &quintet_runs::Context,
            &quintet_messaging::Context,
        ),
        pump: &Pump,
    ) -> Metrics {
        let (started, started_at) = (Instant::now(), Clock::system().now());
        let mut registry = Registry::with_prefix("quintet");
        let requests = Family::<RequestLabels, Counter>::default();
        let new_histogram: fn() -> Histogram = || Histogram::new(LATENCY_BOUNDS_SECONDS);
        let latency = Family::<RouteLabels, Histogram, fn() -> Histogram>::new_with_constructor(new_histogram);
        registry.register("http_requests", "Requests answered", requests.clone());
        registry.register_with_unit(
            "http_request_duration",
            "Time from a request's head to its answer's",
            Unit::Seconds,
            latency.clone(),
        );
        let build = Info::new(vec![
            ("version", env!("CARGO_PKG_VERSION")),
            ("commit", env!("BUILD_COMMIT")),
            ("rustc", env!("BUILD_RUSTC")),
            ("target", env!("BUILD_TARGET")),
            ("profile", env!("BUILD_PROFILE")),
        ]);
        registry.register("build", "What runs", build);
        registry.register_collector(Box::new(StoreCollector { store: store.clone() }));
        let followers = Followers::default();
        let copies = CopyCollector { store: store.clone(), clock: clock.clone(), followers: followers.clone() };
        registry.register_collector(Box::new(copies));
        registry.register_collector(Box::new(DiagramsCollector { diagrams: diagrams.clone() }));
        registry.register_collector(Box::new(AuditCollector { localization: localization.clone() }));
        registry.register_collector(Box::new(RunsCollector { runs: runs.clone() }));
        let deliveries = DeliveriesCollector { store: store.clone(), pump: pump.clone(), clock: clock.clone() };
        registry.register_collector(Box::new(deliveries));
        registry.register_collector(Box::new(MessagingCollector { messaging: messaging.clone() }));
        registry.register_collector(Box::new(ProcessCollector { started }));
        Metrics { registry: Arc::new(registry), requests, latency, followers, started, started_at }
    }

    /// Everything, in Prometheus' text format.
    ///
    /// # Errors
    /// Formatting failed.
    pub fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry)?;
        Ok(text)
    }

    /// Continuous backups, as far as they were heard of.
    #[must_use]
    pub fn followers(&self) -> &Followers {
        &self.followers
    }

    /// How long the process has run, in seconds.
    #[must_use]
    pub fn uptime_seconds(&self) -> u64 {
        self.started.elapsed().as_secs()
    }

    /// When the process was started, by the time of day.
    #[must_use]
    pub fn started_at(&self) -> Timestamp {
        self.started_at
    }

    /// How far the time of day has gone ahead of the time that has passed since the start, in microseconds; negative if
    /// it was set back. A suspended machine shows here as well.
    #[must_use]
    pub fn clock_jump_micros(&self) -> i64 {
        let passed = i64::try_from(self.started.elapsed().as_micros()).unwrap_or(i64::MAX);
        Clock::system().now().as_micros().saturating_sub(self.started_at.as_micros()).saturating_sub(passed)
    }

    /// A count of the requests of one service, to be laid around its routes.
    #[must_use]
    pub fn of_service(&self, service: &'static str) -> ServiceMetrics {
        ServiceMetrics { metrics: self.clone(), service }
    }
}

/// Counts the requests of one service.
#[derive(Clone, Debug)]
pub struct ServiceMetrics {
    metrics: Metrics,
    service: &'static str,
}

/// Middleware: counts a request and how long it took.
pub async fn count(State(service): State<ServiceMetrics>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let method = method_label(request.method());
    let route = request.extensions().get::<MatchedPath>().map_or("unmatched", MatchedPath::as_str).to_string();
    let response = next.run(request).await;
    let seconds = begun.elapsed().as_secs_f64();
    let name = service.service;
    let status = status_class(response.status().as_u16());
    let labels = RequestLabels { service: name, method, route: route.clone(), status };
    service.metrics.requests.get_or_create(&labels).inc();
    service.metrics.latency.get_or_create(&RouteLabels { service: name, route }).observe(seconds);
    response
}

/// Clients may invent methods; labels must not grow with them.
fn method_label(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}

fn status_class(status: u16) -> &'static str {
    match status {
        100..=199 => "1xx",
        200..=299 => "2xx",
        300..=399 => "3xx",
        400..=499 => "4xx",
        _ => "5xx",
    }
}

/// Writes one counter of a collector.
fn counter(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: u64) -> fmt::Result {
    let metric = ConstCounter::new(value);
    metric.encode(encoder.encode_descriptor(name, help, None, metric.metric_type())?)
}

/// Writes one counter of seconds, kept in microseconds.
fn seconds_counter(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, micros: u64) -> fmt::Result {
    let metric = ConstCounter::new(seconds(micros));
    metric.encode(encoder.encode_descriptor(name, help, Some(&Unit::Seconds), metric.metric_type())?)
}

/// Writes one gauge of a collector.
fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, unit: Option<&Unit>, value: f64) -> fmt::Result {
    let metric = ConstGauge::new(value);
    metric.encode(encoder.encode_descriptor(name, help, unit, metric.metric_type())?)
}

fn seconds(micros: u64) -> f64 {
    std::time::Duration::from_micros(micros).as_secs_f64()
}

/// A count as Prometheus keeps it: exact to 2^53.
#[expect(clippy::cast_precision_loss, reason = "Prometheus keeps every sample as a double")]
fn sample(count: u64) -> f64 {
    count as f64
}

/// Reads the store's counters when Prometheus asks.
struct StoreCollector {
    store: Store,
}

impl fmt::Debug for StoreCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreCollector")
    }
}

impl Collector for StoreCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let stats = self.store.stats();
        let e = &mut encoder;
        gauge(e, "storage_lsn", "The last published transaction", None, sample(stats.published_lsn))?;
        counter(e, "storage_writes", "Transactions committed", stats.committed)?;
        let refused = "Transactions that were refused, failed or wrote nothing";
        counter(e, "storage_refusals", refused, stats.not_committed)?;
        counter(e, "storage_turned_away", "Requests turned away because the writer was busy", stats.turned_away)?;
        counter(e, "storage_batches", "Groups written to the log, one sync each", stats.groups)?;
        counter(e, "storage_log_bytes", "Bytes written to the log", stats.log_bytes)?;
        seconds_counter(e, "storage_sync", "Time spent writing and syncing the log", stats.sync_micros)?;
        let longest = seconds(stats.sync_micros_max);
        gauge(e, "storage_sync_longest", "The longest single write and sync", Some(&Unit::Seconds), longest)?;
        gauge(e, "storage_queue_depth", "Requests waiting for the writer", None, sample(stats.queue_depth))?;
        let stopped = if self.store.stop_reason().is_some() { 1.0 } else { 0.0 };
        gauge(e, "storage_stopped", "1 when writing has stopped after a failure", None, stopped)?;
        let low = if self.store.room() == Room::Ample { 0.0 } else { 1.0 };
        gauge(e, "storage_full", "1 while writes are refused because the disk is down to its reserve", None, low)?;
        if let Some(free) = disk_free_bytes(self.store.directory()) {
            gauge(e, "storage_disk_free", "Free space beside the data", Some(&Unit::Bytes), sample(free))?;
        }
        Ok(())
    }
}

/// Reads what there is to go back to, when Prometheus asks.
struct CopyCollector {
    store: Store,
    clock: Clock,
    followers: Followers,
}

impl fmt::Debug for CopyCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CopyCollector")
    }
}

impl Collector for CopyCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let window = self.store.copy_window();
        let e = &mut encoder;
        let seconds = Some(&Unit::Seconds);
        gauge(e, "storage_checkpoints", "Checkpoints kept", None, sample(window.checkpoints as u64))?;
        let newest = "The last transaction in the newest checkpoint";
        gauge(e, "storage_checkpoint_lsn", newest, None, sample(window.newest_lsn))?;
        if let Some(since) = window.newest_since {
            let age = "Age of the newest checkpoint, since the start at most";
            gauge(e, "storage_checkpoint_age", age, seconds, since.elapsed().as_secs_f64())?;
        }
        let in_force = "How long a plain copy of the directory may take";
        gauge(e, "storage_copy_window", in_force, seconds, window.in_force.as_secs_f64())?;
        let wanted = "The same, as the configuration asks for it";
        gauge(e, "storage_copy_window_wanted", wanted, seconds, window.wanted.as_secs_f64())?;
        let kept = "Bytes on disk kept for copies alone";
        gauge(e, "storage_kept_for_copies", kept, Some(&Unit::Bytes), sample(window.kept_bytes))?;
        // What cannot be read is told by other means; the other metrics must not be missing for it.
        let newest = list_backups(&self.store.read(), 1).ok().and_then(|found| found.into_iter().next());
        if let Some(backup) = newest {
            let age = seconds_between(backup.finished_at, self.clock.now());
            gauge(e, "backup_age", "Time since the last backup was finished", seconds, sample(age))?;
            gauge(e, "backup_lsn", "The last transaction in the last backup", None, sample(backup.made.lsn))?;
        }
        let help = "Everything that was acknowledged longer ago is in the continuous backup";
        let mut lags = e.encode_descriptor("backup_lag", help, seconds, MetricType::Gauge)?;
        for (destination, lag_seconds) in self.followers.lags() {
            let labels = [("destination", destination.as_str())];
            ConstGauge::new(lag_seconds).encode(lags.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

/// Reads what keeps runs from being started, and timers and schedules from firing, when Prometheus asks.
struct RunsCollector {
    runs: quintet_runs::Context,
}

impl fmt::Debug for RunsCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RunsCollector")
    }
}

impl RunsCollector {
    /// What there is of workflows. What cannot be read tells nothing here: `quintet_storage_stopped` does.
    fn workflows(&self, e: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let standing = workflows::standing(&self.runs).unwrap_or_default();
        let mut of_states =
            e.encode_descriptor("runs_workflows", "Workflows that are kept", None, MetricType::Gauge)?;
        for (state, count) in workflows::STATES.iter().zip(standing.states) {
            ConstGauge::new(sample(count)).encode(of_states.encode_family(&[("state", *state)])?)?;
        }
        gauge(e, "runs_open_gates", "Gates of workflows that wait for a decision", None, sample(standing.open_gates))?;
        let oldest = standing.oldest_gate_opened_at.map_or(0, |at| self.runs.now().micros_since(at).max(0));
        let help = "For how long the oldest of them has been open";
        gauge(e, "runs_oldest_open_gate_seconds", help, None, oldest as f64 / 1e6)?;
        let help = "How long attempts at nodes ran without their pauses";
        seconds_counter(e, "runs_workflow_nodes", help, standing.node_micros)
    }
}

impl Collector for RunsCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let e = &mut encoder;
        let one_if = |holds: bool| if holds { 1.0 } else { 0.0 };
        let down = self.runs.has_runner() && !self.runs.is_engine_up();
        gauge(e, "runs_engine_down", "1 while nobody starts containers, though somebody should", None, one_if(down))?;
        let short = one_if(self.runs.is_disk_short());
        gauge(e, "runs_disk_short", "1 while runs wait for room on the runner's disk", None, short)?;
        let first = self.runs.first_alarm().ok().flatten();
        let overdue_micros = first.map_or(0, |first| self.runs.now().micros_since(first).max(0));
        let help = "For how long the first timer or schedule that has not fired has been due";
        gauge(e, "runs_alarms_overdue_seconds", help, None, overdue_micros as f64 / 1e6)?;
        self.workflows(e)
    }
}

/// Reads what became of deliveries, when Prometheus asks.
struct DeliveriesCollector {
    store: Store,
    pump: Pump,
    clock: Clock,
}

impl fmt::Debug for DeliveriesCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeliveriesCollector")
    }
}

impl Collector for DeliveriesCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let (e, figures) = (&mut encoder, self.pump.figures());
        let so_far = |count: &AtomicU64| count.load(Ordering::Relaxed);
        counter(e, "deliveries_delivered", "Deliveries that were taken", so_far(&figures.delivered))?;
        counter(e, "deliveries_retried", "Attempts that failed and are made again", so_far(&figures.retried))?;
        counter(e, "deliveries_dead", "Deliveries that were given up", so_far(&figures.dead))?;
        let latency = "Time from the events to the deliveries that were taken, in all";
        seconds_counter(e, "deliveries_latency", latency, so_far(&figures.latency_micros))?;
        gauge(e, "deliveries_in_flight", "Attempts under way", None, sample(self.pump.in_flight() as u64))?;
        // One that cannot be read tells nothing here: `quintet_storage_stopped` does.
        let since = self.pump.oldest_due().ok().flatten().map_or(0, |at| self.clock.now().micros_since(at).max(0));
        let age = seconds(u64::try_from(since).unwrap_or(0));
        gauge(e, "deliveries_oldest_due", "For how long an attempt has been due", Some(&Unit::Seconds), age)?;
        let (mut waiting, mut dead) = (0, BTreeMap::<Uuid, u64>::new());
        let read = self.store.read();
        for service in Service::ALL {
            for (tenant_id, counters) in all_counters(&read, service).unwrap_or_default() {
                waiting += counters.pending;
                *dead.entry(tenant_id).or_default() += counters.dead_total;
            }
        }
        gauge(e, "deliveries_waiting", "Deliveries that have not ended", None, sample(waiting))?;
        let help = "Deliveries of a tenant that were given up, ever";
        let mut of_tenants = e.encode_descriptor("tenant_delivery_dead", help, None, MetricType::Counter)?;
        for (tenant_id, dead_total) in dead {
            let labels = [("tenant", tenant_id.to_string())];
            ConstCounter::new(dead_total).encode(of_tenants.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

/// Reads what the diagrams' threads do, and what is stored of them, when Prometheus asks.
struct DiagramsCollector {
    diagrams: quintet_diagrams::Context,
}

impl fmt::Debug for DiagramsCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DiagramsCollector")
    }
}

impl Collector for DiagramsCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let (pool, stored) = self.diagrams.reading();
        let e = &mut encoder;
        gauge(e, "diagrams_waiting", "Drawings waiting for a thread", None, sample(pool.waiting as u64))?;
        counter(e, "diagrams_begun", "Drawings and checks begun", pool.begun)?;
        counter(e, "diagrams_turned_away", "Drawings turned away because too many were waiting", pool.turned_away)?;
        gauge(e, "diagrams_stored", "Finished diagrams that are kept", None, sample(stored.results))?;
        let bytes = "Finished diagrams that are kept";
        gauge(e, "diagrams_stored", bytes, Some(&Unit::Bytes), sample(stored.bytes))
    }
}

/// Reads how the anchors of localization's audit chains are, when Prometheus asks.
struct AuditCollector {
    localization: quintet_localization::Context,
}

impl fmt::Debug for AuditCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuditCollector")
    }
}

impl Collector for AuditCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let standing = quintet_localization::audit_standing(&self.localization).unwrap_or_default();
        let e = &mut encoder;
        let waiting = "Checkpoints that are not in the anchor file yet; a thousand stands for more";
        gauge(e, "localization_anchors_waiting", waiting, None, sample(standing.waiting))?;
        let failing = "1 while the anchor file cannot be written";
        gauge(e, "localization_anchors_failing", failing, None, sample(u64::from(standing.complaint.is_some())))
    }
}

/// Reads what there is of messaging, when Prometheus asks.
struct MessagingCollector {
    messaging: quintet_messaging::Context,
}

impl fmt::Debug for MessagingCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MessagingCollector")
    }
}

impl Collector for MessagingCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        // What cannot be read tells nothing here: `quintet_storage_stopped` does.
        let standing = quintet_messaging::operator::standing(&self.messaging).unwrap_or_default();
        let e = &mut encoder;
        gauge(e, "messaging_workspaces", "Workspaces that are not deleted", None, sample(standing.workspaces))?;
        gauge(e, "messaging_agents", "Agents that are not retired", None, sample(standing.active_agents))?;
        gauge(e, "messaging_streams", "Streams that are open", None, sample(standing.open_streams))?;
        let pending = "Approvals that wait for a person";
        gauge(e, "messaging_pending_approvals", pending, None, sample(standing.pending_approvals))?;
        let today = "Messages that agents have sent since midnight, UTC";
        gauge(e, "messaging_messages_today", today, None, sample(standing.messages_today))?;
        let mail = standing.mail;
        gauge(e, "messaging_mail_waiting", "Mails that wait for the relay", None, sample(mail.waiting))?;
        let (taken, refused) = ("Mails taken in", "Mails refused after their recipients had been accepted");
        counter(e, "messaging_mail_received", taken, mail.received)?;
        counter(e, "messaging_mail_refused", refused, mail.refused)?;
        counter(e, "messaging_mail_sent", "Attempts at which the relay took a mail", mail.sent)?;
        counter(e, "messaging_mail_retried", "Attempts that are made again", mail.retried)?;
        counter(e, "messaging_mail_given_up", "Addresses that a mail was given up for", mail.given_up)
    }
}

/// Reads the process' own numbers when Prometheus asks.
#[derive(Debug)]
struct ProcessCollector {
    started: Instant,
}

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let e = &mut encoder;
        let uptime = self.started.elapsed().as_secs_f64();
        gauge(e, "process_uptime", "Time since the start", Some(&Unit::Seconds), uptime)?;
        if let Some(bytes) = memory_bytes() {
            gauge(e, "process_resident_memory", "Resident memory", Some(&Unit::Bytes), sample(bytes))?;
        }
        Ok(())
    }
}
