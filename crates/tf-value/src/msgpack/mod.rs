//! MessagePack, as providers speak it: reading and writing are driven by the expected type.

mod read;
mod refined;
mod write;

pub use read::decode;
pub use write::encode;
