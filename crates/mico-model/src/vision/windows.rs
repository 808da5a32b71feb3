//! Attention windows of visual tokens, as in Qwen2.5-VL's vision tower.

use super::Grid;

/// The visual tokens of each window of `side x side`, windows row by row, tokens inside row by row.
/// Windows at the right and bottom border are smaller where the grid does not divide.
pub(super) fn windows(grid: Grid, side: usize) -> Vec<Vec<usize>> {
    let side = side.max(1);
    let mut all = Vec::with_capacity(grid.rows.div_ceil(side) * grid.columns.div_ceil(side));
    for top in (0..grid.rows).step_by(side) {
        for left in (0..grid.columns).step_by(side) {
            let rows = top..(top + side).min(grid.rows);
            let columns = left..(left + side).min(grid.columns);
            let row = |row: usize| columns.clone().map(move |column| row * grid.columns + column);
            all.push(rows.flat_map(row).collect());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_of_an_odd_grid() {
        let found = windows(Grid { rows: 5, columns: 7 }, 2);
        assert_eq!(found[..2], [vec![0, 1, 7, 8], vec![2, 3, 9, 10]]);
        assert_eq!(found[3], [6, 13]);
        assert_eq!(found.last().unwrap(), &[34]);
        let mut all: Vec<usize> = found.into_iter().flatten().collect();
        all.sort_unstable();
        assert_eq!(all, (0..35).collect::<Vec<_>>());
        assert_eq!(windows(Grid { rows: 1, columns: 3 }, 4), [vec![0, 1, 2]]);
    }
}
