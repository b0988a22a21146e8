//! `cargo xtask bench state`: what state costs on every backend: requests, bytes and time, with 5 ms between client and server.
//!
//! Servers are real (PostgreSQL, versitygw, the API server where it is built), behind a proxy that holds every message of the
//! client back for 5 ms. Requests and bytes are counted at the calls that a medium answers; a `get` of each object counts.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kusion_media::{Address, Patience, Surroundings, objects};
use kusion_model::{
    Action, PLAN_SCHEMA, Phase, PlanDraft, Reason, ReleaseNo, ResourceId, ResourceKey, ResourceRecord,
    ResourceType, Scope, Step, Tally, Timestamp,
};
use kusion_store::{
    Backend, Choose, Liveness, LocalFolder, Object, ObjectAnswer, ObjectError, ObjectLog, Objects, Outcome,
    Owner, ReleaseEnd, Session, StackStore, Store, When, wait,
};
use serde_json::json;
use testenv::services::{S3_BUCKET, S3_LOGIN};

use super::verdict;
use crate::ChoreResult;

const USAGE: &str = "usage: cargo xtask bench state [--scale PERCENT]";
/// What lies between client and server.
const LATENCY: Duration = Duration::from_millis(5);
/// How many outcomes a keeper commits at once when the walk is quick.
const GROUP: usize = 500;
/// How many resources a second the engine creates at best (docs/evidence.md): a run that is slower has more time for its state.
const CREATES_PER_SECOND: f64 = 300.0;

pub(super) fn main(words: &[String]) -> ChoreResult {
    let scale = match words {
        [] => 100,
        [flag, percent] if flag == "--scale" => percent.parse().map_err(|_| USAGE)?,
        _ => return Err(USAGE.into()),
    };
    if cfg!(debug_assertions) {
        eprintln!("note: a debug build is slower; use: cargo run --release -p xtask -- bench state");
    }
    let folder = std::env::temp_dir().join(format!("state-bench-{}", std::process::id()));
    let mut good = true;
    println!("{:<44} {:>9} {:>9} {:>11} {:>11}", "work", "ms", "requests", "bytes out", "bytes in");
    for medium in media(&folder) {
        good &= Bench { medium, scale }.all()?;
    }
    // A folder that stays behind in the temporary folder harms nobody.
    let _ = std::fs::remove_dir_all(folder);
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A medium, near (for filling it) and with latency (for measuring).
struct Medium {
    name: &'static str,
    near: Arc<dyn Backend>,
    far: Arc<dyn Backend>,
    count: Arc<Count>,
    remote: bool,
}

/// What was asked.
#[derive(Default)]
struct Count {
    requests: AtomicU64,
    out: AtomicU64,
    back: AtomicU64,
}

impl Count {
    fn take(&self) -> [u64; 3] {
        [&self.requests, &self.out, &self.back].map(|number| number.swap(0, Ordering::Relaxed))
    }

    fn asked(&self, out: usize, back: usize) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.out.fetch_add(out as u64, Ordering::Relaxed);
        self.back.fetch_add(back as u64, Ordering::Relaxed);
    }
}

/// Objects, counted.
struct Counted {
    below: Arc<dyn Objects>,
    count: Arc<Count>,
}

impl Objects for Counted {
    fn place(&self, name: &str) -> String {
        self.below.place(name)
    }

    fn get<'a>(&'a self, name: &'a str) -> ObjectAnswer<'a, Option<Object>> {
        Box::pin(async move {
            let found = self.below.get(name).await?;
            self.count.asked(0, found.as_ref().map_or(0, |found| found.bytes.len()));
            Ok(found)
        })
    }

    fn put<'a>(&'a self, name: &'a str, bytes: &'a [u8], when: When<'a>) -> ObjectAnswer<'a, Option<String>> {
        self.count.asked(bytes.len(), 0);
        self.below.put(name, bytes, when)
    }

    fn list<'a>(&'a self, prefix: &'a str) -> ObjectAnswer<'a, Vec<String>> {
        Box::pin(async move {
            let names = self.below.list(prefix).await?;
            self.count.asked(0, names.iter().map(String::len).sum());
            Ok(names)
        })
    }

