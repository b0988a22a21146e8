#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kusion_media::fuzz_address(bytes));
