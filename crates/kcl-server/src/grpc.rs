//! gRPC: tonic does the framing, messages stay bytes.

use bytes::{Buf, BufMut, Bytes};
use kcl_api::{Encoding, Reason};
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::{Code, Request, Response, Status};

use crate::work::Worker;

/// Bytes in, bytes out: the API encodes and decodes itself.
#[derive(Clone, Copy, Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Raw;
    type Decoder = Raw;

    fn encoder(&mut self) -> Raw {
        Raw
    }

    fn decoder(&mut self) -> Raw {
        Raw
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        out.put(item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}

/// Answers a call: the path is `/PACKAGE.SERVICE/METHOD`.
pub(crate) async fn answer<B>(
    worker: Worker,
    max_body: usize,
    request: http::Request<B>,
) -> http::Response<tonic::body::Body>
where
    B: http_body_util::BodyExt<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
{
    let method = request.uri().path().trim_start_matches('/').to_owned();
    let service = tower::service_fn(move |request: Request<Bytes>| {
        let (worker, method) = (worker.clone(), method.clone());
        async move {
            let answer = worker.call(method, Encoding::Protobuf, request.into_inner()).await;
            answer.map(|bytes| Response::new(Bytes::from(bytes))).map_err(|failure| {
                let code = match failure.reason {
                    Reason::UnknownMethod => Code::Unimplemented,
                    Reason::Undecodable => Code::InvalidArgument,
                    Reason::Wrong => Code::Unknown,
                    Reason::Stopped => Code::DeadlineExceeded,
                    Reason::Bug => Code::Internal,
                };
                Status::new(code, failure.message)
            })
        }
    });
    let mut grpc = tonic::server::Grpc::new(Raw)
        .max_decoding_message_size(max_body)
        .max_encoding_message_size(usize::MAX);
    grpc.unary(service, request).await
}
