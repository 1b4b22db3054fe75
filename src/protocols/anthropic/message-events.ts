import type { ChatRun } from '../../chat/start-chat.ts';
import type { GenerationEvent } from '../../engines/engine.ts';
import { viewNotices } from '../../inference/moderation-notice.ts';
import type { AnthropicMessage, ContentBlock } from './schema.ts';
import { viewMessageUsage, viewStop } from './view-message.ts';

type Delta = Extract<GenerationEvent, { type: 'text-delta' | 'reasoning-delta' | 'tool-call-delta' }>;

/**
 * Converts the events of a generation to the stream of a message: `message_start`, the content blocks one after the
 * other, `message_delta` with the reason of the end and the usage, `message_stop`. Usage is complete in `message_delta`
 * only: many servers count the prompt at the end.
 */
export async function* toMessageEvents(
  run: ChatRun,
  id: string,
  showsThinking: boolean,
): AsyncGenerator<object, void, undefined> {
  const { generation } = await run.started;
  const usage = viewMessageUsage(generation.usage());
  const message: AnthropicMessage = {
    id,
    type: 'message',
    role: 'assistant',
    model: run.head.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
    ...viewNotices(run.notices()),
  };
  yield { type: 'message_start', message };
  let stop = viewStop('stop', null);
  let open: string | null = null;
  let index = -1;
  for await (const event of generation.events) {
    if (event.type === 'choice-end') stop = viewStop(event.reason, event.stopSequence ?? null);
    if (!isDelta(event) || (event.type === 'reasoning-delta' && !showsThinking)) continue;
    const key = blockKey(event);
    if (key !== open) {
      if (open !== null) yield { type: 'content_block_stop', index };
      open = key;
      index += 1;
      yield { type: 'content_block_start', index, content_block: newBlock(event) };
    }
    const delta = toDelta(event);
    if (delta !== null) yield { type: 'content_block_delta', index, delta };
  }
  if (open !== null) yield { type: 'content_block_stop', index };
  yield { type: 'message_delta', delta: stop, usage: viewMessageUsage(generation.usage()) };
  yield { type: 'message_stop' };
}

const isDelta = (event: GenerationEvent): event is Delta => event.type.endsWith('-delta');

/** Deltas of the same key belong to one content block. */
const blockKey = (event: Delta): string =>
  event.type === 'tool-call-delta' ? `${event.type} ${event.index}` : event.type;

function newBlock(event: Delta): ContentBlock {
  if (event.type === 'text-delta') return { type: 'text', text: '', citations: null };
  if (event.type === 'reasoning-delta') return { type: 'thinking', thinking: '', signature: '' };
  return { type: 'tool_use', id: event.id ?? '', name: event.name ?? '', input: {} };
}

function toDelta(event: Delta): object | null {
  if (event.type === 'text-delta') return { type: 'text_delta', text: event.text };
  if (event.type === 'reasoning-delta') return { type: 'thinking_delta', thinking: event.text };
  return event.arguments === '' ? null : { type: 'input_json_delta', partial_json: event.arguments };
}
