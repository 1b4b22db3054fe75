import { lockOrganization } from '../../accounts/store.ts';
import { changedValues, recordChange, toActor } from '../../audit/record-change.ts';
import type { Deps } from '../../deps.ts';
import { invalidValue, notFound } from '../../errors.ts';
import { hasScope, requireScope } from '../../http/auth.ts';
import type { Call, Caller } from '../../lib/caller.ts';
import { idTime, isId, minIdAt } from '../../lib/ids.ts';
import type { AnswerItem } from '../../lib/recorded-answer.ts';
import { requireOwner } from '../../users/members/invitations.ts';
import { compilePattern, DETECTORS } from './redact.ts';
import type { RequestContents, RequestRecording, UpdateRequestRecording } from './schema.ts';
import {
  type ContentsRow,
  deleteContents,
  deleteContentsOfOrganization,
  hasContents,
  type RecordingRow,
  selectRecording,
  selectRecordings,
  selectRequestContents,
  upsertRecording,
} from './store.ts';

const DAY_MS = 86_400_000;
const OWNERS = 'Only owners of the organization can change the recording of contents.';

type ContentDeps = Pick<Deps, 'db' | 'now'>;

const defaultRecording = (organizationId: string): RecordingRow => ({
  ...{ organizationId, isEnabled: false, retentionDays: 7, detectors: [...DETECTORS], patterns: [] },
});

/** Returns the recording settings of the caller's organization. */
export async function getRecording({ db }: Pick<Deps, 'db'>, { caller }: Call): Promise<RequestRecording> {
  const { organizationId } = caller;
  const row = (await selectRecording(db.sql, organizationId)) ?? defaultRecording(organizationId);
  return viewRecording(row, await hasContents(db.sql, organizationId));
}

/**
 * Changes the recording settings of the caller's organization. If it disables recording, nothing is stored once the
 * promise resolves. Throws 403 unless the caller is an owner, and 400 for invalid regular expressions.
 */
export async function updateRecording(
  { db }: Pick<Deps, 'db'>,
  call: Call,
  { enabled, retention_days: days, detectors, patterns }: UpdateRequestRecording,
): Promise<RequestRecording> {
  requireOwner(call, OWNERS);
  requirePatterns(patterns ?? []);
  const { organizationId } = call.caller;
  await db.sql.transaction(async (sql) => {
    // A change at the same moment must not restore the fields of before, such as `enabled`.
    await lockOrganization(sql, organizationId);
    const before = (await selectRecording(sql, organizationId)) ?? defaultRecording(organizationId);
    const row: RecordingRow = {
      organizationId,
      isEnabled: enabled ?? before.isEnabled,
      retentionDays: days ?? before.retentionDays,
      detectors: detectors ?? before.detectors,
      patterns: patterns ?? before.patterns,
    };
    await upsertRecording(sql, row);
    const changes = changedValues({ ...viewSettings(before) }, viewSettings(row)).map(({ field, from, to }) => ({
      field: `request_recording.${field}`,
      // The audit log must not contain patterns: they may contain the text that they redact.
      ...(field !== 'patterns' && { from, to }),
    }));
    const action = 'organization.updated';
    if (changes.length > 0) {
      await recordChange(sql, toActor(call), { action, organizationId, resourceId: organizationId, changes });
    }
  });
  return getRecording({ db }, call);
}

function requirePatterns(patterns: readonly string[]): void {
  for (const [index, pattern] of patterns.entries())
    try {
      compilePattern(pattern);
    } catch (error) {
      throw invalidValue(`patterns.${index}`, `must be a regular expression: ${String(error)}`);
    }
}

/** Returns recorded contents. Throws 404, and 403 for requests of other keys without the scope `keys`. */
export async function readContents(deps: ContentDeps, caller: Caller, id: string): Promise<RequestContents> {
  const contents = await findContents(deps, caller, id);
  if (contents === null) throw notFound('request_contents', id, 'request_id');
  const { row, expiresAt } = contents;
  if (!mayRead(caller, row)) requireScope(caller, 'keys');
  return {
    ...{ id, object: 'request.contents', expires_at: expiresAt },
    prompt: row.prompt === null ? null : JSON.parse(row.prompt),
    answer: JSON.parse(row.answer) as Omit<AnswerItem, 'isTruncated'>[],
    is_truncated: row.isTruncated,
  };
}

/** Whether a request has contents that the caller may read. */
export async function hasReadableContents(deps: ContentDeps, caller: Caller, id: string): Promise<boolean> {
  const contents = await findContents(deps, caller, id);
  return contents !== null && mayRead(caller, contents.row);
}

/** Selects contents that have not expired, with their expiry in Unix milliseconds. */
async function findContents(
  { db, now }: ContentDeps,
  { organizationId }: Caller,
  id: string,
): Promise<{ row: ContentsRow; expiresAt: number } | null> {
  const row = isId('request', id) ? await selectRequestContents(db.sql, organizationId, id) : null;
  if (row === null) return null;
  const days = (await selectRecording(db.sql, organizationId))?.retentionDays ?? 0;
  const expiresAt = idTime('request', id) + days * DAY_MS;
  return expiresAt > now() ? { row, expiresAt } : null;
}

/** Keys and users may read the contents of their own requests. */
const mayRead = (caller: Caller, { keyId }: Pick<ContentsRow, 'keyId'>): boolean =>
  caller.keyId === keyId || hasScope(caller, 'keys');

/** Deletes the contents of a request, or all contents if `id` is absent. Throws 404, and 403 unless an owner calls. */
export async function removeContents({ db }: Pick<Deps, 'db'>, call: Call, id?: string) {
  requireOwner(call, OWNERS);
  const { organizationId } = call.caller;
  const resourceId = id ?? organizationId;
  await db.sql.transaction(async (sql) => {
    if (id === undefined) await deleteContentsOfOrganization(sql, organizationId);
    else if (!(await deleteContents(sql, organizationId, id))) throw notFound('request_contents', id, 'request_id');
    await recordChange(sql, toActor(call), { action: 'request_contents.deleted', organizationId, resourceId });
  });
  return { id: resourceId, object: 'request.contents' as const, deleted: true as const };
}

/** Deletes contents that are older than the retention of their organization. */
export async function deleteExpiredContents({ db, now }: ContentDeps): Promise<void> {
  for (const { organizationId, retentionDays } of await selectRecordings(db.sql))
    await deleteContentsOfOrganization(db.sql, organizationId, minIdAt('request', now() - retentionDays * DAY_MS));
}

const viewSettings = ({ isEnabled, retentionDays, detectors, patterns }: RecordingRow) => ({
  ...{ enabled: isEnabled, retention_days: retentionDays, detectors, patterns },
});

const viewRecording = (row: RecordingRow, hasAny: boolean): RequestRecording => ({
  ...{ object: 'request.recording', ...viewSettings(row), has_contents: hasAny },
});
