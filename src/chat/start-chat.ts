import type { Deps } from '../deps.ts';
import { generationBounds } from '../inference/cost-bounds.ts';
import type { Generation } from '../inference/generate.ts';
import { userTexts } from '../inference/messages.ts';
import type { Notices } from '../inference/moderation-notice.ts';
import { type Screened, screenInput } from '../inference/screening.ts';
import { startFitting } from '../inference/start-fitting.ts';
import { type CompletionHead, newHead } from '../inference/view-generation.ts';
import type { ContextChunk } from '../knowledge-bases/grounding/gather-context.ts';
import { findKnowledgeBases, groundPrompt } from '../knowledge-bases/grounding/ground-prompt.ts';
import type { RetrievalDeps } from '../knowledge-bases/retrieval/retrieve.ts';
import type { KnowledgeBaseRow } from '../knowledge-bases/store.ts';
import { newId } from '../lib/ids.ts';
import type { ChatCall } from './parse-call.ts';

/** Dependencies of a chat completion. */
export type ChatDeps = Pick<Deps, 'config' | 'countPrompt' | 'recordsContents' | 'screen'> & RetrievalDeps;

/** A chat completion that has been accepted. */
export interface ChatRun {
  chat: ChatCall;
  /** `chatcmpl-...` */
  id: string;
  head: CompletionHead;
  /** Resolves after prompt processing. The caller must handle its rejection, and read the events of the generation. */
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
 * Screens one chat completion, and begins to retrieve its documents and to generate. Usage is recorded once, when the
 * events of the generation end for any reason.
 */
export async function startChat(deps: ChatDeps, chat: ChatCall, signal: AbortSignal): Promise<ChatRun> {
  const { admission, input } = chat;
  await admission.requireCredits(deps, () => generationBounds(admission.model, input));
  const bases = await findKnowledgeBases(deps, admission.call, chat.knowledgeBaseIds);
  const screened = await screenInput(deps, admission, input, userTexts(input.prompt));
  let notices = (): Notices => [screened.notice];
  const started = startGrounded(deps, chat, { screened, bases }, signal).then((grounded) => {
    notices = grounded.generation.notices;
    return grounded;
  });
  const id = newId('chatCompletion');
  return { chat, id, head: newHead(deps, admission), started, notices: () => notices() };
}

/**
 * Starts the generation on the grounded prompt. Documents are never the reason for `context_length_exceeded`: the
 * generation is then started again with fewer of them, and at last without.
 */
async function startGrounded(
  deps: ChatDeps,
  { admission, input, search }: ChatCall,
  { screened, bases }: { screened: Screened<ChatCall['input']>; bases: readonly KnowledgeBaseRow[] },
  signal: AbortSignal,
): Promise<StartedChat> {
  const grounding = { ...input, bases, ...(search && { search }) };
  const candidates = groundPrompt(deps, admission, grounding, signal);
  const { generation, candidate } = await startFitting(deps, admission, { input: screened, candidates }, signal);
  return { generation, context: candidate.context };
}
