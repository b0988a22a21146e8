#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| testkit::fuzz_host::tf_handshake(bytes));
