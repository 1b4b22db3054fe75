import { selectDuePurges, updatePurge } from '../accounts/store.ts';
import { deleteChannelsOfOrganization } from '../alerts/delivery/store.ts';
import { deleteAlertsOfOrganization } from '../alerts/store.ts';
import { cancelBatch } from '../batches/cancel-batch.ts';
import { deleteLines } from '../batches/line-store.ts';
import { recordLeftUsage } from '../batches/result-writer.ts';
import { type BatchRow, deleteBatchRow, selectBatches } from '../batches/store.ts';
import { deleteBudgetsOfOrganization } from '../billing/budgets/store.ts';
import { deletePresetsOfOrganization } from '../chat-presets/store.ts';
import { deleteChatsOfOrganization } from '../chats/store.ts';
import type { PageBounds } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import { deleteFile } from '../files/delete-file.ts';
import { deleteFileUses, selectFiles } from '../files/store.ts';
import { deleteBlocksOfOrganization } from '../guardrails/block-store.ts';
import { deletePolicy } from '../guardrails/manage-policies.ts';
import { selectPolicies } from '../guardrails/store.ts';
import { deleteKeysOfOrganization } from '../http/idempotency/store.ts';
import { deleteKnowledgeBase } from '../knowledge-bases/delete-knowledge-base.ts';
import { selectKnowledgeBases } from '../knowledge-bases/store.ts';
import { type Call, serviceCaller } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { describeError } from '../lib/operator-error.ts';
import { deleteMcpServersOfOrganization } from '../mcp-servers/store.ts';
import { deletePromptsOfOrganization } from '../prompts/store.ts';
import { deleteContentsOfOrganization, deleteRecording } from '../requests/contents/store.ts';
import { deleteRequestsOfOrganization } from '../requests/store.ts';
import { deleteResponses } from '../responses/find-response.ts';
import { deletePeople } from '../users/store.ts';

/** Dependencies of the purge. */
export type PurgeDeps = Pick<Deps, 'db' | 'blobs' | 'chunks' | 'logger' | 'metrics' | 'now' | 'recordUsage'>;

/** Organizations of one run; the next run takes the others. */
const MAX_ORGANIZATIONS = 20;
/** Rows of one query. */
const PAGE_ROWS = 100;
/** Pause while batches of the organization still end. */
const RETRY_MS = 5_000;
/** Batches that have not ended this long after the deletion never will: no process runs them any more. */
const BATCH_GRACE_MS = 60 * 60 * 1000;
/** Requests that were in progress at the deletion may add data for this long. */
const LATE_REQUESTS_MS = 48 * 60 * 60 * 1000;
/** Interval of the search for data of late requests. */
const SEARCH_MS = 60 * 60 * 1000;

/** States of batches that have ended. */
const ENDED: ReadonlySet<BatchRow['status']> = new Set(['completed', 'failed', 'expired', 'cancelled']);

/** An organization whose data is deleted. */
interface Purge extends PurgeDeps {
  organizationId: string;
  deletedAt: Date;
  signal: AbortSignal;
}

/** Deletes one kind of data. Resolves with whether nothing is left. */
type Step = (purge: Purge) => Promise<boolean>;

/** In this order: batches use files, and so do the jobs of knowledge bases. */
const STEPS: readonly Step[] = [
  purgeBatches,
  purgeChats,
  purgeResponses,
  purgeKnowledgeBases,
  purgeFiles,
  purgePolicies,
  purgeMcpServers,
  purgeReplays,
  purgeRequestLog,
  purgeAlerts,
  purgePeople,
];

/**
 * Deletes the data of deleted organizations. A run that ends early is continued by the next one: the row of the
 * organization says when. May run in several processes at once.
 */
export async function purgeOrganizations(deps: PurgeDeps, signal: AbortSignal): Promise<void> {
  const { db, logger, now } = deps;
  for (const { id: organizationId, deletedAt } of await selectDuePurges(db.sql, new Date(now()), MAX_ORGANIZATIONS)) {
    const isComplete = await runSteps({ ...deps, organizationId, deletedAt, signal });
    await updatePurge(db.sql, organizationId, nextPurge(isComplete, deletedAt, now()));
    if (isComplete) logger.info({ organizationId }, 'deleted organization purged');
  }
}

/** Resolves with whether no data is left. Logs and retries errors, which do not hold up other organizations. */
async function runSteps(purge: Purge): Promise<boolean> {
  const { organizationId, logger, signal } = purge;
  let isComplete = true;
  for (const step of STEPS) {
    try {
      isComplete = (await step(purge)) && isComplete;
    } catch (error) {
      signal.throwIfAborted();
      logger.warn({ organizationId, step: step.name, reason: describeError(error) }, 'purge failed; it is retried');
      isComplete = false;
    }
  }
  return isComplete;
}

function nextPurge(isComplete: boolean, deletedAt: Date, now: number): Date | null {
  if (!isComplete) return new Date(now + RETRY_MS);
  return now < deletedAt.getTime() + LATE_REQUESTS_MS ? new Date(now + SEARCH_MS) : null;
}

