//! Requests that wait, and which of them is next.
//!
//! Inside a client the oldest is next. Among clients it is the one with the fewest requests admitted;
//! of several, the one that was served longest ago. So a client that submits one request is served before
//! another's second, and every client gets its turn: those admitted end, and whoever has none admitted
//! moves forward with every turn of the others.
//!
//! A request that does not fit into the free memory is passed by others that do, but not for ever: the
//! first one that is passed is noted, is tried before all others from then on, and after a stated number of
//! passes nothing is admitted before it. The memory that ends of running requests set free is then its own.

use std::collections::{BTreeMap, VecDeque};

use crate::backend::Memory;
use crate::ticket::ClientId;

/// A waiting request.
pub(crate) struct Slot<T> {
    pub(crate) id: u64,
    pub(crate) memory: Memory,
    pub(crate) item: T,
}

/// A request that did not fit when it was its turn.
#[derive(Clone)]
struct Passed {
    client: ClientId,
    id: u64,
    times: u32,
}

pub(crate) struct FairQueue<T> {
    lanes: BTreeMap<ClientId, VecDeque<Slot<T>>>,
    /// Clients with waiting requests, the one served longest ago first.
    turns: VecDeque<ClientId>,
    passed: Option<Passed>,
    len: usize,
}

impl<T> FairQueue<T> {
    pub(crate) fn new() -> Self {
        Self { lanes: BTreeMap::new(), turns: VecDeque::new(), passed: None, len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn push(&mut self, client: &ClientId, slot: Slot<T>) {
        let lane = self.lanes.entry(client.clone()).or_default();
        if lane.is_empty() {
            self.turns.push_back(client.clone());
        }
        lane.push_back(slot);
        self.len += 1;
    }

    /// Takes the request to admit now, if there is one. `fits` tells whether the free memory suffices,
    /// `admitted` how many requests of a client are admitted, `overtakes` how many may pass one that does
    /// not fit.
    pub(crate) fn take_next(
        &mut self,
        fits: impl Fn(Memory) -> bool,
        admitted: impl Fn(&ClientId) -> usize,
        overtakes: u32,
    ) -> Option<Slot<T>> {
        let head = |queue: &Self, client: &ClientId| -> Option<(u64, Memory)> {
            queue.lanes.get(client)?.front().map(|slot| (slot.id, slot.memory))
        };
        // One that was cancelled meanwhile is noted no longer.
        let mut passed = self
            .passed
            .take()
            .filter(|passed| head(self, &passed.client).is_some_and(|(id, _)| id == passed.id));
        let mut order: Vec<ClientId> = self.turns.iter().cloned().collect();
        order.sort_by_cached_key(admitted);
        if let Some(passed) = &passed {
            // Stable: the noted one comes first, the others stay in their order.
            order.sort_by_key(|client| *client != passed.client);
        }
        let mut chosen = None;
        for client in order {
            let Some((id, memory)) = head(self, &client) else { continue };
            if fits(memory) {
                chosen = Some((client, id));
                break;
            }
            let noted = passed.get_or_insert(Passed { client, id, times: 0 });
            if noted.times >= overtakes {
                break;
            }
        }
        self.passed =
            passed.filter(|passed| chosen.as_ref().is_none_or(|(_, id)| *id != passed.id));
        let (client, _) = chosen?;
        if let Some(passed) = &mut self.passed {
            passed.times += 1;
        }
        self.pop(&client)
    }

    /// Takes the oldest request of a client and puts the client last.
    fn pop(&mut self, client: &ClientId) -> Option<Slot<T>> {
        let lane = self.lanes.get_mut(client)?;
        let slot = lane.pop_front()?;
        self.len -= 1;
        let more = !lane.is_empty();
        self.turns.retain(|turn| turn != client);
        if more {
            self.turns.push_back(client.clone());
        } else {
            self.lanes.remove(client);
        }
        Some(slot)
    }

    /// Takes every request for which `leaves` holds, clients in the order of their ids.
    pub(crate) fn take_all(&mut self, leaves: impl Fn(&T) -> bool) -> Vec<T> {
        let mut taken = Vec::new();
        for lane in self.lanes.values_mut() {
            if !lane.iter().any(|slot| leaves(&slot.item)) {
                continue;
            }
            for slot in std::mem::take(lane) {
                if leaves(&slot.item) {
                    taken.push(slot.item);
                } else {
                    lane.push_back(slot);
                }
            }
        }
        self.lanes.retain(|_, lane| !lane.is_empty());
        let lanes = &self.lanes;
        self.turns.retain(|client| lanes.contains_key(client));
        self.len -= taken.len();
        taken
    }

    /// The first of all waiting requests' values.
    pub(crate) fn min_of<K: Ord>(&self, value: impl Fn(&T) -> Option<K>) -> Option<K> {
        self.lanes.values().flatten().filter_map(|slot| value(&slot.item)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(requests: &[(&str, u64)]) -> FairQueue<u64> {
        let mut queue = FairQueue::new();
        for (id, (client, kept)) in (0..).zip(requests) {
            let memory = Memory { kept: *kept, working: 0 };
            queue.push(&ClientId::from(*client), Slot { id, memory, item: id });
        }
        queue
    }

    fn next(queue: &mut FairQueue<u64>, free: u64, overtakes: u32) -> Option<u64> {
        let slot = queue.take_next(|memory| memory.kept <= free, |_| 0, overtakes);
        slot.map(|slot| slot.item)
    }

    #[test]
    fn clients_take_turns_and_each_keeps_its_order() {
        let mut queue = queue(&[("a", 1), ("a", 1), ("a", 1), ("b", 1), ("c", 1), ("c", 1)]);
        let order: Vec<u64> = std::iter::from_fn(|| next(&mut queue, 1, 0)).collect();
        assert_eq!(order, [0, 3, 4, 1, 5, 2]);
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn the_client_with_the_fewest_admitted_is_next() {
        let mut queue = queue(&[("a", 1), ("b", 1), ("c", 1)]);
        let admitted = |client: &ClientId| match client.to_string().as_str() {
            "a" => 2,
            "b" => 1,
            _ => 0,
        };
        let mut next = || queue.take_next(|_| true, admitted, 0).map(|slot| slot.item);
        assert_eq!((next(), next(), next(), next()), (Some(2), Some(1), Some(0), None));
    }

    #[test]
    fn one_that_does_not_fit_is_passed_so_many_times_and_no_more() {
        let small = [("b", 1); 9];
        let mut queue = queue(&[&[("a", 5)], &small[..]].concat());
        for expected in 1..=3 {
            assert_eq!(next(&mut queue, 4, 3), Some(expected));
        }
        assert_eq!(next(&mut queue, 4, 3), None);
        assert_eq!(next(&mut queue, 5, 3), Some(0));
        assert_eq!(next(&mut queue, 4, 3), Some(4));
    }

    #[test]
    fn nobody_passes_where_that_is_forbidden() {
        let mut queue = queue(&[("a", 5), ("b", 1)]);
        assert_eq!(next(&mut queue, 4, 0), None);
        assert_eq!(next(&mut queue, 5, 0), Some(0));
    }

    #[test]
    fn one_that_was_cancelled_holds_nobody_up() {
        let mut queue = queue(&[("a", 5), ("b", 1), ("a", 2)]);
        assert_eq!(next(&mut queue, 4, 0), None);
        assert_eq!(queue.take_all(|id| *id == 0), [0]);
        assert_eq!(next(&mut queue, 4, 0), Some(2));
        assert_eq!(next(&mut queue, 4, 0), Some(1));
        assert_eq!((queue.len(), queue.turns.len(), queue.lanes.len()), (0, 0, 0));
    }

    #[test]
    fn later_requests_of_a_client_do_not_pass_its_first() {
        let mut queue = queue(&[("a", 5), ("a", 1)]);
        assert_eq!(next(&mut queue, 4, 9), None);
    }
}
