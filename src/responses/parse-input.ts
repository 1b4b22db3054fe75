import { Value } from 'typebox/value';
import type { ChatMessage } from '../engines/engine.ts';
import { invalidValue, missingField } from '../errors.ts';
import { type ImageRules, parseImage } from '../inference/image-parts.ts';
import { joinParts, parseMessage } from '../inference/messages.ts';
import { type IdKind, isId, newId } from '../lib/ids.ts';
import { describeCallError, McpCallError } from '../mcp-servers/mcp-error.ts';
import { parseMcpTool } from '../mcp-servers/mcp-tool.ts';
import { type ConversationItem, findApprovalRequest, pickOrigin, toPassage } from './conversation.ts';
import type { InputItem, InputPart } from './item-schema.ts';
import { readFilePart } from './read-file-part.ts';
import type { CreateResponse } from './schema.ts';

/** Item references in one request: each is a query. */
const MAX_REFERENCES = 500;

/** What input refers to. */
export interface StoredInput {
  /** Finds an item of a stored response of the organization; null when there is none. */
  findItem(id: string): Promise<ConversationItem[] | null>;
  /** Decrypts the content of a compaction; null when it is not one of the organization. */
  openCompaction(content: string): string | null;
  /** Rules for images. */
  images: ImageRules;
  /** The field that has the items, for errors; `input` unless given. */
  param?: string;
}

/**
 * Converts `input` to the conversation that it adds. `earlier`: the conversation that it continues. Throws 400 with the
 * dotted path of what is missing, not supported, or answers no call.
 */
export async function parseInput(
  input: CreateResponse['input'],
  earlier: readonly ConversationItem[],
  stored: StoredInput,
): Promise<ConversationItem[]> {
  if (typeof input === 'string') {
    if (input.trim() === '') throw invalidValue('input', 'must not be blank');
    return [{ type: 'message', id: newId('message'), message: { role: 'user', content: input } }];
  }
  const { param = 'input' } = stored;
  if (input.filter(({ type }) => type === 'item_reference').length > MAX_REFERENCES)
    throw invalidValue(param, `must have at most ${MAX_REFERENCES} item references`);
  const items: ConversationItem[] = [];
  const callIds = new Set(earlier.flatMap(callsIn));
  for (const [index, item] of input.entries()) {
    const parsed = await parseItem(item, `${param}.${index}`, stored);
    for (const one of parsed) {
      if (one.type === 'function_call_output' && !callIds.has(one.callId)) {
        throw invalidValue(`${param}.${index}.call_id`, 'must be the id of an earlier function_call');
      }
      if (one.type === 'mcp_approval_response')
        requireOpenApproval(one.approvalRequestId, [...earlier, ...items], `${param}.${index}.approval_request_id`);
      for (const id of callsIn(one)) callIds.add(id);
    }
    items.push(...parsed);
  }
  return items;
}

function requireOpenApproval(id: string, items: readonly ConversationItem[], path: string): void {
  if (findApprovalRequest(items, id) === null) throw invalidValue(path, 'must be the id of an mcp_approval_request');
  const isAnswered = items.some((item) => item.type === 'mcp_approval_response' && item.approvalRequestId === id);
  if (isAnswered) throw invalidValue(path, 'has been answered already');
}

function callsIn(item: ConversationItem): string[] {
  if (item.type === 'function_call') return [item.callId];
  return item.type === 'message' ? (item.message.tool_calls ?? []).map(({ id }) => id) : [];
}

async function parseItem(item: InputItem, path: string, stored: StoredInput): Promise<ConversationItem[]> {
  switch (item.type ?? (item.role === undefined ? undefined : 'message')) {
    case 'message':
      return [{ type: 'message', id: itemId(item, 'message'), ...parseMessageItem(item, path, stored.images) }];
    case 'function_call':
      return [
        {
          type: 'function_call',
          id: itemId(item, 'functionCall'),
          callId: required(item.call_id, `${path}.call_id`),
          name: required(item.name, `${path}.name`),
          // Some clients send an empty text for a function without parameters.
          arguments: item.arguments === '' ? '{}' : required(item.arguments, `${path}.arguments`),
          ...pickOrigin(item),
        },
      ];
    case 'function_call_output': {
      if (item.output == null) throw missingField(`${path}.output`);
      const part = { role: 'tool', images: stored.images } as const;
      const { content: output } = joinParts(item.output, (each, index) =>
        readPart(each, `${path}.output.${index}`, part),
      );
      const callId = required(item.call_id, `${path}.call_id`);
      return [
        { type: 'function_call_output', id: itemId(item, 'functionCallOutput'), callId, output, ...pickOrigin(item) },
      ];
    }
    case 'file_search_call': {
      const results = (item.results ?? []).map(({ text = '', filename = '', document_name = filename, ...origin }) =>
        toPassage({ text, document_name, ...origin }),
      );
      return [{ type: 'file_search_call', id: required(item.id, `${path}.id`), queries: item.queries ?? [], results }];
    }
    case 'reasoning':
      return [];
    case 'mcp_list_tools':
    case 'mcp_call':
    case 'mcp_approval_request':
    case 'mcp_approval_response':
      return parseMcpItem(item.type as McpItemType, item, path);
    case 'item_reference': {
      const items = await stored.findItem(required(item.id, `${path}.id`));
      if (items === null) throw invalidValue(`${path}.id`, 'names no item of a stored response');
      return items;
    }
    case 'compaction': {
      const at = `${path}.encrypted_content`;
      const text = stored.openCompaction(required(item.encrypted_content, at));
      if (text === null) throw invalidValue(at, 'is no compaction that this service has made for your organization');
      return [{ type: 'compaction', id: itemId(item, 'compaction'), text }];
    }
    default:
      throw missingField(`${path}.role`);
  }
}

