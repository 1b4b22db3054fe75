/**
 * Control tokens of common model families (ChatML, Llama, Mistral, Gemma, DeepSeek, Phi, Command R), which some servers
 * parse in message text.
 */
const CONTROL_TOKENS = new RegExp(
  [
    // <|im_start|>, <|turn>, <turn|>, also with DeepSeek's full-width bars.
    '<(?=[|｜][^\\s<>|｜]{1,40}[|｜]?>|[^\\s<>|｜]{1,40}[|｜]>)',
    '<(?=/?s>|(?:bos|eos|pad|unk|mask)>|(?:start|end)_of_(?:turn|image)>|(?:bos|eos|eop|mask)_token>|</?sys>>)',
    '\\[(?=/?(?:inst|system_prompt|available_tools|tool_calls|tool_results|tool_content|args|call_id|img)\\])',
  ].join('|'),
  'giu',
);

/** Inserts a space into each control token, which makes it plain text for every tokenizer. */
export function withoutSpecialTokens(text: string): string {
  return text.replace(CONTROL_TOKENS, '$& ');
}
