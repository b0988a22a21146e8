//! `kusion docs`: the book that is part of this program, in a browser, as a folder, or a page of it in the terminal.
//!
//! The site is served on loopback only, to whoever asks by a loopback name, and needs no network. `kusion docs WORDS`
//! prints the page that they name, or the pages that speak of them.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use base_file::How;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST, LOCATION};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kusion_book::{Hit, Page, book, find, site};
use serde_json::{Value, json};

use crate::input::cluster::tokio;
use crate::input::flags::{Arg, Given, flag};
use crate::views::failure::{Exit, Failure};
use crate::views::output::{Format, format_of, print, print_json};
use crate::views::style::Style;
use crate::views::table::table;

/// How many pages are listed, and how much of their lines.
const MOST: usize = 20;
const LONGEST: usize = 60;

pub(crate) fn flags() -> Vec<Arg> {
    vec![
        flag("folder", None, "DIR", "write the site there instead of serving it; it works from the disk"),
        flag("port", None, "PORT", "the port on 127.0.0.1; any free one unless it is given"),
        flag("no-open", None, "", "do not open a browser"),
        flag("output", Some('o'), "FORMAT", "text or json"),
    ]
}

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    let format = format_of(given)?;
    if !given.rest.is_empty() {
        return look_up(&given.rest.join(" "), format);
    }
    if let Some(folder) = given.last("folder") {
        return write(Path::new(&folder), format);
    }
    if format == Format::Json {
        let pages: Vec<Value> = book().iter().map(|page| entry(page, "", 0)).collect();
        return print_json(&json!({"schema": "kusion.io/docs/v1", "pages": pages}));
    }
    let port = match given.last("port") {
        None => 0,
        Some(word) => word.parse::<u16>().map_err(|_| {
            Failure::usage(format!("`{word}` is no port"))
                .next("a number up to 65535, for example --port 8000")
        })?,
    };
    tokio()?.block_on(serve(port, !given.has("no-open")))
}

fn entry(page: &Page, line: &str, number: usize) -> Value {
    let mut entry = json!({"path": page.path, "part": page.part, "title": page.title});
    if number > 0 {
        entry["line"] = json!({"number": number, "text": line});
    }
    entry
}

fn look_up(words: &str, format: Format) -> Result<(), Failure> {
    let hits = find(words);
    if format == Format::Json {
        let pages: Vec<Value> = hits.iter().map(|hit| entry(hit.page, &hit.line, hit.number)).collect();
        return print_json(&json!({"schema": "kusion.io/docs/v1", "pages": pages}));
    }
    match hits.as_slice() {
        [] => {
            let failure = Failure::usage(format!("no page of the book speaks of `{words}`"));
            Err(match base_diag::nearest(book().iter().map(Page::name), words) {
                Some(near) => failure.next(format!("did you mean `kusion docs {near}`?")),
                None => failure.next("kusion docs, and search there"),
            })
        }
        [one] => print(&one.page.plain()),
        several => print(&list(several)),
    }
}

fn list(hits: &[Hit]) -> String {
    let row = |hit: &Hit| {
        let line: String = hit.line.chars().take(LONGEST).collect();
        vec![hit.page.path.trim_end_matches(".md").to_owned(), hit.page.title.clone(), line]
    };
    let rows: Vec<Vec<String>> = hits.iter().take(MOST).map(row).collect();
    let more = match hits.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!("and {more} more; another word makes it fewer\n"),
    };
    table(&["PAGE", "TITLE", "LINE"], &rows, &Style::stdout())
        + &more
        + "\n`kusion docs PAGE` shows one of them.\n"
}

fn write(folder: &Path, format: Format) -> Result<(), Failure> {
    let files: Vec<_> = site().into_iter().map(|file| (folder.join(file.path), file.text)).collect();
    base_file::write_all(&files, How::Plain).map_err(|trouble| {
        Failure::usage("the book cannot be written")
            .cause(trouble.error.to_string())
            .place(trouble.path.display().to_string())
    })?;
    let first = folder.join("index.html").display().to_string();
    if format == Format::Json {
        return print_json(
            &json!({"schema": "kusion.io/docs-folder/v1", "files": files.len(), "index": first}),
        );
    }
    print(&format!("{} files; open {first}\n", files.len()))
}