type McpItemType = Extract<ConversationItem['type'], `mcp_${string}`>;

function parseMcpItem(type: McpItemType, item: InputItem, path: string): ConversationItem[] {
  if (type === 'mcp_approval_response') {
    const { approve, reason = null } = item;
    if (approve === undefined) throw missingField(`${path}.approve`);
    const approvalRequestId = required(item.approval_request_id, `${path}.approval_request_id`);
    return [{ type, id: itemId(item, 'mcpApprovalResponse'), approvalRequestId, approve, reason }];
  }
  const serverLabel = required(item.server_label, `${path}.server_label`);
  if (type === 'mcp_list_tools') {
    if (item.error != null) return [];
    const tools = (item.tools ?? []).flatMap(
      (tool) => parseMcpTool({ ...tool, inputSchema: tool['input_schema'] }) ?? [],
    );
    return [{ type, id: itemId(item, 'mcpList'), serverLabel, tools }];
  }
  const call = {
    serverLabel,
    name: required(item.name, `${path}.name`),
    arguments: item.arguments === '' ? '{}' : required(item.arguments, `${path}.arguments`),
  };
  if (type === 'mcp_approval_request') return [{ type, id: required(item.id, `${path}.id`), ...call }];
  const { output } = item;
  if (Array.isArray(output)) throw invalidValue(`${path}.output`, 'must be a string or null');
  const result = output == null ? parseCallError(item.error) : { output };
  const approvalRequestId = item.approval_request_id ?? null;
  return [{ type, id: itemId(item, 'mcpCall'), ...call, result, approvalRequestId }];
}

/** The error of a call, in the form of this service, as a text, or in any other form. */
function parseCallError(error: unknown): { error: string; cause?: McpCallError } {
  if (Value.Check(McpCallError, error)) return { error: describeCallError(error), cause: error };
  return { error: typeof error === 'string' ? error : JSON.stringify(error ?? null) };
}

/** An item that this service has made keeps its id. */
function itemId({ id }: InputItem, kind: IdKind): string {
  return id != null && isId(kind, id) ? id : newId(kind);
}

/** A chat message, or an item of the type `message`, which has parts of other names. */
function parseMessageItem({ role, phase, ...item }: InputItem, path: string, images: ImageRules) {
  if (role === undefined) throw missingField(`${path}.role`);
  const message = parseMessage({ ...item, role }, path, (part, partRole, at) =>
    readPart(part, at, { role: partRole, images }),
  );
  if (role === 'tool') required(item.tool_call_id, `${path}.tool_call_id`);
  return { message, ...(phase !== undefined && { phase }) };
}

/** Names of text parts: those of chat messages, of input items and of output items. */
const TEXT_PARTS: ReadonlySet<string> = new Set(['text', 'input_text', 'output_text', 'refusal']);

/** Returns the text or the image of a part. Throws 400 `invalid_value` for parts of other types. */
function readPart(part: InputPart, path: string, { role, images }: { role: ChatMessage['role']; images: ImageRules }) {
  if (part.type === 'input_image') {
    const { image_url: url, detail } = part;
    return parseImage({ url, detail, role }, { path, urlPath: `${path}.image_url` }, images);
  }
  if (part.type === 'input_file' && (role === 'user' || role === 'tool')) return readFilePart(part, path);
  if (!TEXT_PARTS.has(part.type))
    throw invalidValue(path, `must be a text part; '${part.type.slice(0, 40)}' is not supported`);
  const field = part.type === 'refusal' ? 'refusal' : 'text';
  const text = part[field];
  if (text === undefined) throw missingField(`${path}.${field}`);
  return text;
}

function required(value: string | null | undefined, path: string): string {
  if (value == null) throw missingField(path);
  if (value === '') throw invalidValue(path, 'must not be empty');
  return value;
}
