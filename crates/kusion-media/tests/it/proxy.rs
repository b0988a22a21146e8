//! A proxy that spoils one exchange between a client and a server, and lets all others through.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What happens to the exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The request does not arrive.
    Drop,
    /// Nothing arrives, and nobody says so.
    Stall,
    /// Half of the answer comes.
    Half,
    /// The server does it, and the answer is lost.
    Lost,
}

pub(crate) const FAULTS: [Fault; 4] = [Fault::Drop, Fault::Stall, Fault::Half, Fault::Lost];

/// Longer than a client waits.
const STALL: Duration = Duration::from_millis(2500);

#[derive(Clone)]
pub(crate) struct Proxy {
    pub(crate) socket: String,
    inner: Arc<Inner>,
}

struct Inner {
    target: String,
    /// How many more requests go through before the fault.
    left: AtomicI64,
    fault: Mutex<Fault>,
    n_requests: AtomicU64,
}

impl Proxy {
    pub(crate) fn start(target: &str) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = listener.local_addr().unwrap().to_string();
        let inner = Arc::new(Inner {
            target: target.to_owned(),
            left: AtomicI64::new(i64::MAX),
            fault: Mutex::new(Fault::Drop),
            n_requests: AtomicU64::new(0),
        });
        let shared = Arc::clone(&inner);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let inner = Arc::clone(&shared);
                std::thread::spawn(move || inner.serve(client));
            }
        });
        Proxy { socket, inner }
    }

    /// Spoils the exchange that comes after so many others.
    pub(crate) fn arm(&self, after: i64, fault: Fault) {
        *self.inner.fault.lock().unwrap() = fault;
        self.inner.left.store(after, Ordering::SeqCst);
    }

    /// Whether the fault has happened.
    pub(crate) fn has_struck(&self) -> bool {
        self.inner.left.load(Ordering::SeqCst) < 0
    }

    pub(crate) fn n_requests(&self) -> u64 {
        self.inner.n_requests.load(Ordering::SeqCst)
    }
}

impl Inner {
    /// One connection: what the client sends is counted, what the server answers may be spoiled.
    fn serve(&self, mut client: TcpStream) {
        let Ok(mut server) = TcpStream::connect(&self.target) else { return };
        for stream in [&client, &server] {
            stream.set_nodelay(true).unwrap();
        }
        let (mut back, mut front) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        let spoiled = Arc::new(Mutex::new(None));
        let seen = Arc::clone(&spoiled);
        let answers = std::thread::spawn(move || {
            let mut bytes = vec![0; 64 * 1024];
            while let Ok(n @ 1..) = back.read(&mut bytes) {
                let fault = *seen.lock().unwrap();
                let sent = match fault {
                    Some(Fault::Lost) => &bytes[..0],
                    Some(Fault::Half) => &bytes[..n / 2],
                    _ => &bytes[..n],
                };
                if front.write_all(sent).is_err() || fault.is_some() {
                    break;
                }
            }
            // The other side may be gone already.
            let _ = front.shutdown(Shutdown::Both);
            let _ = back.shutdown(Shutdown::Both);
        });
        let mut bytes = vec![0; 64 * 1024];
        while let Ok(n @ 1..) = client.read(&mut bytes) {
            self.n_requests.fetch_add(1, Ordering::SeqCst);
            if self.left.fetch_sub(1, Ordering::SeqCst) == 0 {
                let fault = *self.fault.lock().unwrap();
                match fault {
                    Fault::Drop => break,
                    Fault::Stall => {
                        std::thread::sleep(STALL);
                        break;
                    }
                    Fault::Half | Fault::Lost => *spoiled.lock().unwrap() = Some(fault),
                }
            }
            if server.write_all(&bytes[..n]).is_err() {
                break;
            }
        }
        // Who waits for an answer gets it before the connection ends.
        let lost = spoiled.lock().unwrap().is_some();
        if !lost {
            let _ = client.shutdown(Shutdown::Both);
            let _ = server.shutdown(Shutdown::Both);
        }
        let _ = answers.join();
    }
}
