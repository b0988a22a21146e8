//! The media of the bench: real servers behind a line of 5 ms, with everything counted that is asked of them.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use kusion_media::{Address, Patience, Surroundings, objects};
use kusion_store::{
    Backend, Choose, LocalFolder, Object, ObjectAnswer, ObjectError, ObjectLog, Objects, When,
};
use testenv::services::{S3_BUCKET, S3_LOGIN};

/// What lies between client and server, on the way there.
const LATENCY: Duration = Duration::from_millis(5);

/// A medium, near (for filling it) and with latency (for measuring).
pub(super) struct Medium {
    pub(super) name: &'static str,
    pub(super) near: Arc<dyn Backend>,
    pub(super) far: Arc<dyn Backend>,
    pub(super) count: Arc<Count>,
    pub(super) remote: bool,
}

/// What was asked.
#[derive(Default)]
pub(super) struct Count {
    requests: AtomicU64,
    out: AtomicU64,
    back: AtomicU64,
    /// What was asked, in order, with the time since the first.
    told: Mutex<Vec<(Instant, String)>>,
}

impl Count {
    pub(super) fn take(&self) -> [u64; 3] {
        [&self.requests, &self.out, &self.back].map(|number| number.swap(0, Ordering::Relaxed))
    }

    /// Prints what was asked since the last time.
    pub(super) fn tell(&self, print: bool) {
        let told = std::mem::take(&mut *self.told.lock().unwrap_or_else(PoisonError::into_inner));
        let begun = told.first().map(|(at, _)| *at);
        for (at, what) in told.iter().filter(|_| print) {
            let since = begun.map_or(Duration::ZERO, |begun| at.duration_since(begun));
            println!("    {:>9.1} ms  {what}", since.as_secs_f64() * 1e3);
        }
    }

    fn asks(&self, what: &str, name: &str) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.push((Instant::now(), format!("{what} {name}")));
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
        self.count.asks("get", name);
        Box::pin(async move {
            let found = self.below.get(name).await?;
            self.count.asked(0, found.as_ref().map_or(0, |found| found.bytes.len()));
            Ok(found)
        })
    }

    fn put<'a>(&'a self, name: &'a str, bytes: &'a [u8], when: When<'a>) -> ObjectAnswer<'a, Option<String>> {
        self.count.asks("put", &format!("{name}, {} bytes", bytes.len()));
        self.count.asked(bytes.len(), 0);
        self.below.put(name, bytes, when)
    }

    fn list<'a>(&'a self, prefix: &'a str) -> ObjectAnswer<'a, Vec<String>> {
        self.count.asks("list", prefix);
        Box::pin(async move {
            let names = self.below.list(prefix).await?;
            self.count.asked(0, names.iter().map(String::len).sum());
            Ok(names)
        })
    }

    fn remove<'a>(&'a self, names: &'a [String]) -> ObjectAnswer<'a, ()> {
        self.count.asks("remove", names.first().map_or("", String::as_str));
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
                self.count.asks("get all of", prefix);
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

pub(super) fn media(folder: &std::path::Path) -> Vec<Medium> {
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

/// A line to a server: every byte of the client arrives 5 ms after it was sent, however many are on their way.
pub(super) fn proxy(target: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap_or_else(|error| panic!("no port: {error}"));
    let address = listener.local_addr().map(|address| address.to_string()).unwrap_or_default();
    let target = target.to_owned();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(&target) else { continue };
            // A line that joins small pieces would add a latency of its own.
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
    let (line, arrivals) = mpsc::channel::<(Instant, Vec<u8>)>();
    let other = to.try_clone();
    let end = std::thread::spawn(move || {
        for (sent, bytes) in arrivals {
            std::thread::sleep((sent + latency).saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
    });
    let mut bytes = vec![0; 1 << 18];
    while let Ok(n @ 1..) = from.read(&mut bytes) {
        if line.send((Instant::now(), bytes[..n].to_vec())).is_err() {
            break;
        }
    }
    drop(line);
    // The other side may be gone already.
    let _ = end.join();
    let _ = other.map(|to| to.shutdown(std::net::Shutdown::Both));
}
