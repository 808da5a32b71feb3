//! The sentences that tell a model how to answer, as the public toolkits word them.

/// A short free answer.
pub(super) const SHORT: &str = "Answer the question using a single word or phrase.";
/// One word, ChartQA in lmms-eval.
pub(super) const ONE_WORD: &str = "Answer the question with a single word.";
/// The letter of an option.
pub(super) const LETTER: &str = "Answer with the option's letter from the given choices directly.";
/// The letter of an option, in Chinese.
pub(super) const LETTER_CN: &str = "请直接回答选项字母。";
/// The letter of an option, in the Chinese of lmms-eval.
pub(super) const LETTER_CN_LMMS: &str = "请直接使用所提供的选项字母作为答案回答。";
/// The letter of an option, in VLMEvalKit's default prompt.
pub(super) const SELECT: &str = "Please select the correct answer from the options above.";
/// The letter of an option, in Qwen3-VL's prompt.
pub(super) const LETTER_ONLY: &str = "Answer with the option letter only.";
/// No options, InternVL.
pub(super) const DIRECT: &str = "Answer the question directly.";
/// No options, InternVL in Chinese.
pub(super) const DIRECT_CN: &str = "请直接回答问题。";
/// Yes or no. MME's own questions end with a space and this.
pub(super) const YES_NO: &str = "Please answer yes or no.";
/// A short free answer, Qwen2-VL.
pub(super) const SHORT_QWEN2: &str =
    "Please try to answer the question with short words or phrases if possible.";
/// A short free answer, Qwen3-VL.
pub(super) const SHORT_QWEN3: &str =
    "Please answer concisely with short words or phrases when possible.";
/// What precedes a question of Video-MME; it speaks of subtitles even where there are none.
pub(super) const VIDEO_MME: &str = "Select the best answer to the following multiple-choice question based on the video and the subtitles. Respond with only the letter (A, B, C, or D) of the correct option.";
