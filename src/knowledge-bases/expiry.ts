import type { Deps } from '../deps.ts';
import { invalidValue } from '../errors.ts';
import { type KnowledgeBaseRow, updateActivity } from './store.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** Precision of `lastActiveAt`: searches within this time write once. */
const ACTIVITY_INTERVAL_MS = 60_000;

/** When a knowledge base was last active. */
export const lastActivity = ({ lastActiveAt, createdAt }: KnowledgeBaseRow): Date => lastActiveAt ?? createdAt;

/** When searches of a knowledge base are rejected unless it is active before; null: never. */
export function expiryDate(base: KnowledgeBaseRow): Date | null {
  const { expiresAfterDays } = base;
  return expiresAfterDays === null ? null : new Date(lastActivity(base).getTime() + expiresAfterDays * DAY_MS);
}

/** Whether a knowledge base has expired. It keeps its documents, and another expiry makes it active again. */
export function isExpired(base: KnowledgeBaseRow, nowMs: number): boolean {
  const date = expiryDate(base);
  return date !== null && date.getTime() <= nowMs;
}

/** Throws 400 naming `param` for an expired knowledge base. */
export function requireUnexpired(base: KnowledgeBaseRow, nowMs: number, param: string): void {
  if (!isExpired(base, nowMs)) return;
  throw invalidValue(param, "is the id of an expired vector store; set its 'expires_after' again to search it");
}

/** Records a search, unless one was recorded a moment ago. */
export async function recordActivity({ db, now }: Pick<Deps, 'db' | 'now'>, base: KnowledgeBaseRow): Promise<void> {
  const nowMs = now();
  if (nowMs - lastActivity(base).getTime() < ACTIVITY_INTERVAL_MS) return;
  await updateActivity(db.sql, base.id, new Date(nowMs));
}
