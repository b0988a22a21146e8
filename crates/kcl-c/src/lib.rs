//! The API for C: `kcl_call`, `kcl_free`, `kcl_version`. The header is `include/kcl.h`.
//!
//! This is the only crate with unsafe code, and it does three unsafe things: it reads bytes that a caller points to, it gives away a
//! buffer, and it takes one back. There is no state, so any number of threads may call. A panic never crosses the border: the API
//! catches its own, and what is done around it cannot panic; `catch_unwind` stands here as well, because unwinding into C is undefined.

use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};

use kcl_api::{Budget, Encoding};

/// An answer. Whoever gets one gives it to `kcl_free`, once.
#[repr(C)]
pub struct KclAnswer {
    /// The bytes of the message or, if `status` is not 0, a sentence in UTF-8; never null. A zero byte follows the last one.
    pub data: *mut u8,
    /// How many bytes there are, without the zero.
    pub len: usize,
    /// 0: a message. 1: an error. 2: an error that is a bug of ours.
    pub status: i32,
}

/// Messages are JSON.
pub const KCL_JSON: i32 = 0;
/// Messages are Protocol Buffers.
pub const KCL_PROTOBUF: i32 = 1;

/// Calls a method of the API, for instance `KclService.ExecProgram`, with a message of `len` bytes; returns its answer.
///
/// # Safety
/// `method` points to text that ends with a zero byte. `message` points to `len` bytes, or `len` is 0. Both stay as they are until the
/// call returns; nothing of them is kept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kcl_call(
    method: *const c_char,
    encoding: i32,
    message: *const u8,
    len: usize,
) -> KclAnswer {
    // SAFETY: the caller promises both pointers, as above; null is looked at first.
    let given = unsafe { given(method, message, len) };
    let answer = catch_unwind(AssertUnwindSafe(|| answer(given, encoding)));
    give(answer.unwrap_or_else(|_| (2, b"internal error: the call stopped unexpectedly".to_vec())))
}

/// Takes an answer back.
///
/// # Safety
/// The answer comes from `kcl_call` and was not given back before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kcl_free(answer: KclAnswer) {
    if !answer.data.is_null() {
        // SAFETY: `give` made the pointer of a boxed slice of `len + 1` bytes, and the caller gives it back once.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(answer.data, answer.len + 1)) });
    }
}

/// Returns the version of the library: a text that ends with a zero byte and lives as long as the process.
#[unsafe(no_mangle)]
pub extern "C" fn kcl_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The name and the message as slices.
///
/// # Safety
/// As for `kcl_call`.
unsafe fn given<'a>(method: *const c_char, message: *const u8, len: usize) -> Option<(&'a [u8], &'a [u8])> {
    if method.is_null() || message.is_null() && len > 0 || isize::try_from(len).is_err() {
        return None;
    }
    // SAFETY: not null, and the caller promises a zero byte at its end.
    let name = unsafe { std::ffi::CStr::from_ptr(method) }.to_bytes();
    // SAFETY: not null unless `len` is 0, no longer than a slice may be, and the caller promises so many bytes.
    let body = if len == 0 { &[][..] } else { unsafe { std::slice::from_raw_parts(message, len) } };
    Some((name, body))
}

fn answer(given: Option<(&[u8], &[u8])>, encoding: i32) -> (i32, Vec<u8>) {
    let wrong = |text: &str| (1, text.as_bytes().to_vec());
    let Some((name, body)) = given else { return wrong("a pointer is null") };
    let Ok(name) = std::str::from_utf8(name) else { return wrong("the name of the method is not UTF-8") };
    let encoding = match encoding {
        KCL_JSON => Encoding::Json,
        KCL_PROTOBUF => Encoding::Protobuf,
        _ => return wrong("the encoding is KCL_JSON or KCL_PROTOBUF"),
    };
    match kcl_api::call(name, encoding, body, &Budget::default()) {
        Ok(bytes) => (0, bytes),
        Err(failure) if failure.reason == kcl_api::Reason::Bug => (2, failure.message.into_bytes()),
        Err(failure) => (1, failure.message.into_bytes()),
    }
}

/// Gives bytes away, with a zero behind them.
fn give((status, mut bytes): (i32, Vec<u8>)) -> KclAnswer {
    let len = bytes.len();
    bytes.push(0);
    let data = Box::into_raw(bytes.into_boxed_slice()).cast::<u8>();
    KclAnswer { data, len, status }
}
