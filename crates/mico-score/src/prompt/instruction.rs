//! The answer-format instructions appended to questions, word for word as in the public toolkits.

/// Asks for a short free answer (LLaVA, lmms-eval, VLMEvalKit's default and InternVL).
pub(super) const SHORT: &str = "Answer the question using a single word or phrase.";
/// Asks for one word; lmms-eval on ChartQA.
pub(super) const ONE_WORD: &str = "Answer the question with a single word.";
/// Asks for the option letter (LLaVA, lmms-eval and InternVL).
pub(super) const LETTER: &str = "Answer with the option's letter from the given choices directly.";
/// Asks for the option letter, in Chinese.
pub(super) const LETTER_CN: &str = "请直接回答选项字母。";
/// Asks for the option letter, in lmms-eval's Chinese wording.
pub(super) const LETTER_CN_LMMS: &str = "请直接使用所提供的选项字母作为答案回答。";
/// Asks for the right option in VLMEvalKit's default prompt.
pub(super) const SELECT: &str = "Please select the correct answer from the options above.";
/// Asks for the option letter in Qwen3-VL's custom prompt.
pub(super) const LETTER_ONLY: &str = "Answer with the option letter only.";
/// InternVL's instruction for a multiple-choice track's question without options.
pub(super) const DIRECT: &str = "Answer the question directly.";
/// The Chinese form of [`DIRECT`].
pub(super) const DIRECT_CN: &str = "请直接回答问题。";
/// Asks for yes or no. MME's own questions end with a space and this sentence.
pub(super) const YES_NO: &str = "Please answer yes or no.";
/// Asks for a short free answer in Qwen2-VL's custom prompt.
pub(super) const SHORT_QWEN2: &str =
    "Please try to answer the question with short words or phrases if possible.";
/// Asks for a short free answer in Qwen3-VL's custom prompt.
pub(super) const SHORT_QWEN3: &str =
    "Please answer concisely with short words or phrases when possible.";
/// Precedes every Video-MME question; lmms-eval mentions subtitles even where none are given.
pub(super) const VIDEO_MME: &str = "Select the best answer to the following multiple-choice question based on the video and the subtitles. Respond with only the letter (A, B, C, or D) of the correct option.";
