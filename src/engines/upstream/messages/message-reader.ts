import { isRecord } from '../../../lib/json.ts';
import type { ChunkReader } from '../generation-dialect.ts';
import type { UpstreamChunk, UpstreamDelta } from '../upstream-chunk.ts';

type Fields = Record<string, unknown>;

/**
 * Returns the reader of one response of Anthropic's Messages: the events of a stream, or a whole message. The arguments
 * of `jsonTool` become text. Unknown events and blocks are ignored, as Anthropic requires of clients.
 */
export function createMessageReader(jsonTool: string | null): ChunkReader {
  const usage: Fields = {};
  /** Index of the block that calls `jsonTool`. */
  let jsonBlock: unknown = null;
  const readUsage = (reported: unknown): Fields => {
    const counts = isRecord(reported) ? reported : {};
    // The end of a stream repeats the counts of its start, or leaves them out.
    for (const [field, value] of Object.entries(counts)) if (value != null) usage[field] = value;
    return toUsage(usage);
  };
  return (received) => {
    switch (received['type']) {
      case 'message':
        return readMessage(received, jsonTool, readUsage(received['usage']));
      case 'message_start':
        return isRecord(received['message']) ? readUsage(received['message']['usage']) : {};
      case 'content_block_start': {
        const { index, content_block: block } = received;
        if (!isRecord(block)) return null;
        const isJson = jsonTool !== null && block['name'] === jsonTool;
        if (isJson) jsonBlock = index;
        return toDelta(readBlock(block, { index, isJson, isWhole: false }));
      }
      case 'content_block_delta': {
        const { index, delta } = received;
        return isRecord(delta) ? toDelta(readDelta(delta, index, jsonBlock !== null && index === jsonBlock)) : null;
      }
      case 'message_delta': {
        const { delta } = received;
        return { choices: [{ index: 0, ...(isRecord(delta) && readStop(delta)) }], ...readUsage(received['usage']) };
      }
      case 'message_stop':
        return { isLast: true };
      default:
        return null;
    }
  };
}

const toDelta = (delta: UpstreamDelta | null): UpstreamChunk | null =>
  delta === null ? null : { choices: [{ index: 0, delta }] };

/** `isWhole`: the block has its whole content, also the arguments of a call. */
function readBlock(
  block: Fields,
  { index, isJson, isWhole }: { index: unknown; isJson: boolean; isWhole: boolean },
): UpstreamDelta | null {
  const { type, text, thinking, id, name, input } = block;
  if (type === 'text') return { content: text };
  if (type === 'thinking') return { reasoning_content: thinking };
  if (type !== 'tool_use') return null;
  const hasInput = isRecord(input) && (isWhole || Object.keys(input).length > 0);
  if (isJson) return { content: hasInput ? JSON.stringify(input) : '' };
  return { tool_calls: [{ index, id, function: { name, arguments: hasInput ? input : '' } }] };
}

function readDelta(delta: Fields, index: unknown, isJson: boolean): UpstreamDelta | null {
  switch (delta['type']) {
    case 'text_delta':
      return { content: delta['text'] };
    case 'thinking_delta':
      return { reasoning_content: delta['thinking'] };
    case 'input_json_delta': {
      const { partial_json: text } = delta;
      return isJson ? { content: text } : { tool_calls: [{ index, function: { arguments: text } }] };
    }
    default:
      return null;
  }
}

function readMessage(message: Fields, jsonTool: string | null, usage: Fields): UpstreamChunk {
  const blocks = Array.isArray(message['content']) ? message['content'].filter(isRecord) : [];
  const isJson = ({ name }: Fields) => jsonTool !== null && name === jsonTool;
  const deltas = blocks.map((block, index) => readBlock(block, { index, isJson: isJson(block), isWhole: true }) ?? {});
  const join = (field: 'content' | 'reasoning_content') => deltas.map((delta) => delta[field] ?? '').join('');
  const calls = deltas.flatMap((delta) => (delta.tool_calls as unknown[] | undefined) ?? []);
  const content = { content: join('content'), reasoning_content: join('reasoning_content') };
  const whole = { ...content, ...(calls.length > 0 && { tool_calls: calls }) };
  return { choices: [{ index: 0, message: whole, ...readStop(message) }], ...usage };
}

const readStop = ({ stop_reason: reason, stop_sequence: sequence }: Fields): Fields => ({
  finish_reason: reason,
  stop_reason: sequence,
});

/** The usage in OpenAI's form. Servers that count at the end only start with zeros, which say nothing. */
function toUsage(usage: Fields): { usage?: Fields } {
  const count = (field: string) => (typeof usage[field] === 'number' ? usage[field] : 0);
  const cached = count('cache_read_input_tokens');
  const promptTokens = count('input_tokens') + count('cache_creation_input_tokens') + cached;
  if (promptTokens === 0) return {};
  const details = usage['output_tokens_details'];
  return {
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: count('output_tokens'),
      prompt_tokens_details: { cached_tokens: cached },
      ...(isRecord(details) && { completion_tokens_details: { reasoning_tokens: details['thinking_tokens'] } }),
    },
  };
}
