import { invalidValue, serverError } from '../errors.ts';
import { knownError } from '../http/known-error.ts';
import { collect } from '../inference/collect.ts';
import { startGeneration } from '../inference/generate.ts';
import { type Notices, viewNotices } from '../inference/moderation-notice.ts';
import { rejectFields } from '../inference/parameters.ts';
import type { Call } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { sealCompaction } from './compaction.ts';
import { type CompactedResponse, type CompactResponse, requireInput } from './compaction-schema.ts';
import { newIdentity } from './create-response.ts';
import { NO_PROGRESS } from './emitter.ts';
import type { ResponseInputItem } from './input-items-schema.ts';
import { viewConversation } from './list-input-items.ts';
import type { ResponseDeps } from './parse-call.ts';
import { type PreparedResponse, prepareResponse } from './prepare-response.ts';
import { toRequestError } from './request-fields.ts';
import { addTurn } from './run-turns.ts';
import { conversationMessages } from './turn-prompt.ts';

/** Tokens of a summary at most. */
const MAX_SUMMARY_TOKENS = 4_096;
/** Characters of the messages of users that are kept, the newest first: about 10,000 tokens. */
const MAX_KEPT_CHARACTERS = 40_000;

/** Asks the model for the summary. */
const REQUEST =
  'Write notes with which you can continue this conversation later without reading it again: what I want, facts, names, numbers, decisions, results of tools, and what remains to be done. Write only the notes, in the language of the conversation.';

/** A compacted conversation. */
export interface Compaction {
  response: CompactedResponse;
  notices: Notices;
}

/**
 * Summarizes a conversation with one model call. Keeps its system messages and the newest messages of the user as they
 * are. Throws as `prepareResponse` and `startGeneration` do, 400 for a model that cannot summarize, and 500 when it
 * writes nothing.
 */
export async function compactResponse(
  deps: ResponseDeps,
  call: Call,
  body: CompactResponse,
  signal: AbortSignal,
): Promise<Compaction> {
  rejectFields(body, { conversation: 'input' });
  const identity = newIdentity(deps);
  const request = { ...requireInput(body), max_output_tokens: MAX_SUMMARY_TOKENS };
  const prepared = await prepareResponse(deps, call, request, identity);
  if (prepared.admission.engine.backend().engine === 'bundled')
    throw invalidValue('model', 'names a model that cannot summarize; bind it to another one');
  const { generation, collected } = await summarize(deps, prepared, signal);
  const text = collected.choices[0]?.text.trim() ?? '';
  if (text === '') throw serverError(new Error('the model wrote no summary'));
  const kept = keepMessages(viewConversation(deps, call, prepared.conversation));
  const summary = {
    type: 'compaction' as const,
    id: newId('compaction'),
    encrypted_content: sealCompaction(deps, call, text),
  };
  const notices = generation.notices();
  return {
    response: {
      id: identity.id,
      object: 'response.compaction',
      created_at: identity.createdAt,
      output: [...kept, summary],
      usage: addTurn(NO_PROGRESS, generation, 0).usage,
      ...viewNotices(notices),
    },
    notices,
  };
}

async function summarize(deps: ResponseDeps, prepared: PreparedResponse, signal: AbortSignal) {
  const messages = [...conversationMessages(prepared), { role: 'user' as const, content: REQUEST }];
  const input = prepared.input.withContext((value) => ({
    ...value,
    prompt: { kind: 'chat', messages, tools: [], toolChoice: 'none', parallelToolCalls: true },
  }));
  try {
    const generation = await startGeneration(deps, prepared.admission, input, signal);
    return { generation, collected: await collect(generation.events, 1) };
  } catch (error) {
    signal.throwIfAborted();
    throw toRequestError(knownError(error), []);
  }
}

/** System messages, and the newest messages of the user; at least one. */
function keepMessages(items: readonly ResponseInputItem[]): ResponseInputItem[] {
  let room = MAX_KEPT_CHARACTERS;
  const last = items.findLast((item) => item.type === 'message' && item.role === 'user');
  const isKept = (item: ResponseInputItem): boolean => {
    if (item.type !== 'message' || item.role === 'assistant') return false;
    if (item.role === 'system') return true;
    room -= item.content.reduce((sum, part) => sum + (part.type === 'input_image' ? 0 : part.text.length), 0);
    return room >= 0 || item === last;
  };
  return items.toReversed().filter(isKept).reverse();
}