    fn remove<'a>(&'a self, names: &'a [String]) -> ObjectAnswer<'a, ()> {
        self.count.asked(0, 0);
        self.below.remove(names)
    }

    fn get_chosen<'a>(
        &'a self,
        prefix: &'a str,
        after: &'a str,
        choose: &'a Choose<'a>,
    ) -> ObjectAnswer<'a, Vec<(String, Vec<u8>)>> {
        Box::pin(async move {
            if !self.asks_for_each() {
                let found = self.below.get_chosen(prefix, after, choose).await?;
                self.count.asked(0, found.iter().map(|(_, bytes)| bytes.len()).sum());
                return Ok(found);
            }
            // One by one, so that each is counted.
            let names: Vec<String> =
                self.list(prefix).await?.into_iter().filter(|name| name.as_str() > after).collect();
            let gets = choose(&names).into_iter().map(|name| async move {
                let found = self.get(&name).await?;
                found.map(|found| (name, found.bytes)).ok_or(ObjectError::Unanswered("it is gone".to_owned()))
            });
            futures::future::try_join_all(gets).await
        })
    }

    fn asks_for_each(&self) -> bool {
        self.below.asks_for_each()
    }
}

fn media(folder: &std::path::Path) -> Vec<Medium> {
    let local = || Arc::new(LocalFolder::new(folder.join("home"))) as Arc<dyn Backend>;
    let mut all = vec![Medium {
        name: "local folder",
        near: local(),
        far: local(),
        count: Arc::default(),
        remote: false,
    }];
    let corner = format!("bench_{}", std::process::id());
    let mut add = |name: &'static str, socket: &str, address: &dyn Fn(&str) -> String| {
        let count = Arc::<Count>::default();
        let far = objects_at(&address(&proxy(socket)));
        let far = Arc::new(ObjectLog::new(Counted { below: far, count: Arc::clone(&count) }));
        let near = Arc::new(ObjectLog::new(objects_at(&address(socket))));
        all.push(Medium { name, near, far, count, remote: true });
    };
    if let Some(server) = testenv::services::postgres() {
        add("PostgreSQL", &format!("127.0.0.1:{}", server.port), &|socket| {
            format!("postgres://test@{socket}/postgres?schema={corner}&sslmode=disable")
        });
    }
    if let Some(server) = testenv::services::s3() {
        add("S3 (versitygw)", server.endpoint.trim_start_matches("http://"), &|socket| {
            format!("s3://{S3_BUCKET}/{corner}?endpoint=http://{socket}&region=us-east-1")
        });
    }
    if let Some(plane) = testenv::shared() {
        let text = std::fs::read_to_string(plane.kubeconfig()).unwrap_or_default();
        let own = text.split("https://").nth(1).and_then(|rest| rest.split(['"', '\n', '/', ' ']).next());
        let own = own.unwrap_or_default().to_owned();
        let file = |socket: &str| {
            let copy = std::env::temp_dir().join(format!("{corner}-{}", socket.replace(':', "-")));
            // A file that cannot be written is told by the connection that needs it.
            let _ = std::fs::write(&copy, text.replace(own.as_str(), socket));
            format!("kubernetes://default/{corner}?kubeconfig={}", copy.display())
        };
        add("Kubernetes", &own, &file);
    }
    all
}

fn objects_at(address: &str) -> Arc<dyn Objects> {
    let pair = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    let variables =
        [("AWS_ACCESS_KEY_ID", S3_LOGIN.0), ("AWS_SECRET_ACCESS_KEY", S3_LOGIN.1)].map(pair).to_vec();
    let around = Surroundings { variables, patience: Patience::default(), ..Surroundings::default() };
    let address = Address::parse(address).unwrap_or_else(|error| panic!("{error}"));
    objects(&address, &around).unwrap_or_else(|error| panic!("{error}"))
}

/// A way to a server that takes 5 ms for every message of the client.
fn proxy(target: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap_or_else(|error| panic!("no port: {error}"));
    let address = listener.local_addr().map(|address| address.to_string()).unwrap_or_default();
    let target = target.to_owned();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(&target) else { continue };
            let _ = client.set_nodelay(true).and_then(|()| server.set_nodelay(true));
            if let (Ok(back), Ok(front)) = (server.try_clone(), client.try_clone()) {
                std::thread::spawn(move || pass(client, server, LATENCY));
                std::thread::spawn(move || pass(back, front, Duration::ZERO));
            }
        }
    });
    address
}

