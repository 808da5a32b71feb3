//! Counters, histograms and gauges in the `OpenMetrics` text format. Open this to add one.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use crate::backend::{Load, Outcome};
use crate::error::ServeError;
use crate::version::{COMMIT, VERSION};

/// Times to the first token, as vLLM buckets them.
const FIRST_TOKEN: [f64; 21] = [
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
    20.0, 40.0, 80.0, 160.0, 640.0,
];
/// Times between tokens, as vLLM buckets them.
const NEXT_TOKEN: [f64; 18] = [
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0,
    40.0,
];
/// Times of whole requests and of their parts.
const REQUEST: [f64; 16] =
    [0.01, 0.03, 0.1, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 60.0, 120.0, 300.0, 900.0, 3600.0];
/// Budgets in tokens.
const BUDGETS: [f64; 9] = [8.0, 16.0, 32.0, 64.0, 128.0, 192.0, 320.0, 640.0, 1280.0];
/// Sequences of one decode step.
const ROWS: [f64; 8] = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
#[expect(clippy::struct_field_names, reason = "the label is called so")]
struct Route {
    route: &'static str,
    method: String,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reason {
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Stage {
    stage: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CacheResult {
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Method {
    method: String,
}

type Times<L> = Family<L, Histogram, fn() -> Histogram>;

/// Everything that is counted.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    http: Family<Route, Counter>,
    finished: Family<Reason, Counter>,
    rejected: Family<Reason, Counter>,
    prompt_tokens: Counter,
    generation_tokens: Counter,
    visual_tokens: Family<Stage, Counter>,
    images: Counter,
    encoder_cache: Family<CacheResult, Counter>,
    panics: Counter,
    first_token: Histogram,
    next_token: Histogram,
    request: Times<Method>,
    queue: Histogram,
    stages: Times<Stage>,
    batch_rows: Histogram,
    budget: Histogram,
    running: Gauge,
    waiting: Gauge,
    kv_bytes: Gauge,
    encoder_cache_bytes: Gauge,
    ready: Gauge,
}

fn requests() -> Histogram {
    Histogram::new(REQUEST)
}

impl Default for Metrics {
    fn default() -> Self {
        let registry = Registry::with_prefix("mico");
        let mut metrics = Self {
            registry,
            http: Family::default(),
            finished: Family::default(),
            rejected: Family::default(),
            prompt_tokens: Counter::default(),
            generation_tokens: Counter::default(),
            visual_tokens: Family::default(),
            images: Counter::default(),
            encoder_cache: Family::default(),
            panics: Counter::default(),
            first_token: Histogram::new(FIRST_TOKEN),
            next_token: Histogram::new(NEXT_TOKEN),
            request: Family::new_with_constructor(requests),
            queue: Histogram::new(REQUEST),
            stages: Family::new_with_constructor(requests),
            batch_rows: Histogram::new(ROWS),
            budget: Histogram::new(BUDGETS),
            running: Gauge::default(),
            waiting: Gauge::default(),
            kv_bytes: Gauge::default(),
            encoder_cache_bytes: Gauge::default(),
            ready: Gauge::default(),
        };
        metrics.register_counters();
        metrics.register_histograms();
        metrics.register_gauges();
        metrics
    }
}

impl Metrics {
    fn register_counters(&mut self) {
        let registry = &mut self.registry;
        registry.register(
            "http_requests",
            "Responses by route, method and status",
            self.http.clone(),
        );
        registry.register("requests_finished", "Requests by how they ended", self.finished.clone());
        registry.register(
            "requests_rejected",
            "Requests by why they were refused",
            self.rejected.clone(),
        );
        registry.register(
            "prompt_tokens",
            "Tokens that entered the decoder",
            self.prompt_tokens.clone(),
        );
        registry.register("generation_tokens", "Tokens of answers", self.generation_tokens.clone());
        registry.register(
            "visual_tokens",
            "Visual tokens before pruning, entering the decoder, and in its last block",
            self.visual_tokens.clone(),
        );
        registry.register("images", "Images and videos asked about", self.images.clone());
        registry.register(
            "encoder_cache",
            "Images by what the cache had",
            self.encoder_cache.clone(),
        );
        registry.register("panics", "Panics that were caught", self.panics.clone());
    }

    fn register_histograms(&mut self) {
        let registry = &mut self.registry;
        let mut seconds = |name: &str, help: &str, histogram: Histogram| {
            registry.register_with_unit(name, help, Unit::Seconds, histogram);
        };
        seconds("time_to_first_token", "From arrival to the first token", self.first_token.clone());
        seconds("inter_token_latency", "From one token to the next", self.next_token.clone());
        seconds("queue", "From submission to admission", self.queue.clone());
        let whole = "From arrival to the end, by method";
        registry.register_with_unit("e2e_request", whole, Unit::Seconds, self.request.clone());
        registry.register_with_unit(
            "stage",
            "Parts of requests",
            Unit::Seconds,
            self.stages.clone(),
        );
        registry.register("batch_rows", "Sequences of a decode step", self.batch_rows.clone());
        registry.register("budget_tokens", "Budgets of pruned requests", self.budget.clone());
    }

    fn register_gauges(&mut self) {
        let registry = &mut self.registry;
        registry.register("requests_running", "Requests being worked on", self.running.clone());
        registry.register("requests_waiting", "Requests in the queue", self.waiting.clone());
        registry.register("kv_bytes", "Bytes reserved for keys and values", self.kv_bytes.clone());
        registry.register(
            "encoder_cache_bytes",
            "Bytes of encoded images",
            self.encoder_cache_bytes.clone(),
        );
        registry.register("ready", "Whether requests are accepted", self.ready.clone());
        let labels = vec![("version", VERSION), ("commit", COMMIT)];
        registry.register("build", "What runs", Info::new(labels));
    }

    /// Counts a response.
    pub fn answered(&self, route: &'static str, method: &str, status: u16) {
        let method = method.to_owned();
        self.http.get_or_create(&Route { route, method, status }).inc();
    }

    /// Counts a request that was not accepted.
    pub fn refused(&self, error: &ServeError) {
        self.rejected.get_or_create(&Reason { reason: error.code.name() }).inc();
    }

    /// Counts how an accepted request ended: `stop`, `length`, `cancelled`, `error` or `timeout`.
    pub fn ended(&self, reason: &'static str) {
        self.finished.get_or_create(&Reason { reason }).inc();
    }

    /// Counts an answer.
    pub fn finished(&self, outcome: &Outcome) {
        let (plan, seconds) = (&outcome.plan, &outcome.seconds);
        self.ended(outcome.finish.reason());
        self.prompt_tokens.inc_by(plan.prompt_tokens() as u64);
        self.generation_tokens.inc_by(outcome.generated_tokens as u64);
        let kept: usize = plan.images.iter().map(|image| image.kept).sum();
        let visual =
            [("seen", plan.visual_tokens()), ("entered", plan.image_tokens()), ("kept", kept)];
        for (stage, count) in visual {
            self.visual_tokens.get_or_create(&Stage { stage }).inc_by(count as u64);
        }
        self.images.inc_by(plan.images.len() as u64);
        for result in plan.images.iter().filter_map(|image| image.cache) {
            self.encoder_cache.get_or_create(&CacheResult { result }).inc();
        }
        if let Some(budget) = plan.budget {
            self.budget.observe(budget as f64);
        }
        self.first_token.observe(seconds.first_token);
        self.queue.observe(seconds.queue);
        self.request.get_or_create(&Method { method: plan.method.clone() }).observe(seconds.total);
        for (stage, took) in [
            ("preprocess", seconds.preprocess),
            ("vision", seconds.vision),
            ("projector", seconds.projector),
            ("stage1", seconds.stage1),
            ("stage2_relevance", seconds.stage2_relevance),
            ("stage2_select", seconds.stage2_select),
            ("decoder_prefill", seconds.decoder_prefill),
            ("decode", seconds.decode),
        ] {
            self.stages.get_or_create(&Stage { stage }).observe(took);
        }
    }

    /// Notes the time between two tokens of an answer, where the computing is done.
    pub fn next_token(&self, gap: Duration) {
        self.next_token.observe(gap.as_secs_f64());
    }

    /// Notes how many answers one decode step served.
    pub fn step(&self, rows: usize) {
        self.batch_rows.observe(rows as f64);
    }

    /// All numbers as text, with gauges of this moment.
    pub fn text(&self, load: Option<&Load>, ready: bool) -> String {
        let load = load.copied().unwrap_or_default();
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        self.running.set(number(load.running as u64));
        self.waiting.set(number(load.waiting as u64));
        self.kv_bytes.set(number(load.kv_bytes));
        self.encoder_cache_bytes.set(number(load.encoder_cache_bytes));
        self.ready.set(i64::from(ready));
        self.panics.inc_by(load.panics.saturating_sub(self.panics.get()));
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
