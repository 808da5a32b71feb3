//! Arithmetic of a decoder block.

use mico_model::config::{DecoderConfig, LinearAttentionConfig, MixerKind};

/// One block (0-based) on `tokens` tokens.
pub(super) fn block(config: &DecoderConfig, block: usize, tokens: usize) -> f64 {
    let width = config.hidden_size as f64;
    let mlp = 2.0 * tokens as f64 * 3.0 * width * config.intermediate_size as f64;
    let mixer = match (config.mixer(block), &config.linear_attention) {
        (MixerKind::LinearAttention, Some(linear)) => linear_attention(linear, width, tokens),
        _ => full_attention(config, tokens),
    };
    mixer + mlp
}

/// Projections, a gate's among them where the output has one, and the whole map.
fn full_attention(config: &DecoderConfig, tokens: usize) -> f64 {
    let (tokens, width) = (tokens as f64, config.hidden_size as f64);
    let queries = (config.heads * config.head_dim) as f64;
    let keys = (config.kv_heads * config.head_dim) as f64;
    let gate = if config.output_gate { queries } else { 0.0 };
    let projections = width * (2.0 * queries + gate + 2.0 * keys);
    2.0 * tokens * projections + 4.0 * tokens * tokens * queries
}

/// Projections of queries, keys, values, output gate, two gates per head and output; the convolution
/// (2 per tap, channel and token); and the recurrence as the model defines it, token by token:
/// `8 key_dim value_dim` per value head. Reading the memory under the key, writing the correction and
/// reading under the query are products of `2 key_dim value_dim` each; the decay of the memory is
/// counted like a fourth. A kernel that works in chunks does about as much.
fn linear_attention(linear: &LinearAttentionConfig, width: f64, tokens: usize) -> f64 {
    let tokens = tokens as f64;
    let (channels, values) = (linear.channels() as f64, linear.values_width() as f64);
    let projections = width * (channels + 2.0 * values + 2.0 * linear.value_heads as f64);
    let convolution = channels * linear.conv_kernel as f64;
    let recurrence = 8.0 * values * linear.key_dim as f64;
    tokens * (2.0 * projections + 2.0 * convolution + recurrence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mico_model::Preset;

    fn mistral() -> DecoderConfig {
        Preset::find("llava-next-mistral-7b").unwrap().config().decoder
    }

    #[test]
    fn key_and_value_projections_shrink_with_their_heads() {
        let small = mistral();
        let full = DecoderConfig { kv_heads: 32, ..small.clone() };
        let saved = block(&full, 0, 100) - block(&small, 0, 100);
        assert_eq!(saved, 2.0 * 100.0 * 2.0 * 4096.0 * (3072.0));
    }

    #[test]
    fn blocks_of_both_kinds_are_counted_by_their_kind() {
        let plain = mistral();
        let hybrid = DecoderConfig {
            output_gate: true,
            linear_attention: Some(LinearAttentionConfig {
                mixers: LinearAttentionConfig::every(4, 32),
                conv_kernel: 4,
                key_heads: 16,
                key_dim: 128,
                value_heads: 32,
                value_dim: 128,
            }),
            ..plain.clone()
        };
        // The fourth block has attention, and a gate as wide as its queries.
        let gate = block(&hybrid, 3, 100) - block(&plain, 3, 100);
        assert_eq!(gate, 2.0 * 100.0 * 4096.0 * 4096.0);
        let mlp = 2.0 * 3.0 * 4096.0 * 14_336.0;
        let projections = 2.0 * 4096.0 * (8192.0 + 4096.0 + 32.0 + 32.0 + 4096.0);
        let convolution = 2.0 * 4.0 * 8192.0;
        let recurrence = 32.0 * 8.0 * 128.0 * 128.0;
        let per_token = mlp + projections + convolution + recurrence;
        assert_eq!(block(&hybrid, 0, 1), per_token);
        // No map: twice the tokens are twice the work.
        assert_eq!(block(&hybrid, 2, 200), 200.0 * per_token);
    }
}
