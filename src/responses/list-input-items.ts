import type { Static } from 'typebox';
import { Value } from 'typebox/value';
import { DEFAULT_PAGE_SIZE, page } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import type { ChatMessage } from '../engines/engine.ts';
import { splitAtImages } from '../engines/prompt-images.ts';
import { invalidValue } from '../errors.ts';
import type { Call } from '../lib/caller.ts';
import { sealCompaction } from './compaction.ts';
import { type ConversationItem, pickOrigin } from './conversation.ts';
import { type FindDeps, findResponse } from './find-response.ts';
import { ImageDetail, type InputItemsQuery, type ResponseInputItem } from './input-items-schema.ts';

/**
 * Lists the input items of a response: items of the responses that it continues, then its own input. Throws 404
 * `response_not_found`, and 400 for an `after` that names no item of the list.
 */
export async function listInputItems(
  deps: FindDeps & Pick<Deps, 'secrets'>,
  call: Call,
  id: string,
  query: InputItemsQuery,
) {
  const row = await findResponse(deps, call, id);
  return pageItems(viewConversation(deps, call, JSON.parse(row.conversation) as ConversationItem[]), query);
}

/** A page of items, the last one first unless `order` is `asc`. Throws 400 for an `after` that names none of them. */
export function pageItems(all: readonly ResponseInputItem[], query: InputItemsQuery) {
  const items = [...all];
  if (query.order !== 'asc') items.reverse();
  const start = query.after === undefined ? 0 : items.findIndex((item) => item.id === query.after) + 1;
  if (query.after !== undefined && start === 0)
    throw invalidValue('after', 'must be an id from an earlier page of this list');
  const limit = query.limit ?? DEFAULT_PAGE_SIZE;
  return page(items.slice(start, start + limit + 1), limit);
}

/** The items of a conversation as clients see them, each with an id of its own. */
export function viewConversation(
  deps: Pick<Deps, 'secrets'>,
  call: Call,
  conversation: readonly ConversationItem[],
): ResponseInputItem[] {
  const seal = (text: string) => sealCompaction(deps, call, text);
  return uniqueIds(conversation.flatMap((item, index) => viewItem(item, index, seal)));
}

/** A client may have sent an item twice. */
function uniqueIds(items: readonly ResponseInputItem[]): ResponseInputItem[] {
  const seen = new Set<string>();
  return items.map((item, index) => {
    const id = seen.has(item.id) ? `${item.id}_${index}` : item.id;
    seen.add(id);
    return { ...item, id };
  });
}

/** The message of a chat has its tool calls in it, which are items of their own. */
function viewItem(item: ConversationItem, index: number, seal: (text: string) => string): ResponseInputItem[] {
  // Older versions stored none.
  const id = item.id ?? `item_${index}`;
  switch (item.type) {
    case 'message':
      return viewMessage(id, item);
    case 'compaction':
      return [{ type: 'compaction', id, encrypted_content: seal(item.text) }];
    case 'function_call':
      return [{ ...viewCall(id, { id: item.callId, function: item }), ...pickOrigin(item) }];
    case 'function_call_output':
      return [{ ...viewOutput(id, item.callId, item.output), ...pickOrigin(item) }];
    case 'mcp_list_tools':
      return [{ type: item.type, id, server_label: item.serverLabel, tools: [...item.tools] }];
    case 'mcp_approval_request':
      return [{ type: item.type, id, server_label: item.serverLabel, name: item.name, arguments: item.arguments }];
    case 'mcp_approval_response': {
      const { type, approvalRequestId, approve, reason } = item;
      return [{ type, id, approval_request_id: approvalRequestId, approve, reason }];
    }
    case 'mcp_call': {
      const { type, serverLabel, name, arguments: args, result, approvalRequestId } = item;
      const output = 'output' in result ? result.output : null;
      // Older versions stored the text of an error only.
      const error =
        'error' in result
          ? (result.cause ?? { type: 'mcp_tool_execution_error' as const, content: result.error })
          : null;
      const call = { server_label: serverLabel, name, arguments: args, approval_request_id: approvalRequestId };
      return [{ type, id, ...call, output, error }];
    }
    case 'file_search_call': {
      const { queries, results } = item;
      const shown = results.map(({ document_name: filename, ...result }) => ({ filename, ...result }));
      return [{ type: 'file_search_call', id, status: 'completed', queries: [...queries], results: shown }];
    }
  }
}

function viewMessage(
  id: string,
  { message, phase }: Extract<ConversationItem, { type: 'message' }>,
): ResponseInputItem[] {
  const { role, content, tool_calls: calls = [], tool_call_id: callId = '' } = message;
  if (role === 'tool') return [viewOutput(id, callId, content ?? '')];
  const shown = {
    ...{ type: 'message' as const, id, role, status: 'completed' as const },
    ...(phase !== undefined && { phase }),
    content: viewParts(message),
  };
  return [...(content === null ? [] : [shown]), ...calls.map((call, at) => viewCall(`${id}_${at}`, call))];
}

function viewParts(message: ChatMessage): Extract<ResponseInputItem, { type: 'message' }>['content'] {
  const text = message.content ?? '';
  if (message.role === 'assistant') return [{ type: 'output_text', text, annotations: [], logprobs: [] }];
  if (message.images === undefined) return [{ type: 'input_text', text }];
  return splitAtImages(message).map((part) =>
    typeof part === 'string'
      ? { type: 'input_text', text: part }
      : { type: 'input_image', image_url: part.url, file_id: null, detail: viewDetail(part.detail) },
  );
}

const viewDetail = (detail: string | undefined): Static<typeof ImageDetail> =>
  Value.Check(ImageDetail, detail) ? detail : 'auto';

function viewCall(id: string, call: { id: string; function: { name: string; arguments: string } }): ResponseInputItem {
  const { name, arguments: text } = call.function;
  return { type: 'function_call', id, call_id: call.id, name, arguments: text, status: 'completed' };
}

function viewOutput(id: string, callId: string, output: string): ResponseInputItem {
  return { type: 'function_call_output', id, call_id: callId, output, status: 'completed' };
}
