//! FLOPs of the vision side.

use mico_model::Grid;
use mico_model::config::{
    InternVision, LlavaVision, QwenTowerKind, QwenVision, VideoVision, VisionConfig, VitConfig,
};

/// FLOPs of everything before the decoder.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct VisionWork {
    pub(super) encoder: f64,
    pub(super) projector: f64,
    pub(super) pooling: f64,
}

/// Counts the vision side on groups of visual tokens; `width` is the decoder's.
pub(super) fn vision(
    config: &VisionConfig,
    grids: &[Grid],
    width: usize,
) -> mico_model::Result<VisionWork> {
    match config {
        VisionConfig::Llava(vision) => llava(vision, grids.len(), width),
        VisionConfig::Qwen(vision) => Ok(qwen(vision, grids)),
        VisionConfig::InternVl(vision) => Ok(internvl(vision, grids.len(), width)),
        VisionConfig::LlavaVideo(vision) => Ok(video(vision, grids.len(), width)),
    }
}

fn llava(vision: &LlavaVision, views: usize, width: usize) -> mico_model::Result<VisionWork> {
    let patches = (views * vision.tower.patches()) as f64;
    Ok(VisionWork {
        encoder: views as f64 * vit(&vision.tower, vision.blocks()?),
        projector: two_layers(patches, vision.tower.hidden_size, width),
        pooling: 0.0,
    })
}

/// The projector sees patches joined into channels.
fn internvl(vision: &InternVision, tiles: usize, width: usize) -> VisionWork {
    let tokens = (tiles * vision.side().pow(2)) as f64;
    VisionWork {
        encoder: tiles as f64 * vit(&vision.tower, vision.tower.blocks),
        projector: two_layers(tokens, vision.tower.hidden_size * vision.shuffle.pow(2), width),
        pooling: 0.0,
    }
}

/// The projector sees every patch, pooling comes after it: one addition for each number it reads.
fn video(vision: &VideoVision, frames: usize, width: usize) -> VisionWork {
    let patches = (frames * vision.tower.patches()) as f64;
    let pooled = (frames * (vision.side() * vision.pool).pow(2)) as f64;
    VisionWork {
        encoder: frames as f64 * vit(&vision.tower, vision.blocks()),
        projector: two_layers(patches, vision.tower.hidden_size, width),
        pooling: pooled * width as f64,
    }
}

/// Tower and mergers on images at their own resolution.
fn qwen(vision: &QwenVision, grids: &[Grid]) -> VisionWork {
    let (width, inner) = (vision.hidden_size as f64, vision.intermediate_size as f64);
    let joined = vision.joined() as f64;
    let matrices = match vision.kind {
        QwenTowerKind::Windowed { .. } => 3.0,
        QwenTowerKind::Positioned { .. } => 2.0,
    };
    let linears = 4.0 * width * width + matrices * width * inner;
    let mut work = VisionWork::default();
    for grid in grids {
        let tokens = grid.tokens() as f64;
        let patches = tokens * joined;
        work.encoder += 2.0 * patches * vision.patch_values() as f64 * width;
        for block in 0..vision.blocks {
            let pairs = attended_pairs(vision, block, *grid) * joined * joined;
            work.encoder += 2.0 * patches * linears + 4.0 * pairs * width;
        }
        let mergers = 1.0 + vision.deepstack().len() as f64;
        let wide = width * joined;
        work.projector += mergers * 2.0 * tokens * wide * (wide + vision.output as f64);
    }
    work
}

/// Pairs of visual tokens of which one may attend to the other.
fn attended_pairs(vision: &QwenVision, block: usize, grid: Grid) -> f64 {
    let all = (grid.tokens() as f64).powi(2);
    let QwenTowerKind::Windowed { window, full } = &vision.kind else { return all };
    if full.contains(&block) {
        return all;
    }
    let side = (window / vision.patch_size / vision.merge).max(1);
    // Windows are cut along both axes, so the squares of their sides can be summed apart.
    let squares = |length: usize| {
        let rest = length % side;
        (length / side * side * side + rest * rest) as f64
    };
    squares(grid.rows) * squares(grid.columns)
}

/// `second(first(x))` with a square second matrix.
fn two_layers(rows: f64, input: usize, width: usize) -> f64 {
    let (input, width) = (input as f64, width as f64);
    2.0 * rows * width * (input + width)
}

/// One view through the patch embedding and `blocks` blocks, the class token included.
fn vit(config: &VitConfig, blocks: usize) -> f64 {
    let (width, inner) = (config.hidden_size as f64, config.intermediate_size as f64);
    let (patches, side) = (config.patches() as f64, config.patch_size as f64);
    let tokens = config.tokens() as f64;
    let embedding = 2.0 * patches * 3.0 * side * side * width;
    let linears = 2.0 * tokens * (4.0 * width * width + 2.0 * width * inner);
    embedding + blocks as f64 * (linears + 4.0 * tokens * tokens * width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mico_model::Preset;

    #[test]
    fn windows_save_most_of_the_attention() {
        let config = Preset::find("qwen2.5-vl-7b").unwrap().config();
        let VisionConfig::Qwen(vision) = &config.vision else { panic!("not a Qwen model") };
        let grid = Grid { rows: 31, columns: 42 };
        let whole = (31.0_f64 * 42.0).powi(2);
        assert_eq!(attended_pairs(vision, 31, grid), whole);
        // 7 windows of 4 and one of 3 rows; 10 of 4 and one of 2 columns.
        assert_eq!(attended_pairs(vision, 0, grid), (7.0 * 16.0 + 9.0) * (10.0 * 16.0 + 4.0));
    }

    #[test]
    fn the_papers_video_tower_projector_and_pooling_come_out() {
        let config = Preset::find("llava-video-7b").unwrap().config();
        let grids = vec![Grid { rows: 13, columns: 13 }; 64];
        let work = vision(&config.vision, &grids, config.decoder.hidden_size).unwrap();
        for (found, paper) in
            [(work.encoder, 41_228.062), (work.projector, 1585.032), (work.pooling, 0.155)]
        {
            assert!((found / 1e9 / paper - 1.0).abs() < 0.01, "{} against {paper}", found / 1e9);
        }
    }
}
