//! The way of an answer from the thread that computes to the connection that waits for it.
//!
//! One side must never block and the other must never occupy a thread, so this is neither a channel for threads nor
//! one for tasks: the sender is told when there is room by a waker of its own, the receiver polls.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::backend::{Outcome, Piece};
use crate::error::ServeError;

/// Events on the way to one client before its request waits for it.
pub const EVENTS_ON_THE_WAY: usize = 64;

/// Something that happened to a request.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The request left the queue and is being worked on.
    Admitted {
        /// How long it waited.
        queued: Duration,
    },
    /// A part of the answer.
    Piece(Piece),
    /// The last event: the answer, or why there is none.
    End(Box<Result<Outcome, ServeError>>),
}

/// Why an event was not taken.
#[derive(Debug, Clone, PartialEq)]
pub enum Unsent {
    /// There is no room; the event comes back, and the waker is woken once there is.
    Full(Event),
    /// Nobody reads any more.
    Closed,
}

#[derive(Debug, Default)]
struct Queue {
    events: VecDeque<Event>,
    capacity: usize,
    ended: bool,
    closed: bool,
    sender: Option<Waker>,
    receiver: Option<Waker>,
}

type Shared = Arc<Mutex<Queue>>;

fn lock(shared: &Shared) -> MutexGuard<'_, Queue> {
    // Every change is a single assignment, so a panic leaves nothing half done.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Both ends, with room for `capacity` events; the end needs none.
pub fn events(capacity: usize) -> (EventSender, EventReceiver) {
    let shared = Arc::new(Mutex::new(Queue { capacity: capacity.max(1), ..Queue::default() }));
    (EventSender(Arc::clone(&shared)), EventReceiver(shared))
}

/// The computing side.
#[derive(Debug)]
pub struct EventSender(Shared);

impl EventSender {
    /// Hands an event over, or gives it back if there is no room, and wakes `waker` when there is.
    pub fn offer(&self, event: Event, waker: &Waker) -> Result<(), Unsent> {
        let mut queue = lock(&self.0);
        if queue.closed {
            return Err(Unsent::Closed);
        }
        if queue.events.len() >= queue.capacity {
            queue.sender = Some(waker.clone());
            return Err(Unsent::Full(event));
        }
        queue.events.push_back(event);
        wake(queue);
        Ok(())
    }

    /// Hands over how the request ended. There is always room for it.
    pub fn end(self, result: Result<Outcome, ServeError>) {
        let mut queue = lock(&self.0);
        queue.events.push_back(Event::End(Box::new(result)));
        queue.ended = true;
        wake(queue);
    }

    /// Whether nobody reads any more.
    pub fn is_closed(&self) -> bool {
        lock(&self.0).closed
    }
}

impl Drop for EventSender {
    /// A request that ends without saying how has failed.
    fn drop(&mut self) {
        let mut queue = lock(&self.0);
        if !queue.ended {
            let lost = ServeError::internal("the request was dropped without an end");
            queue.events.push_back(Event::End(Box::new(Err(lost))));
            queue.ended = true;
            wake(queue);
        }
    }
}

fn wake(mut queue: MutexGuard<'_, Queue>) {
    let receiver = queue.receiver.take();
    drop(queue);
    if let Some(receiver) = receiver {
        receiver.wake();
    }
}

/// The connection's side. Dropping it tells the sender that nobody reads any more.
#[derive(Debug)]
pub struct EventReceiver(Shared);

impl EventReceiver {
    /// The next event, if there is one; `None` after the end.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let mut queue = lock(&self.0);
        let Some(event) = queue.events.pop_front() else {
            if queue.ended {
                return Poll::Ready(None);
            }
            queue.receiver = Some(context.waker().clone());
            return Poll::Pending;
        };
        let sender = queue.sender.take();
        drop(queue);
        if let Some(sender) = sender {
            sender.wake();
        }
        Poll::Ready(Some(event))
    }

    /// Waits for the next event; `None` after the end.
    pub async fn next(&mut self) -> Option<Event> {
        poll_fn(|context| self.poll_next(context)).await
    }
}

impl Drop for EventReceiver {
    fn drop(&mut self) {
        let mut queue = lock(&self.0);
        queue.closed = true;
        queue.events.clear();
        let sender = queue.sender.take();
        drop(queue);
        if let Some(sender) = sender {
            sender.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Counted(AtomicUsize);

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn piece(text: &str) -> Event {
        Event::Piece(Piece::text(text))
    }

    #[test]
    fn a_full_queue_gives_the_event_back_and_wakes_when_there_is_room() {
        let (sender, mut receiver) = events(1);
        let counted = Arc::new(Counted::default());
        let waker = Waker::from(Arc::clone(&counted));
        let mut context = Context::from_waker(&waker);
        sender.offer(piece("a"), &waker).unwrap();
        assert_eq!(sender.offer(piece("b"), &waker), Err(Unsent::Full(piece("b"))));
        assert_eq!(receiver.poll_next(&mut context), Poll::Ready(Some(piece("a"))));
        assert_eq!(counted.0.load(Ordering::SeqCst), 1);
        assert_eq!(receiver.poll_next(&mut context), Poll::Pending);
        sender.offer(piece("b"), &waker).unwrap();
        assert_eq!(counted.0.load(Ordering::SeqCst), 2);
        drop(receiver);
        assert_eq!(sender.offer(piece("c"), &waker), Err(Unsent::Closed));
        assert!(sender.is_closed());
    }

    #[test]
    fn a_lost_sender_is_an_internal_error_and_not_a_hang() {
        let (sender, mut receiver) = events(1);
        drop(sender);
        let mut context = Context::from_waker(Waker::noop());
        let Poll::Ready(Some(Event::End(end))) = receiver.poll_next(&mut context) else {
            panic!("no end");
        };
        assert_eq!(end.unwrap_err().code, crate::error::Code::InternalError);
        assert_eq!(receiver.poll_next(&mut context), Poll::Ready(None));
    }
}