fn pass(mut from: TcpStream, mut to: TcpStream, latency: Duration) {
    let mut bytes = vec![0; 1 << 20];
    while let Ok(n @ 1..) = from.read(&mut bytes) {
        std::thread::sleep(latency);
        if to.write_all(&bytes[..n]).is_err() {
            break;
        }
    }
    // The other side may be gone already.
    let _ = to.shutdown(std::net::Shutdown::Both);
}

struct Bench {
    medium: Medium,
    scale: usize,
}

fn scope(stack: &str) -> Scope {
    Scope { project: "bench".into(), stack: stack.into(), workspace: "default".into() }
}

fn now() -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000)
}

fn owner() -> Owner {
    Owner { user: "bench".into(), host: "bench".into(), pid: 1, started: 0, command: "bench".into() }
}

fn record(number: usize, release: ReleaseNo) -> Outcome {
    let name = format!("settings-{number}");
    Outcome::Recorded(Box::new(ResourceRecord {
        key: ResourceKey::new(ResourceId::from_parts(["v1", "ConfigMap", "bench", &name])),
        kind: ResourceType::kubernetes(),
        attributes: json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "bench"},
            "data": {"mode": "production", "number": number.to_string(), "text": "x".repeat(200)},
        })
        .into(),
        depends_on: Vec::new(),
        references: Vec::new(),
        extensions: serde_json::Map::new(),
        uid: Some(format!("00000000-0000-0000-0000-{number:012}")),
        release,
        imported: false,
        kept: None,
        deposed: Vec::new(),
    }))
}

/// What the plan says about a resource that is to be made.
fn step(number: usize) -> Step {
    let Outcome::Recorded(record) = record(number, ReleaseNo(0)) else { unreachable!("it is recorded") };
    Step {
        key: record.key,
        kind: record.kind,
        action: Action::Create,
        reason: Reason::New,
        drift: false,
        changes: Vec::new(),
        warnings: Vec::new(),
        lost: None,
        desired: Some(record.attributes),
        unknown: Vec::new(),
        before: None,
        live_version: None,
        live_uid: None,
        after: Vec::new(),
        depends_on: Vec::new(),
        references: Vec::new(),
        extensions: serde_json::Map::new(),
        planned: None,
        blob: None,
        create_first: false,
        once: false,
        deposed: Vec::new(),
        rerecord: None,
        aliases: Vec::new(),
    }
}

/// A release that records some resources in groups.
fn release(session: &mut Session, numbers: std::ops::Range<usize>) -> Result<(), String> {
    let told = |error: kusion_store::StoreError| error.to_string();
    let state = session.state();
    let plan = PlanDraft {
        schema: PLAN_SCHEMA.into(),
        engine: "bench".into(),
        scope: state.scope.clone(),
        lineage: state.lineage.clone(),
        serial: state.serial,
        spec_digest: String::new(),
        rules: Vec::new(),
        steps: numbers.clone().map(step).collect(),
        hash: String::new(),
    };
    let plan = plan.sealed().map_err(|error| error.to_string())?;
    let no = wait(session.begin(&plan, Default::default(), now())).map_err(told)?;
    let all: Vec<usize> = numbers.collect();
    for group in all.chunks(GROUP) {
        let outcomes = group.iter().map(|number| record(*number, no)).collect();
        wait(session.record(no, outcomes)).map_err(told)?;
    }
    let end = ReleaseEnd {
        phase: Phase::Succeeded,
        ended: now(),
        tally: Tally { create: all.len(), ..Tally::default() },
        message: None,
        outputs: BTreeMap::new(),
    };
    wait(session.end(no, end)).map_err(told)
}

impl Bench {
    fn size(&self, full: usize) -> usize {
        (full * self.scale / 100).max(10)
    }

    fn all(&self) -> Result<bool, String> {
        println!("{}", self.medium.name);
        let mut good = self.one_change()?;
        good &= self.creates()?;
        Ok(good & self.opening()?)
    }

