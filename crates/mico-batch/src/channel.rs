//! Events over a bounded channel between threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::task::Waker;

use crate::backend::Backend;
use crate::event::{End, Event, EventSink, Unsent};
use crate::signal::lock;

/// A sink and the events that come out of it. `capacity` events (at least one) can be on the way; the end
/// needs no room.
pub fn channel<B: Backend>(capacity: usize) -> (ChannelSink<B>, Events<B>) {
    let (sender, receiver) = mpsc::channel();
    let gate = Arc::new(Gate::default());
    let sink = ChannelSink { sender, gate: Arc::clone(&gate), capacity: capacity.max(1) };
    (sink, Events { receiver, gate })
}

/// What comes out of a channel.
pub enum Message<B: Backend> {
    /// Something happened to the request.
    Event(Event<B::Token>),
    /// The request ended; nothing follows.
    End(End<B>),
}

/// The channel itself is unbounded, so that the end always passes; this counts the events.
#[derive(Debug, Default)]
struct Gate {
    inside: AtomicUsize,
    /// Whether nobody takes events any more.
    closed: AtomicBool,
    /// Who is to be woken when there is room.
    waiting: Mutex<Option<Waker>>,
}

impl Gate {
    fn wake(&self) {
        if let Some(waker) = lock(&self.waiting).take() {
            waker.wake();
        }
    }
}

/// The scheduler's side of a channel.
pub struct ChannelSink<B: Backend> {
    sender: Sender<Message<B>>,
    gate: Arc<Gate>,
    capacity: usize,
}

impl<B: Backend> EventSink<B> for ChannelSink<B> {
    fn offer(&mut self, event: Event<B::Token>, waker: &Waker) -> Result<(), Unsent<B::Token>> {
        if self.gate.closed.load(Ordering::SeqCst) {
            return Err(Unsent::Closed);
        }
        let full = || self.gate.inside.load(Ordering::SeqCst) >= self.capacity;
        if full() {
            *lock(&self.gate.waiting) = Some(waker.clone());
            // Room may have been made before the waker was there to be found.
            if full() {
                return Err(Unsent::Full(event));
            }
        }
        self.gate.inside.fetch_add(1, Ordering::SeqCst);
        self.sender.send(Message::Event(event)).map_err(|_| Unsent::Closed)
    }

    fn end(self: Box<Self>, end: End<B>) {
        // A consumer that is gone does not want to know.
        let _ = self.sender.send(Message::End(end));
    }
}

/// The client's side of a channel, also an iterator. Dropping it cancels the request at its next event.
pub struct Events<B: Backend> {
    receiver: Receiver<Message<B>>,
    gate: Arc<Gate>,
}

impl<B: Backend> Events<B> {
    /// Waits for the next message; `None` after the end.
    pub fn recv(&self) -> Option<Message<B>> {
        self.receiver.recv().ok().map(|message| self.taken(message))
    }

    /// The next message if there is one.
    pub fn try_recv(&self) -> Option<Message<B>> {
        self.receiver.try_recv().ok().map(|message| self.taken(message))
    }

    /// Waits for the end and leaves out everything before it. `None` if the end has been received, or if
    /// the request was never accepted.
    pub fn wait(self) -> Option<End<B>> {
        let mut messages = self;
        messages.find_map(|message| match message {
            Message::End(end) => Some(end),
            Message::Event(_) => None,
        })
    }

    fn taken(&self, message: Message<B>) -> Message<B> {
        if matches!(message, Message::Event(_)) {
            self.gate.inside.fetch_sub(1, Ordering::SeqCst);
            self.gate.wake();
        }
        message
    }
}

impl<B: Backend> Drop for Events<B> {
    fn drop(&mut self) {
        self.gate.closed.store(true, Ordering::SeqCst);
        self.gate.wake();
    }
}

impl<B: Backend> Iterator for Events<B> {
    type Item = Message<B>;

    fn next(&mut self) -> Option<Message<B>> {
        self.recv()
    }
}