/** Cancels running batches, whose jobs then end them and bill the lines in progress. Deletes those that have ended. */
function purgeBatches({ organizationId, deletedAt, ...purge }: Purge): Promise<boolean> {
  const { db, now } = purge;
  const isGraceOver = now() - deletedAt.getTime() > BATCH_GRACE_MS;
  return deleteEach<BatchRow>(
    purge,
    (bounds) => selectBatches(db.sql, organizationId, bounds),
    async ({ id, status }) => {
      if (!ENDED.has(status) && !isGraceOver) {
        await cancelBatch(purge, organizationId, id);
        return false;
      }
      await recordLeftUsage(purge, id);
      await db.sql.transaction(async (sql) => {
        await deleteLines(sql, id);
        await deleteFileUses(sql, id);
        await deleteBatchRow(sql, organizationId, id);
      });
      return true;
    },
  );
}

/** Chats, presets and prompts. Answers of chats are responses, which the next step deletes. */
async function purgeChats({ db, organizationId }: Purge): Promise<boolean> {
  await deleteChatsOfOrganization(db.sql, organizationId);
  await deletePresetsOfOrganization(db.sql, organizationId);
  await deletePromptsOfOrganization(db.sql, organizationId);
  return true;
}

/** Stops responses that run in the background, too. */
async function purgeResponses({ db, organizationId }: Purge): Promise<boolean> {
  await deleteResponses(db.sql, organizationId);
  return true;
}

function purgeKnowledgeBases({ organizationId, ...purge }: Purge): Promise<boolean> {
  return deleteEach(
    purge,
    (bounds) => selectKnowledgeBases(purge.db.sql, organizationId, {}, bounds),
    ({ id }) => deleteKnowledgeBase(purge, serviceCall(organizationId), id),
  );
}

function purgeFiles({ organizationId, ...purge }: Purge): Promise<boolean> {
  return deleteEach(
    purge,
    (bounds) => selectFiles(purge.db.sql, organizationId, {}, bounds),
    ({ id }) => deleteFile(purge, organizationId, id),
  );
}

async function purgePolicies({ organizationId, ...purge }: Purge): Promise<boolean> {
  await deleteBlocksOfOrganization(purge.db.sql, organizationId);
  return deleteEach(
    purge,
    (bounds) => selectPolicies(purge.db.sql, organizationId, bounds),
    ({ id }) => deletePolicy(purge, serviceCall(organizationId), id),
  );
}

/** Registered servers, with their credentials. */
async function purgeMcpServers({ db, organizationId }: Purge): Promise<boolean> {
  await deleteMcpServersOfOrganization(db.sql, organizationId);
  return true;
}

/** The request log and its contents. */
async function purgeRequestLog({ db, organizationId }: Purge): Promise<boolean> {
  await deleteRecording(db.sql, organizationId);
  await deleteContentsOfOrganization(db.sql, organizationId);
  await deleteRequestsOfOrganization(db.sql, organizationId);
  return true;
}

/** Budgets, open and resolved alerts, and channels with their secrets and messages. */
async function purgeAlerts({ db, organizationId }: Purge): Promise<boolean> {
  await deleteAlertsOfOrganization(db.sql, organizationId);
  await deleteChannelsOfOrganization(db.sql, organizationId);
  await deleteBudgetsOfOrganization(db.sql, organizationId);
  return true;
}

/** Stored responses to requests with an `Idempotency-Key`. */
async function purgeReplays({ db, organizationId }: Purge): Promise<boolean> {
  await deleteKeysOfOrganization(db.sql, organizationId);
  return true;
}

/** Members, invitations and sessions of the console. */
async function purgePeople({ db, organizationId }: Purge): Promise<boolean> {
  await deletePeople(db.sql, organizationId);
  return true;
}

/** The deletions of single resources are audited, with the service as their actor. */
const serviceCall = (organizationId: string): Call => ({
  caller: serviceCaller(organizationId, 'service'),
  requestId: newId('request'),
  endpoint: '',
  priority: 'batch',
});

/**
 * Deletes rows one by one. A row that another process has deleted counts as deleted; one that is in use, or for which
 * `remove` resolves with false, is left for the next run. Resolves with whether none is left.
 */
async function deleteEach<Row extends { id: string }>(
  { signal }: Pick<Purge, 'signal'>,
  select: (bounds: PageBounds) => Promise<Row[]>,
  remove: (row: Row) => Promise<unknown>,
): Promise<boolean> {
  let isComplete = true;
  for (let after: string | null = null; ; ) {
    const rows: Row[] = await select({ limit: PAGE_ROWS, after });
    for (const row of rows) {
      signal.throwIfAborted();
      const isDeleted = await remove(row).catch(isGone);
      if (isDeleted === false) isComplete = false;
    }
    after = rows.at(-1)?.id ?? null;
    if (rows.length <= PAGE_ROWS) return isComplete;
  }
}

/** Whether a failed deletion means that another process deleted the row. False for a conflict; rethrows others. */
function isGone(error: unknown): boolean {
  if (!(error instanceof ApiError) || (error.status !== 404 && error.status !== 409)) throw error;
  return error.status === 404;
}
