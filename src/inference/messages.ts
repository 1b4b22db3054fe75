/** Messages of requests: what chat completions and responses have in common. */
import type { ChatMessage, ChatPrompt, PromptImage } from '../engines/engine.ts';
import { invalidValue, missingField } from '../errors.ts';

/** A message of a request. `Part`: an element of its content. */
export interface RequestMessage<Part> {
  role: ChatMessage['role'] | 'developer';
  content?: string | readonly Part[] | null | undefined;
  name?: string | null | undefined;
  tool_calls?: readonly { id: string; function: { name: string; arguments: string } }[] | null | undefined;
  tool_call_id?: string | null | undefined;
}

/** Returns the text or the image of a part. Throws 400 naming `path` for a part that the message may not have. */
export type ReadPart<Part> = (part: Part, role: ChatMessage['role'], path: string) => string | Omit<PromptImage, 'at'>;

/** Converts a message for a prompt. Throws 400 `invalid_value` or `missing_required_field` with the dotted path. */
export function parseMessage<Part>(message: RequestMessage<Part>, path: string, readPart: ReadPart<Part>): ChatMessage {
  // `developer` is OpenAI's newer name of `system`, which chat templates expect.
  const role = message.role === 'developer' ? 'system' : message.role;
  const { content, tool_call_id: callId } = message;
  const calls = message.tool_calls ?? [];
  if (calls.length > 0 && role !== 'assistant')
    throw invalidValue(`${path}.tool_calls`, 'belongs to assistant messages only');
  if (content == null && calls.length === 0) {
    if (content === undefined) throw missingField(`${path}.content`);
    throw invalidValue(`${path}.content`, 'may be null only beside tool_calls');
  }
  if (role === 'tool' && callId == null) throw missingField(`${path}.tool_call_id`);
  const parsed: ChatMessage = { role, content: null };
  if (content != null)
    Object.assign(
      parsed,
      joinParts(content, (part, index) => readPart(part, role, `${path}.content.${index}`)),
    );
  if (message.name != null) parsed.name = message.name;
  if (calls.length > 0) parsed.tool_calls = calls.map((call) => ({ ...call, type: 'function' as const }));
  if (role === 'tool') parsed.tool_call_id = callId as string;
  return parsed;
}

/** Joins the texts of a content, with the images between them. */
export function joinParts<Part>(
  content: string | readonly Part[],
  read: (part: Part, index: number) => string | Omit<PromptImage, 'at'>,
): { content: string; images?: PromptImage[] } {
  if (typeof content === 'string') return { content };
  let text = '';
  const images: PromptImage[] = [];
  for (const [index, part] of content.entries()) {
    const value = read(part, index);
    if (typeof value === 'string') text += value;
    else images.push({ at: text.length, ...value });
  }
  return { content: text, ...(images.length > 0 && { images }) };
}

/** Returns the texts that content policies apply to: what users say, without tool results and retrieved documents. */
export function userTexts({ messages }: ChatPrompt): string[] {
  return messages.flatMap(({ role, content }) => (role === 'user' && content !== null ? [content] : []));
}
