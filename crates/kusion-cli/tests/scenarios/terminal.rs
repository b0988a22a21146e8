//! A command on a terminal: a pair of pseudo-terminals, answers typed at each prompt.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// What the prompt ends with.
const PROMPT: &str = "no: ";

/// Runs a command on a terminal of 100 columns; types an answer at each prompt. Returns its exit code and what was on the screen,
/// without the movements of the cursor.
pub(crate) fn run(mut command: Command, answers: &[String]) -> Result<(Option<i32>, String), String> {
    let told = |e: rustix::io::Errno| e.to_string();
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).map_err(told)?;
    grantpt(&master).map_err(told)?;
    unlockpt(&master).map_err(told)?;
    let name = ptsname(&master, Vec::new()).map_err(told)?;
    tcsetwinsize(&master, Winsize { ws_row: 40, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 }).map_err(told)?;
    let open = || File::options().read(true).write(true).open(name.to_string_lossy().as_ref());
    let slave = || open().map(|file| Stdio::from(OwnedFd::from(file))).map_err(|e| e.to_string());
    command.stdin(slave()?).stdout(slave()?).stderr(slave()?).env("TERM", "xterm");
    let mut child = command.spawn().map_err(|e| e.to_string())?;
    // The command holds copies of the terminal; without them here, its end is the end of the stream.
    drop(command);
    let mut master = File::from(master);
    let (mut screen, mut seen, mut answers) = (Vec::<u8>::new(), 0, answers.iter());
    let mut bytes = [0; 4096];
    // A terminal whose other side is closed is an error on Linux, not an end.
    while let Ok(count @ 1..) = master.read(&mut bytes) {
        // Decoded at the end: a letter may come in two parts.
        screen.extend_from_slice(&bytes[..count]);
        let is_prompt = |part: &[u8]| part == PROMPT.as_bytes();
        while let Some(at) = screen[seen..].windows(PROMPT.len()).position(is_prompt) {
            seen += at + PROMPT.len();
            let Some(answer) = answers.next() else { continue };
            master.write_all(format!("{answer}\n").as_bytes()).map_err(|e| e.to_string())?;
        }
    }
    let status = child.wait().map_err(|e| e.to_string())?;
    Ok((status.code(), plain(&String::from_utf8_lossy(&screen))))
}

/// Takes out escape sequences and returns of the carriage.
fn plain(screen: &str) -> String {
    let mut out = String::new();
    let mut letters = screen.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' if letters.peek() == Some(&'[') => {
                letters.next();
                while letters.next().is_some_and(|c| !c.is_ascii_alphabetic()) {}
            }
            '\r' => {}
            other => out.push(other),
        }
    }
    out
}
