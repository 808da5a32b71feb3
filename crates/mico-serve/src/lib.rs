//! An OpenAI-compatible server for multimodal models, with a pruning budget per request.
//!
//! The way of a request: `server` (connections and their limits), `service` (Host, key, log), `routes`, `chat` (body to
//! job), a [`backend::Backend`] (the model), `sse` or a whole response. [`run::run`] is all of it.
//!
//! What it is not: it terminates no TLS and speaks no HTTP/2 (a proxy does), serves one model per process, and stores
//! nothing.
#![forbid(unsafe_code)]

pub mod app;
pub mod auth;
pub mod backend;
mod body;
mod chat;
pub mod config;
pub mod engine;
pub mod error;
pub mod events;
pub mod host;
pub mod media;
pub mod metrics;
pub mod mock;
pub mod names;
pub mod openapi;
mod outcome;
mod playground;
pub mod request_id;
pub mod routes;
pub mod run;
pub mod server;
pub mod service;
mod sse;
pub mod version;
pub mod wire;