    fn store(&self, backend: &Arc<dyn Backend>, stack: &str) -> StackStore {
        Store::new(Arc::clone(backend)).stack(&scope(stack))
    }

    fn session(&self, backend: &Arc<dyn Backend>, stack: &str) -> Result<Session, String> {
        let store = self.store(backend, stack);
        wait(store.acquire(owner(), now(), &|_| Liveness::Dead)).map_err(|error| error.to_string())
    }

    fn fill(&self, stack: &str, resources: usize, releases: usize) -> Result<(), String> {
        let mut session = self.session(&self.medium.near, stack)?;
        release(&mut session, 0..resources)?;
        for number in 1..releases {
            release(&mut session, number..number + 1)?;
        }
        wait(session.close(now())).map_err(|error| error.to_string())
    }

    fn row(&self, name: &str, took: Duration, asked: [u64; 3]) {
        let [requests, out, back] = asked;
        println!("  {name:<42} {:>9.1} {requests:>9} {out:>11} {back:>11}", took.as_secs_f64() * 1e3);
    }

    /// One change in a stack of ten times the resources costs the same.
    fn one_change(&self) -> Result<bool, String> {
        let mut costs = Vec::new();
        for full in [1_000, 10_000] {
            let (n, stack) = (self.size(full), format!("change-{full}"));
            self.fill(&stack, n, 1)?;
            let mut session = self.session(&self.medium.far, &stack)?;
            self.medium.count.take();
            let log = || self.store(&self.medium.near, &stack).place().join("log");
            let before = std::fs::metadata(log()).map_or(0, |file| file.len());
            let begun = Instant::now();
            release(&mut session, 0..1)?;
            let took = begun.elapsed();
            let mut asked = self.medium.count.take();
            asked[1] += std::fs::metadata(log()).map_or(0, |file| file.len()) - before;
            self.row(&format!("one change of {n}, three records"), took, asked);
            costs.push(asked);
            wait(session.close(now())).map_err(|error| error.to_string())?;
        }
        let same = costs[1][1] <= costs[0][1] + 200 && costs[1][1] < 20_000;
        let lean = costs[1][2] < 4_000;
        println!(
            "  bytes written do not grow: {}; no more than the tail is read: {}",
            verdict(same),
            verdict(lean)
        );
        Ok(same && lean)
    }

    /// The state of a run that creates 3,000 resources: from the lock to giving it back.
    fn creates(&self) -> Result<bool, String> {
        let n = self.size(3_000);
        self.fill("creates", 1, 1)?;
        self.medium.count.take();
        let begun = Instant::now();
        let mut session = self.session(&self.medium.far, "creates")?;
        release(&mut session, 0..n)?;
        wait(session.close(now())).map_err(|error| error.to_string())?;
        let took = begun.elapsed();
        self.row(&format!("{n} creates, all of their state"), took, self.medium.count.take());
        let run = n as f64 / CREATES_PER_SECOND;
        let share = took.as_secs_f64() / run;
        let good = share <= 0.02;
        println!("  share of a run of {run:.1} s: {:.2} % (limit 2): {}", share * 100.0, verdict(good));
        Ok(good)
    }

    fn opening(&self) -> Result<bool, String> {
        let (resources, releases) = (self.size(10_000), self.size(1_000));
        self.fill("opening", resources, releases)?;
        let store = self.store(&self.medium.far, "opening");
        let (mut best, mut asked) = (Duration::MAX, [0; 3]);
        for _ in 0..3 {
            self.medium.count.take();
            let begun = Instant::now();
            // Fresh keys each time: a process opens a state once.
            let state =
                wait(self.store(&self.medium.far, "opening").read()).map_err(|error| error.to_string())?;
            best = best.min(begun.elapsed());
            asked = self.medium.count.take();
            if state.records.len() != resources || state.releases.len() != releases {
                return Err(format!("{} opens as something else", store.place().display()));
            }
        }
        self.row(&format!("open {resources} resources, {releases} releases"), best, asked);
        let good = match self.medium.remote {
            true => asked[0] <= 5,
            false => best <= Duration::from_millis(100),
        };
        let limit = if self.medium.remote { "5 requests" } else { "100 ms" };
        println!("  limit {limit}: {}", verdict(good));
        Ok(good)
    }
}
