//! Sweeps that come with the program: the paper's ablations.

/// Their names and texts.
pub const BUILTIN_SWEEPS: [(&str, &str); 6] = [
    ("components", include_str!("../../sweeps/components.toml")),
    ("proxies", include_str!("../../sweeps/proxies.toml")),
    ("relevance", include_str!("../../sweeps/relevance.toml")),
    ("pool", include_str!("../../sweeps/pool.toml")),
    ("layers", include_str!("../../sweeps/layers.toml")),
    ("methods", include_str!("../../sweeps/methods.toml")),
];

/// The text of the sweep called `name`.
pub(super) fn builtin(name: &str) -> Option<&'static str> {
    BUILTIN_SWEEPS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::Sweep;
    use mico_engine::Setting;

    #[test]
    fn every_one_can_be_read_and_built() {
        for (name, text) in BUILTIN_SWEEPS {
            let sweep = Sweep::parse(name, text).unwrap();
            let settings = sweep.conditions(&[1, 2, 3], &Setting::default()).unwrap();
            for setting in &settings {
                let options = setting.setting.options();
                options.unwrap_or_else(|error| panic!("{name} {}: {error}", setting.label));
            }
            assert!(settings.len() > 4, "{name}");
        }
    }

    #[test]
    fn the_component_table_has_its_thirteen_settings() {
        let sweep = Sweep::open("components").unwrap();
        let conditions = sweep.conditions(&[], &Setting::default()).unwrap();
        let labels: Vec<String> = conditions.into_iter().skip(1).map(|each| each.label).collect();
        assert_eq!(labels.len(), 13);
        let mut distinct = labels.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), 13);
        for expected in ["all-off", "random", "only-cls-attn", "no-H", "MiCo"] {
            assert!(labels.iter().any(|label| label == expected), "{expected}");
        }
    }
}
