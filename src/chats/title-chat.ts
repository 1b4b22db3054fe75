import { promptModel } from '../chat/prompt-model.ts';
import type { Deps } from '../deps.ts';
import { modelBackend } from '../engines/registry.ts';
import { knownError } from '../http/known-error.ts';
import { CallLog } from '../lib/call-log.ts';
import type { Call } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { restoreCaller, type StoredCaller } from '../lib/stored-caller.ts';
import { defineJob } from '../queue/define-job.ts';
import type { BackgroundDeps, EndedResponse } from '../responses/run-background.ts';
import { selectOwnedResponses } from '../responses/store.ts';
import { selectChat, selectChatMessage, selectChatSettings, updateTitle } from './store.ts';

/** Question and answer of a chat without a title, and the caller that is billed. */
interface TitleJob {
  chatId: string;
  messageId: string;
  model: string;
  caller: StoredCaller;
}

/** Generates the title of a chat with the chat's model. Failures are not retried: the title stays the first words. */
export const TITLE_CHAT = defineJob<TitleJob>({
  name: 'title-chat',
  concurrency: 8,
  perGroup: 4,
  retries: 2,
  retrySeconds: 5,
});

const ROUTE = '/v1/chats/:chat_id/messages';
/** Maximum characters of the question and of the answer in the prompt. */
const READ_CHARACTERS = 2_000;
const MAX_TITLE_CHARACTERS = 80;
const MAX_TITLE_TOKENS = 40;
const INSTRUCTION =
  'Write a title for the conversation below: two to six words in the language of the user, which name its subject. Reply with the title only, on one line, without quotes.';

/** Enqueues `TITLE_CHAT` after the first answer, unless the title is final or the organization disables titles. */
export async function queueTitle(
  { db, jobs, models }: Pick<BackgroundDeps, 'db' | 'jobs' | 'models'>,
  { response, owner, caller }: EndedResponse,
): Promise<void> {
  const { id: messageId, model, status } = response;
  const view = models.get(model);
  // The bundled model is too small to write titles.
  if (owner === null || status !== 'completed' || view === undefined || modelBackend(view).engine === 'bundled') return;
  const chat = await selectChat(db.sql, caller, owner);
  const message = await selectChatMessage(db.sql, owner, messageId);
  if (chat === null || chat.isTitleFinal || message?.parentId !== null) return;
  const { organizationId } = caller;
  if (!(await selectChatSettings(db.sql, organizationId)).hasModelTitles) return;
  const data = { chatId: chat.id, messageId, model, caller };
  await db.sql.transaction((sql) => jobs.enqueue(sql, TITLE_CHAT, data, { key: chat.id, group: organizationId }));
}

/** Handler of `TITLE_CHAT`. Throws only the reason of `signal` and errors of the database. */
export async function titleChat(deps: BackgroundDeps, job: TitleJob, signal: AbortSignal): Promise<void> {
  const { db } = deps;
  const chat = await selectChat(db.sql, job.caller, job.chatId);
  const message = await selectChatMessage(db.sql, job.chatId, job.messageId);
  const [answer] = await selectOwnedResponses(db.sql, job.chatId, [job.messageId]);
  // The chat was deleted or renamed in the meantime.
  if (chat === null || chat.isTitleFinal || message === null || answer === undefined) return;
  const user = `User: ${message.text.slice(0, READ_CHARACTERS)}\n\nAssistant: ${(answer.answerText ?? '').slice(0, READ_CHARACTERS)}`;
  const title = parseTitle(await writeTitle(deps, job, user, signal));
  if (title !== null) await updateTitle(db.sql, chat.id, title);
}

/** Calls the model with low priority, billed to the owner. Returns an empty string if the call fails. */
async function writeTitle(deps: BackgroundDeps, job: TitleJob, user: string, signal: AbortSignal): Promise<string> {
  const caller = restoreCaller(job.caller);
  const log = new CallLog();
  // Like answers of chats, titles are never recorded.
  log.isPrivate = true;
  const requestId = newId('request');
  const countTokens = (tokens: number) => deps.chargeTokens(caller, tokens);
  const call: Call = { caller, requestId, endpoint: ROUTE, priority: 'batch', countTokens, log };
  const prompt = { model: job.model, seed: 0, system: INSTRUCTION, user, maxTokens: MAX_TITLE_TOKENS };
  try {
    const text = await promptModel(deps, call, prompt, signal);
    logTitle(deps, call, log, 200);
    return text;
  } catch (thrown) {
    signal.throwIfAborted();
    const error = knownError(thrown);
    log.fail(error);
    logTitle(deps, call, log, error.status);
    deps.logger.info({ chatId: job.chatId, code: error.code }, 'chat title not written');
    return '';
  }
}

function logTitle({ logCall }: Pick<Deps, 'logCall'>, { caller, requestId }: Call, log: CallLog, status: number): void {
  const { organizationId, keyId } = caller;
  const entry = { requestId, route: ROUTE, organizationId, keyId, isBatch: false };
  logCall({ ...entry, log, status, durationMs: Date.now() - log.startedAt, traceId: log.traceId });
}

/** Returns the first line of a reply without Markdown; null if it is empty or too long for a title. */
export function parseTitle(reply: string): string | null {
  const line = reply.split('\n').find((each) => each.trim() !== '') ?? '';
  const title = line
    .replaceAll('\u0000', '')
    .replace(/^[\s#*"'“”„«»_`]*(?:(?:title|titel)\s*:)?[\s#*"'“”„«»_`]*/iu, '')
    .replace(/[\s*"'“”„«»_`.:]+$/u, '');
  return title === '' || title.length > MAX_TITLE_CHARACTERS ? null : title;
}
