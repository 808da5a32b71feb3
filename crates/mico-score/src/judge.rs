//! stub
use crate::{Fields, Grade, Profile, Track};
/// stub
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct Rules {}
/// stub
#[derive(Debug, thiserror::Error)]
#[error("stub")]
pub struct JudgeError;
impl Rules {
    /// stub
    pub fn set(&mut self, _: &str, _: &str) -> Result<(), JudgeError> {
        Ok(())
    }
}
/// stub
#[derive(Debug, Clone)]
pub struct Judge {
    /// stub
    pub track: Track,
    /// stub
    pub profile: Profile,
    /// stub
    pub rules: Rules,
}
impl Judge {
    /// stub
    pub fn grade(&self, _: &Fields, _: &str) -> Result<Grade, JudgeError> {
        Err(JudgeError)
    }
    /// stub
    pub fn rule_name(&self) -> &'static str {
        "stub"
    }
}
