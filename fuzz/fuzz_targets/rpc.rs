//! Questions of the API, in JSON and Protobuf: decoded or refused, and the same in both encodings.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kcl_api::judge_bytes(data));
