//! Growth, returning and copies of caches.

use super::*;
use candle_core::Device;

fn rows(from: usize, count: usize) -> Tensor {
    let values: Vec<f32> = (0..2)
        .flat_map(|head| (from..from + count).map(move |i| (head * 1000 + i) as f32))
        .flat_map(|x| [x, -x])
        .collect();
    Tensor::from_vec(values, (2, count, 2), &Device::Cpu).unwrap()
}

fn content(view: &Tensor) -> Vec<Vec<Vec<f32>>> {
    view.contiguous().unwrap().to_vec3().unwrap()
}

#[test]
fn growth_keeps_every_entry() {
    let mut caches = Caches::new(2);
    assert!(caches.is_empty());
    let mut total = 0;
    for count in [3, 1, 1, 90, 1, 200] {
        let new = rows(total, count);
        let (k, v) = caches.append(1, &new, &new).unwrap();
        total += count;
        assert_eq!(content(&k), content(&rows(0, total)));
        assert_eq!(content(&v), content(&rows(0, total)));
    }
    assert_eq!(caches.lengths(), [Some(0), Some(296)]);
    assert!(caches.append(2, &rows(0, 1), &rows(0, 1)).is_err());
}

#[test]
fn single_tokens_do_not_reallocate_each_time() {
    let mut caches = Caches::new(1);
    let mut capacities = std::collections::BTreeSet::new();
    for i in 0..1000 {
        caches.append(0, &rows(i, 1), &rows(i, 1)).unwrap();
        capacities.insert(caches.bytes());
    }
    assert!(capacities.len() < 10, "{} buffers", capacities.len());
}

#[test]
fn returning_and_copies_do_not_disturb_each_other() {
    let mut caches = Caches::new(1);
    let empty = caches.mark();
    caches.append(0, &rows(0, 4), &rows(0, 4)).unwrap();
    let four = caches.mark();
    let (before, _) = caches.append(0, &rows(4, 6), &rows(4, 6)).unwrap();
    let mut other = caches.try_clone().unwrap();
    caches.restore(four.clone()).unwrap();
    let (k, _) = caches.append(0, &rows(50, 2), &rows(50, 2)).unwrap();
    assert_eq!(k.dims(), [2, 6, 2]);
    assert_eq!(content(&before), content(&rows(0, 10)));
    let (k, _) = other.append(0, &rows(10, 1), &rows(10, 1)).unwrap();
    assert_eq!(content(&k), content(&rows(0, 11)));
    caches.restore(empty).unwrap();
    assert!(caches.get(0).unwrap().is_none() && caches.is_empty());
    let error = caches.restore(four).unwrap_err().to_string();
    assert!(error.contains("4 tokens in block 0, which holds 0"), "{error}");
    assert!(caches.restore(Caches::new(2).mark()).is_err());
}

#[test]
fn a_state_has_no_length_and_returns_whole() {
    use MixerKind::{FullAttention, LinearAttention};
    let set = |caches: &mut Caches, value: f32| {
        let state = caches.state(1).unwrap().get_or_insert_with(|| RecurrentState {
            window: Arc::new(vec![0.0; 12]),
            memory: Arc::new(vec![0.0; 4]),
        });
        Arc::make_mut(&mut state.memory)[0] = value;
    };
    let first = |caches: &mut Caches| caches.state(1).unwrap().as_ref().unwrap().memory[0];
    let mut caches = Caches::of([FullAttention, LinearAttention]);
    assert_eq!((caches.lengths(), caches.bytes()), (vec![Some(0), None], 0));
    let empty = caches.mark();
    set(&mut caches, 1.0);
    assert!(!caches.is_empty());
    assert_eq!(caches.bytes(), 4 * (12 + 4));
    let (one, mut other) = (caches.mark(), caches.try_clone().unwrap());
    set(&mut caches, 2.0);
    set(&mut other, 3.0);
    assert_eq!((first(&mut caches), first(&mut other)), (2.0, 3.0));
    caches.restore(one).unwrap();
    assert_eq!(first(&mut caches), 1.0);
    caches.restore(empty).unwrap();
    assert!(caches.is_empty() && caches.state(1).unwrap().is_none());
    // Neither kind is taken for the other.
    assert!(caches.append(1, &rows(0, 1), &rows(0, 1)).is_err());
    assert!(caches.state(0).is_err() && caches.state(2).is_err());
    assert!(caches.restore(Caches::new(2).mark()).is_err());
}

#[test]
fn a_reservation_is_one_exact_allocation() {
    for (format, bytes) in [(KvFormat::Compute, 4), (KvFormat::F16, 2)] {
        let kinds = [MixerKind::FullAttention; 2];
        let mut caches = Caches::of_format(kinds, format);
        caches.reserve(&[10, 7]).unwrap();
        assert_eq!(caches.bytes(), 0, "nothing is allocated before it is needed");
        for i in 0..7 {
            caches.append(0, &rows(i, 1), &rows(i, 1)).unwrap();
            caches.append(1, &rows(i, 1), &rows(i, 1)).unwrap();
            assert_eq!(caches.bytes(), (10 + 7) * 2 * 4 * bytes);
        }
        // A copy has room for what is there, and grows to the reservation.
        let mut copy = caches.try_clone().unwrap();
        assert_eq!(copy.bytes(), (7 + 7) * 2 * 4 * bytes);
        copy.append(0, &rows(7, 1), &rows(7, 1)).unwrap();
        assert_eq!(copy.bytes(), (10 + 7) * 2 * 4 * bytes);
        // So do caches that returned.
        let mark = caches.mark();
        caches.append(0, &rows(7, 3), &rows(7, 3)).unwrap();
        caches.restore(mark).unwrap();
        let (k, _) = caches.append(0, &rows(7, 3), &rows(7, 3)).unwrap();
        assert_eq!(caches.bytes(), (10 + 7) * 2 * 4 * bytes);
        // More than that fits as well.
        let (v, _) = caches.append(0, &rows(10, 5), &rows(10, 5)).unwrap();
        for (view, count) in [(k, 10), (v, 15)] {
            let view = view.to_dtype(candle_core::DType::F32).unwrap();
            assert_eq!(content(&view), content(&rows(0, count)), "whole numbers survive rounding");
        }
        assert!(caches.reserve(&[10]).is_err());
    }
    let mut caches = Caches::new(1);
    caches.reserve(&[usize::MAX / 2]).unwrap();
    let error = caches.append(0, &rows(0, 1), &rows(0, 1)).unwrap_err().to_string();
    assert!(error.contains("more than memory can hold"), "{error}");
    assert!(caches.is_empty());
}
