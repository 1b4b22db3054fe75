import type { Deps } from '../deps.ts';
import type { ChatPrompt } from '../engines/engine.ts';
import { modelBackend } from '../engines/registry.ts';
import { ApiError, invalidValue } from '../errors.ts';
import { type Admission, admit } from '../inference/admission.ts';
import { generationBounds } from '../inference/cost-bounds.ts';
import { requirePromptFits } from '../inference/fit-prompt.ts';
import { type Generation, type GenerationInput, startGeneration } from '../inference/generate.ts';
import type { Notices } from '../inference/moderation-notice.ts';
import { chatParameters, samplingParameters, stopSequences } from '../inference/parameters.ts';
import { type Screened, screenInput } from '../inference/screening.ts';
import type { ContextChunk } from '../knowledge-bases/grounding/gather-context.ts';
import { findKnowledgeBases, groundPrompt } from '../knowledge-bases/grounding/ground-prompt.ts';
import type { RetrievalDeps } from '../knowledge-bases/retrieval/retrieve.ts';
import type { KnowledgeBaseRow } from '../knowledge-bases/store.ts';
import type { Call } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { chatPrompt, outputFormat } from './prompt.ts';
import type { ChatRequest } from './schema.ts';

/** Dependencies of a chat completion. */
export type ChatDeps = Pick<Deps, 'config' | 'countPrompt' | 'screen'> & RetrievalDeps;

type ChatInput = GenerationInput & { prompt: ChatPrompt };

/** A chat completion that has been accepted. */
export interface ChatRun {
  /** `chatcmpl-...` */
  id: string;
  /** Unix seconds. */
  created: number;
  /** Model id of the request. */
  model: string;
  fingerprint: string;
  choiceCount: number;
  /** Resolves when the prompt has been processed. The caller must handle its rejection, and read the events of the generation. */
  started: Promise<StartedChat>;
  /** Results of screening the messages and, after the end of the generation, an answer that is not streamed. */
  notices(): Notices;
}

/** A generation with its context. */
export interface StartedChat {
  generation: Generation;
  /** Chunks of knowledge bases in the prompt, best first; null when the request names no knowledge base. */
  context: ContextChunk[] | null;
}

/**
 * Admits and screens one chat completion, and begins to retrieve its documents and to generate. Usage is recorded once, when the events of
 * the generation end for any reason.
 */
export async function startChat(
  deps: ChatDeps,
  call: Call,
  request: ChatRequest,
  signal: AbortSignal,
): Promise<ChatRun> {
  const admission = admit(deps, call, { kind: 'chat', model: request.model });
  rejectUnsupported(request);
  const parameters = generationParameters(deps, request);
  const { allowPrivateHosts } = deps.config;
  const prompt = chatPrompt(request, { model: admission.model, allowPrivateHosts });
  requirePromptFits(admission.model, prompt);
  await admission.requireCredits(deps, () => generationBounds(admission.model, { ...parameters, prompt }));
  const bases = await findKnowledgeBases(deps, call, request.knowledge_bases ?? []);
  const input = await screenInput(deps, admission, { ...parameters, prompt }, userTexts(prompt));
  let notices = (): Notices => [input.notice];
  const started = startGrounded(deps, admission, { input, bases }, signal).then((chat) => {
    notices = chat.generation.notices;
    return chat;
  });
  const backend = modelBackend(admission.model);
  return {
    id: newId('chatCompletion'),
    created: Math.floor(deps.now() / 1000),
    model: request.model,
    fingerprint: `${backend.engine}:${backend.model}`,
    choiceCount: request.n ?? 1,
    started,
    notices: () => notices(),
  };
}

/** The texts of a chat that content policies apply to: what users say, without tool results and retrieved documents. */
function userTexts({ messages }: ChatPrompt): string[] {
  return messages.flatMap(({ role, content }) => (role === 'user' && content !== null ? [content] : []));
}

/**
 * Starts the generation on the grounded prompt. Documents are never the reason for `context_length_exceeded`: the
 * generation is then started again with fewer of them, and at last without.
 */
async function startGrounded(
  deps: ChatDeps,
  admission: Admission<'chat'>,
  { input, bases }: { input: Screened<ChatInput>; bases: readonly KnowledgeBaseRow[] },
  signal: AbortSignal,
): Promise<StartedChat> {
  let rejection: unknown;
  for await (const { prompt, context } of groundPrompt(deps, admission, { ...input.value, bases }, signal)) {
    const grounded = input.withContext((value) => ({ ...value, prompt }));
    try {
      return { generation: await startGeneration(deps, admission, grounded, signal), context };
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'context_length_exceeded') throw error;
      rejection = error;
    }
  }
  throw rejection;
}

function generationParameters(deps: Pick<Deps, 'config'>, request: ChatRequest): Omit<GenerationInput, 'prompt'> {
  return {
    choices: request.n ?? 1,
    maxTokens: request.max_completion_tokens ?? request.max_tokens ?? null,
    stop: stopSequences(request),
    sampling: samplingParameters(request),
    format: outputFormat(request),
    logprobs: alternativesPerToken(request),
    promptLogprobs: false,
    upstreamParameters: chatParameters(deps, request),
    incremental: request.stream ?? false,
  };
}

function alternativesPerToken(request: ChatRequest): number | null {
  const alternatives = request.top_logprobs ?? null;
  if (request.logprobs) return alternatives ?? 0;
  if (alternatives !== null) throw invalidValue('top_logprobs', "needs 'logprobs' to be true");
  return null;
}

/** Fields of OpenAI's API that change the answer, so they are rejected instead of ignored. Value: the field to use instead. */
const UNSUPPORTED = {
  functions: 'tools',
  function_call: 'tool_choice',
  audio: null,
  web_search_options: null,
} as const;

function rejectUnsupported(request: object): void {
  for (const [field, instead] of Object.entries(UNSUPPORTED)) {
    if (!(field in request) || (request as Record<string, unknown>)[field] === null) continue;
    throw invalidValue(field, instead === null ? 'is not supported' : `is not supported; use '${instead}'`);
  }
}
