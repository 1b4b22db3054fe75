import type { ChatMessage, PromptImage } from '../../engines/engine.ts';
import { invalidValue, missingField } from '../../errors.ts';
import { type ImageRules, parseImage } from '../../inference/image-parts.ts';
import { joinParts } from '../../inference/messages.ts';
import type { CountTokensRequest } from './schema.ts';

type WireMessage = CountTokensRequest['messages'][number];
type Block = Exclude<WireMessage['content'], string>[number];
type Image = Omit<PromptImage, 'at'>;

/**
 * Coding agents begin their system prompt with a line that differs in every request. It is no instruction, and would
 * hide the common prefix of a conversation from the prefix cache.
 */
const CLIENT_NOTE = 'x-anthropic-billing-header:';

/** Converts `system` and `messages`. Throws 400 with the dotted path of the block. */
export function parseMessages({ system, messages }: CountTokensRequest, images: ImageRules): ChatMessage[] {
  const last = messages.length - 1;
  if (messages[last]?.role === 'assistant')
    throw invalidValue(`messages.${last}.role`, "must be 'user': the model begins a new answer, it continues none");
  const blocks = typeof system === 'string' ? [system] : (system ?? []).map(({ text }) => text);
  const instructions = blocks.filter((text) => !text.startsWith(CLIENT_NOTE)).join('\n\n');
  return [
    ...(instructions === '' ? [] : [{ role: 'system' as const, content: instructions }]),
    ...messages.flatMap((message, index) => parseMessage(message, `messages.${index}`, images)),
  ];
}

function parseMessage({ role, content }: WireMessage, path: string, images: ImageRules): ChatMessage[] {
  if (typeof content === 'string') return [{ role, content }];
  const blocks = content.map((block, index) => ({ block, at: `${path}.content.${index}` }));
  return role === 'assistant' ? [parseAnswer(blocks)] : parseUserBlocks(blocks, images);
}

type PlacedBlock = { block: Block; at: string };

/** An answer of the model that is sent back. */
function parseAnswer(blocks: readonly PlacedBlock[]): ChatMessage {
  const texts: string[] = [];
  const calls = [];
  for (const { block, at } of blocks) {
    if (block.type === 'text') texts.push(requireField(block.text, `${at}.text`));
    else if (block.type === 'tool_use') {
      const name = requireField(block.name, `${at}.name`);
      const call = { name, arguments: JSON.stringify(block.input ?? {}) };
      calls.push({ id: requireField(block.id, `${at}.id`), type: 'function' as const, function: call });
    } else if (block.type !== 'thinking' && block.type !== 'redacted_thinking')
      throw unsupportedBlock(block, at, 'the assistant');
  }
  const content = texts.join('');
  return {
    role: 'assistant',
    content: content === '' && calls.length > 0 ? null : content,
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

/** Results of tools become messages of their own, before the text of the user. Their images follow as the user's. */
function parseUserBlocks(blocks: readonly PlacedBlock[], images: ImageRules): ChatMessage[] {
  const results: ChatMessage[] = [];
  const parts: (string | Image)[] = [];
  for (const { block, at } of blocks) {
    if (block.type !== 'tool_result') {
      parts.push(parsePart(block, at, images));
      continue;
    }
    const callId = requireField(block.tool_use_id, `${at}.tool_use_id`);
    const inner = typeof block.content === 'string' ? [{ type: 'text', text: block.content }] : (block.content ?? []);
    const values = inner.map((part, index) => parsePart(part, `${at}.content.${index}`, images));
    const text = values.filter((value) => typeof value === 'string').join('\n');
    parts.push(...values.filter((value) => typeof value !== 'string'));
    results.push({ role: 'tool', tool_call_id: callId, content: block.is_error === true ? `Error: ${text}` : text });
  }
  if (parts.length === 0) return results;
  return [...results, { role: 'user', ...joinParts(separate(parts), (part) => part) }];
}

/** Text blocks are paragraphs: they must not run into each other. */
const separate = (parts: readonly (string | Image)[]): (string | Image)[] =>
  parts.map((part, index) => {
    const follows = typeof part === 'string' && index > 0 && typeof parts[index - 1] === 'string';
    return follows ? `\n\n${part}` : part;
  });

function parsePart(
  block: Pick<Block, 'type' | 'text' | 'source' | 'title'>,
  at: string,
  images: ImageRules,
): string | Image {
  if (block.type === 'text') return requireField(block.text, `${at}.text`);
  if (block.type !== 'image' && block.type !== 'document') throw unsupportedBlock(block, at, 'users');
  const source = requireField(block.source, `${at}.source`);
  if (block.type === 'image') {
    const isData = source.type === 'base64';
    const url = isData ? `data:${source.media_type};base64,${source.data}` : source.url;
    return parseImage({ url, role: 'user' }, { path: at, urlPath: `${at}.source.${isData ? 'data' : 'url'}` }, images);
  }
  if (source.type !== 'text')
    throw invalidValue(`${at}.source.type`, "must be 'text': upload other documents as files");
  const text = requireField(source.data, `${at}.source.data`);
  return block.title === undefined ? text : `${block.title}\n\n${text}`;
}

function requireField<T>(value: T | undefined, path: string): T {
  if (value === undefined) throw missingField(path);
  return value;
}

const unsupportedBlock = ({ type }: { type: string }, at: string, role: string) =>
  invalidValue(`${at}.type`, `is not supported in messages of ${role}: '${type.slice(0, 40)}'`);