/// Serves until somebody interrupts.
async fn serve(port: u16, open: bool) -> Result<(), Failure> {
    let listener = ::tokio::net::TcpListener::bind(("127.0.0.1", port)).await.map_err(|error| {
        Failure::usage(format!("the book cannot be served on 127.0.0.1:{port}"))
            .cause(error.to_string())
            .next("kusion docs without --port takes a free one")
    })?;
    let port = listener.local_addr().map_or(port, |address| address.port());
    let address = format!("http://127.0.0.1:{port}/");
    let files = site().into_iter().map(|file| (file.path, Bytes::from(file.text)));
    let files: Arc<BTreeMap<String, Bytes>> = Arc::new(files.collect());
    print(&format!("The book is at {address} until you press Ctrl-C.\n"))?;
    if open && std::io::IsTerminal::is_terminal(&std::io::stdout()) {
        open_browser(&address);
    }
    loop {
        ::tokio::select! {
            _ = ::tokio::signal::ctrl_c() => return Err(Failure::told(Exit::Done)),
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                let files = Arc::clone(&files);
                let answer = service_fn(move |request: Request<Incoming>| {
                    let response = response(&request, &files);
                    async move { Ok::<_, Infallible>(response) }
                });
                // A browser that goes away in the middle is no failure of ours.
                ::tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
            }
        }
    }
}

fn response<B>(request: &Request<B>, files: &BTreeMap<String, Bytes>) -> Response<Full<Bytes>> {
    let told = |status: StatusCode, text: &str| {
        let mut response = Response::new(Full::new(Bytes::from(format!("{text}\n"))));
        *response.status_mut() = status;
        response
    };
    // A page of the web that calls itself by another name has no business here.
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    if !["127.0.0.1", "localhost"].contains(&host.split(':').next().unwrap_or_default()) {
        return told(StatusCode::FORBIDDEN, "this is served to 127.0.0.1 only");
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = told(StatusCode::METHOD_NOT_ALLOWED, "pages can only be read");
        response.headers_mut().insert(ALLOW, http::HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    let path = request.uri().path().trim_start_matches('/');
    if path.is_empty() {
        let mut response = told(StatusCode::FOUND, "index.html");
        response.headers_mut().insert(LOCATION, http::HeaderValue::from_static("/index.html"));
        return response;
    }
    let Some(file) = files.get(path) else { return told(StatusCode::NOT_FOUND, "there is no such page") };
    let kind = match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    };
    let body = if request.method() == Method::HEAD { Bytes::new() } else { file.clone() };
    let mut response = Response::new(Full::new(body));
    response.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static(kind));
    response.headers_mut().insert(CACHE_CONTROL, http::HeaderValue::from_static("no-store"));
    response
}

/// Asks the desktop; without one the address that was printed must do.
fn open_browser(address: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if command.spawn().is_ok() {
        log::debug!("program {program} started");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(method: &str, path: &str, host: &str) -> (u16, String) {
        let files = site().into_iter().map(|file| (file.path, Bytes::from(file.text))).collect();
        let request = Request::builder().method(method).uri(path).header(HOST, host).body(()).unwrap();
        let response = response(&request, &files);
        let kind = response.headers().get(CONTENT_TYPE).map(|kind| kind.to_str().unwrap().to_owned());
        (response.status().as_u16(), kind.unwrap_or_default())
    }

    #[test]
    fn pages_are_served_to_this_machine_and_only_read() {
        let here = "127.0.0.1:8000";
        assert_eq!(ask("GET", "/index.html", here), (200, "text/html; charset=utf-8".into()));
        assert_eq!(ask("HEAD", "/assets/index.js", "localhost:1").0, 200);
        assert_eq!(ask("GET", "/", here).0, 302);
        assert_eq!(ask("GET", "/../../etc/passwd", here).0, 404);
        assert_eq!(ask("POST", "/index.html", here).0, 405);
        assert_eq!(ask("GET", "/index.html", "evil.example").0, 403);
    }

    #[test]
    fn words_find_pages() {
        assert!(list(&find("namespace")).contains("`kusion docs PAGE` shows one"));
        let failure = look_up("rolback", Format::Text).unwrap_err();
        assert!(format!("{failure:?}").contains("kusion docs rollback"));
    }
}
