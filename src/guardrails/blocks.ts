import { page, pageBounds } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import { newId } from '../lib/ids.ts';
import { describeError } from '../lib/operator-error.ts';
import type { ModerationNotice, ScreenSubject } from '../lib/screen.ts';
import { toUnixSeconds } from '../lib/unix-seconds.ts';
import { type BlockRow, deleteBlocksBefore, insertBlock, selectBlocks } from './block-store.ts';
import type { BlockQuery, GuardrailBlock } from './schema.ts';

/** How long blocks are listed. */
const RETENTION_DAYS = 30;
const DAY_MS = 86_400_000;

/** Records a block, without the text. A block that cannot be recorded is logged: the text stays blocked. */
export async function recordBlock(
  { db, logger, now }: Pick<Deps, 'db' | 'logger' | 'now'>,
  { call, model }: ScreenSubject,
  { policyId, stage, reasons }: ModerationNotice,
): Promise<void> {
  const { organizationId, keyId } = call.caller;
  try {
    await insertBlock(db.sql, {
      id: newId('guardrailBlock'),
      organizationId,
      policyId,
      keyId,
      requestId: call.requestId,
      endpoint: call.endpoint,
      model: model.id,
      stage,
      reasons,
      createdAt: new Date(now()),
    });
  } catch (error) {
    logger.warn({ policyId, organizationId, reason: describeError(error) }, 'guardrail block could not be recorded');
  }
}

/** A page of the blocks of an organization. A policy of another organization has none. */
export async function listBlocks({ db }: Pick<Deps, 'db'>, organizationId: string, query: BlockQuery) {
  const bounds = pageBounds(query, 'guardrailBlock');
  const rows = await selectBlocks(db.sql, { organizationId, policyId: query.policy_id, order: query.order }, bounds);
  return page(rows.map(viewBlock), bounds.limit);
}

/** Deletes blocks older than `RETENTION_DAYS`. May run in several processes at once. */
export async function pruneBlocks({ db, now }: Pick<Deps, 'db' | 'now'>): Promise<void> {
  await deleteBlocksBefore(db.sql, now() - RETENTION_DAYS * DAY_MS);
}

function viewBlock(row: BlockRow): GuardrailBlock {
  return {
    id: row.id,
    object: 'guardrail_block',
    policy_id: row.policyId,
    key_id: row.keyId,
    request_id: row.requestId,
    route: row.endpoint,
    model: row.model,
    stage: row.stage,
    reasons: [...row.reasons],
    created_at: toUnixSeconds(row.createdAt),
  };
}
