//! The channel protocols: the first byte of a message says which stream it belongs to.

use std::io::Result;

use sandbox_world::api::talk::{Exec, Forward, exit_status, failed_status};
use tokio::io::{AsyncRead, AsyncWrite};

use super::socket::{PIECE, Socket};

const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const ERROR: u8 = 3;
/// Closes the channel that the next byte names (v5).
const HALF_CLOSE: u8 = 255;

/// What a command may be given to read.
const MOST_STDIN: usize = 4 << 20;

/// Runs a command: its input is read to the end, because what runs here answers only then.
pub(super) async fn exec<S>(socket: &mut Socket<S>, exec: &Exec) -> Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let inside = match &exec.inside {
        Ok(inside) => inside,
        Err(why) => return say(socket, ERROR, failed_status(why).to_string().as_bytes()).await,
    };
    let reads = exec.stdin && matches!(exec.command.as_slice(), [one] if reads_input(one));
    let input = match reads {
        true => stdin(socket, exec.tty).await?,
        false => Vec::new(),
    };
    let mut ran = inside.run(&exec.command, &input);
    if exec.tty {
        // A terminal has one stream, and its lines end with a return.
        ran.out.extend(std::mem::take(&mut ran.err));
        ran.out = String::from_utf8_lossy(&ran.out).replace('\n', "\r\n").into_bytes();
    }
    for (wanted, channel, bytes) in [(exec.stdout, STDOUT, &ran.out), (exec.stderr, STDERR, &ran.err)] {
        for piece in bytes.chunks(PIECE).filter(|_| wanted) {
            say(socket, channel, piece).await?;
        }
    }
    say(socket, ERROR, exit_status(ran.code).to_string().as_bytes()).await
}

fn reads_input(program: &str) -> bool {
    matches!(program.rsplit('/').next(), Some("cat" | "sh" | "bash" | "ash"))
}

/// All that is typed; at a terminal until a control-D, a control-C or a line `exit`.
async fn stdin<S>(socket: &mut Socket<S>, tty: bool) -> Result<Vec<u8>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut input = Vec::new();
    while let Some(message) = socket.next().await? {
        match message.split_first() {
            Some((&STDIN, bytes)) if input.len() + bytes.len() <= MOST_STDIN => {
                if tty {
                    say(socket, STDOUT, String::from_utf8_lossy(bytes).replace('\r', "\r\n").as_bytes())
                        .await?;
                }
                input.extend(bytes.iter().map(|byte| if tty && *byte == b'\r' { b'\n' } else { *byte }));
                let over = input.iter().any(|byte| matches!(byte, 3 | 4)) || input.ends_with(b"exit\n");
                if tty && over {
                    input.retain(|byte| !matches!(byte, 3 | 4));
                    return Ok(input);
                }
            }
            Some((&HALF_CLOSE, [STDIN, ..])) => return Ok(input),
            _ => {}
        }
    }
    Ok(input)
}

/// Forwards ports: two channels for each, data and error, which begin with the port's number.
pub(super) async fn forward<S>(socket: &mut Socket<S>, forward: &Forward) -> Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut pages = Vec::new();
    for (at, port) in forward.ports.iter().enumerate() {
        let (data, error) = (at as u8 * 2, at as u8 * 2 + 1);
        for channel in [data, error] {
            say(socket, channel, &port.to_le_bytes()).await?;
        }
        match forward.connect(*port) {
            Ok(page) => pages.push(Some(page)),
            Err(why) => {
                say(socket, error, why.as_bytes()).await?;
                pages.push(None);
            }
        }
    }
    while pages.iter().any(Option::is_some) {
        let Some(message) = socket.next().await? else { return Ok(()) };
        let Some((channel, bytes)) = message.split_first() else { continue };
        let Some(slot) = pages.get_mut(usize::from(channel / 2)) else { continue };
        let Some((answer, over)) = slot.as_mut().map(|page| page.feed(bytes)) else { continue };
        for piece in answer.chunks(PIECE) {
            say(socket, *channel, piece).await?;
        }
        if over {
            *slot = None;
        }
    }
    Ok(())
}

async fn say<S>(socket: &mut Socket<S>, channel: u8, bytes: &[u8]) -> Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    socket.send([&[channel], bytes].concat()).await
}
