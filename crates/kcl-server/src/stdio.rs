//! JSON-RPC on standard input and output, one object per line. Answers come when they are ready; their ids tell which is which.

use std::io::{BufRead, Read, Write};

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::jsonrpc;
use crate::work::Worker;

/// A line of the input, or why there is none.
type Line = Result<Vec<u8>, String>;

/// Answers until the input ends and everything is answered, or nobody reads any more.
pub(crate) async fn serve(worker: Worker, max_line: usize) -> Result<(), String> {
    // Reading and writing block, so each has a thread; the reader's ends with the process.
    let (lines_in, mut lines) = mpsc::channel::<Line>(64);
    std::thread::spawn(move || read(&lines_in, max_line));
    let (answers, answers_out) = mpsc::channel::<String>(64);
    let writer = tokio::task::spawn_blocking(move || write(answers_out));
    let mut running = JoinSet::new();
    let result = loop {
        tokio::select! {
            // If the writer is gone, nobody reads: what runs is stopped with `running`.
            () = answers.closed() => return Ok(()),
            line = lines.recv() => match line {
                None => break Ok(()),
                Some(Err(why)) => break Err(why),
                Some(Ok(line)) => {
                    while running.try_join_next().is_some() {}
                    let (worker, answers) = (worker.clone(), answers.clone());
                    running.spawn(async move {
                        if let Some(answer) = jsonrpc::answer(&worker, &line).await {
                            let _ = answers.send(answer).await;
                        }
                    });
                }
            }
        }
    };
    while running.join_next().await.is_some() {}
    drop(answers);
    let _ = writer.await;
    result
}

fn read(lines: &mpsc::Sender<Line>, max_line: usize) {
    let mut input = std::io::stdin().lock();
    loop {
        let mut line = Vec::new();
        let found = match input.by_ref().take(max_line as u64 + 1).read_until(b'\n', &mut line) {
            Ok(0) => return,
            Ok(_) if line.len() > max_line => {
                Err(format!("a line has at most {} MiB (--max-body)", max_line >> 20))
            }
            Ok(_) if line.iter().all(u8::is_ascii_whitespace) => continue,
            Ok(_) => Ok(line),
            Err(error) => Err(format!("cannot read standard input: {error}")),
        };
        let last = found.is_err();
        if lines.blocking_send(found).is_err() || last {
            return;
        }
    }
}

fn write(mut answers: mpsc::Receiver<String>) {
    let mut output = std::io::stdout().lock();
    while let Some(mut answer) = answers.blocking_recv() {
        answer.push('\n');
        if output.write_all(answer.as_bytes()).and_then(|()| output.flush()).is_err() {
            return;
        }
    }
}
