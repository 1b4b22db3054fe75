/**
 * Spellings that steer a model where its server reads control tokens in what users say: of the templates and vocabularies of the model
 * families that are usual (ChatML, Llama, Mistral, Gemma, DeepSeek, Phi, Command R).
 */
const STEERING = new RegExp(
  [
    // <|im_start|>, <|turn>, <turn|>, and with DeepSeek's wide bars.
    '<(?=[|｜][^\\s<>|｜]{1,40}[|｜]?>|[^\\s<>|｜]{1,40}[|｜]>)',
    '<(?=/?s>|(?:bos|eos|pad|unk|mask)>|(?:start|end)_of_(?:turn|image)>|(?:bos|eos|eop|mask)_token>|</?sys>>)',
    '\\[(?=/?(?:inst|system_prompt|available_tools|tool_calls|tool_results|tool_content|args|call_id|img)\\])',
  ].join('|'),
  'giu',
);

/** The text with a space in each spelling of a control token, which makes it plain text to every tokenizer. */
export function withoutSpecialTokens(text: string): string {
  return text.replace(STEERING, '$& ');
}
