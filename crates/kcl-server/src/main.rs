//! `kcl-server`, the program behind `kcl server`: the API over gRPC, JSON-RPC and REST.
//!
//! `flags.rs` reads the call, `http.rs` listens, `guard.rs` says who may ask, `grpc.rs`, `rest.rs` and `jsonrpc.rs` are the carriers,
//! `stdio.rs` is JSON-RPC on standard streams, `work.rs` runs a call within its budget, `say.rs` keeps secrets out of what is said. No
//! carrier knows a method.
#![allow(clippy::print_stdout)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod flags;
mod grpc;
mod guard;
mod http;
mod jsonrpc;
mod rest;
mod say;
mod stdio;
mod work;

use std::process::ExitCode;

use flags::{Flags, USAGE, Where};

fn main() -> ExitCode {
    say::install();
    let words: Result<Vec<String>, _> =
        std::env::args_os().skip(1).map(std::ffi::OsString::into_string).collect();
    let words = match words {
        Ok(words) => words,
        Err(word) => {
            let help = "help: `kcl server --help` lists the flags";
            say::err(&format!("error: {} is not UTF-8 text\n{help}", word.display()));
            return ExitCode::FAILURE;
        }
    };
    if words.iter().any(|word| word == "-h" || word == "--help") {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    match Flags::read(&words).and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            say::err(&format!("error: {message}\nhelp: `kcl server --help` lists the flags"));
            ExitCode::FAILURE
        }
    }
}

fn run(flags: Flags) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        // One more writes answers to standard output.
        .max_blocking_threads(flags.jobs + 1)
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start: {error}"))?;
    let worker = work::Worker::new(&flags);
    let result = runtime.block_on(async {
        match &flags.place {
            Where::Stdio => stdio::serve(worker, flags.max_body).await,
            Where::Tcp(address) => http::serve_tcp(*address, worker, &flags).await,
            Where::Unix(path) => http::serve_unix(path, worker, &flags).await,
        }
    });
    // A run that does not end must not keep the process.
    runtime.shutdown_background();
    result
}
