import type { Deps } from '../deps.ts';
import type { GenerationRequest } from '../engines/engine.ts';
import { backendOf } from '../engines/registry.ts';
import { invalidValue } from '../errors.ts';
import { admit } from '../inference/admit.ts';
import { requirePromptFits } from '../inference/fit-prompt.ts';
import type { Generation } from '../inference/generate.ts';
import { samplingOf, stopTextsOf } from '../inference/parameters.ts';
import type { ContextChunk } from '../knowledge-bases/grounding/gather-context.ts';
import type { RetrievalDeps } from '../knowledge-bases/retrieval/retrieve.ts';
import type { Call } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { findKnowledgeBases, startGrounded } from './ground.ts';
import { chatPrompt, outputFormat } from './prompt.ts';
import type { ChatRequest } from './schema.ts';

/** What a chat needs of the dependencies. */
export type ChatDeps = Pick<Deps, 'countPrompt'> & RetrievalDeps;

/** A chat completion whose prompt has been processed. */
export interface ChatRun extends Generation {
  /** `chatcmpl-...` */
  id: string;
  /** Unix seconds. */
  created: number;
  /** The id that the caller named. */
  model: string;
  fingerprint: string;
  choiceCount: number;
  /** What of the knowledge bases stands in the prompt, the best first; null where none was asked. */
  context: ContextChunk[] | null;
}

/**
 * Admits, grounds and starts one chat completion. Resolves when the prompt has been processed, so `cachedTokens` is known and
 * errors still have a status. Usage is recorded once, when `events` ends for any reason.
 */
export async function startChat(
  deps: ChatDeps,
  call: Call,
  request: ChatRequest,
  signal: AbortSignal,
): Promise<ChatRun> {
  const admitted = admit(deps, call.caller, request.model, 'chat_completion');
  refuseUnsupported(request);
  const asked = generationRequest(call, request);
  const prompt = chatPrompt(request);
  requirePromptFits(admitted.model, prompt);
  const bases = await findKnowledgeBases(deps, call, request.knowledge_bases ?? []);
  const grounded = { request: { ...asked, prompt }, bases };
  const { generation, context } = await startGrounded(deps, call, grounded, { ...admitted, signal });
  const backend = backendOf(admitted.model);
  return {
    ...generation,
    id: newId('chatCompletion'),
    created: Math.floor(deps.now() / 1000),
    model: request.model,
    fingerprint: `${backend.engine}:${backend.model}`,
    choiceCount: request.n ?? 1,
    context,
  };
}

function generationRequest(call: Call, request: ChatRequest): Omit<GenerationRequest, 'prompt'> {
  return {
    choices: request.n ?? 1,
    maxTokens: request.max_completion_tokens ?? request.max_tokens ?? null,
    stop: stopTextsOf(request),
    sampling: samplingOf(request),
    format: outputFormat(request),
    logprobs: logprobsOf(request),
    promptLogprobs: false,
    incremental: request.stream ?? false,
    scope: call.caller.organizationId,
    priority: 'interactive',
  };
}

function logprobsOf(request: ChatRequest): number | null {
  const alternatives = request.top_logprobs ?? null;
  if (request.logprobs) return alternatives ?? 0;
  if (alternatives !== null) throw invalidValue('top_logprobs', "needs 'logprobs' to be true");
  return null;
}

/** Fields of OpenAI's API that would change the answer: ignoring them would be answering another question. */
const UNSUPPORTED = {
  functions: 'tools',
  function_call: 'tool_choice',
  audio: null,
  web_search_options: null,
} as const;

function refuseUnsupported(request: object): void {
  for (const [field, instead] of Object.entries(UNSUPPORTED)) {
    if (!(field in request) || (request as Record<string, unknown>)[field] === null) continue;
    throw invalidValue(field, instead === null ? 'is not supported' : `is not supported; use '${instead}'`);
  }
}
