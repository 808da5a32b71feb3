//! An OpenAI-compatible server for multimodal models, with a pruning budget per request.
#![forbid(unsafe_code)]

pub mod auth;
pub mod backend;
pub mod config;
pub mod error;
pub mod events;
pub mod host;
pub mod media;
pub mod names;
pub mod request_id;
pub mod wire;
