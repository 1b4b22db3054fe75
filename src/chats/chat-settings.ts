import { recordChange, toActor } from '../audit/record-change.ts';
import type { Deps } from '../deps.ts';
import type { Call } from '../lib/caller.ts';
import { requireOwner } from '../users/members/invitations.ts';
import type { ChatHistorySettings, UpdateChatHistorySettings } from './schema.ts';
import { selectRetentionDays, upsertRetentionDays } from './store.ts';

/** The settings of the chats of the caller's organization. */
export async function getChatSettings({ db }: Pick<Deps, 'db'>, { caller }: Call): Promise<ChatHistorySettings> {
  return viewSettings(await selectRetentionDays(db.sql, caller.organizationId));
}

/** Changes the settings of the chats of the caller's organization. Throws 403 unless the caller is an owner. */
export async function updateChatSettings(
  { db }: Pick<Deps, 'db'>,
  call: Call,
  { retention_days: days }: UpdateChatHistorySettings,
): Promise<ChatHistorySettings> {
  requireOwner(call);
  const { organizationId } = call.caller;
  if (days === undefined) return getChatSettings({ db }, call);
  await db.sql.transaction(async (sql) => {
    const before = await selectRetentionDays(sql, organizationId);
    await upsertRetentionDays(sql, organizationId, days);
    const changes = [{ field: 'chat_retention_days', from: before, to: days }];
    const action = 'organization.updated';
    await recordChange(sql, toActor(call), { action, organizationId, resourceId: organizationId, changes });
  });
  return viewSettings(days);
}

const viewSettings = (days: number | null): ChatHistorySettings => ({ object: 'chat.settings', retention_days: days });
