import { lockOrganization } from '../accounts/store.ts';
import { recordChange, toActor } from '../audit/record-change.ts';
import type { Deps } from '../deps.ts';
import type { Call } from '../lib/caller.ts';
import { requireOwner } from '../users/members/invitations.ts';
import type { ChatHistorySettings, UpdateChatHistorySettings } from './schema.ts';
import { type ChatSettingsRow, selectChatSettings, upsertChatSettings } from './store.ts';

/** The settings of the chats of the caller's organization. */
export async function getChatSettings({ db }: Pick<Deps, 'db'>, { caller }: Call): Promise<ChatHistorySettings> {
  return viewSettings(await selectChatSettings(db.sql, caller.organizationId));
}

/** Changes the settings of the chats of the caller's organization. Throws 403 unless the caller is an owner. */
export async function updateChatSettings(
  { db }: Pick<Deps, 'db'>,
  call: Call,
  { retention_days: days, model_titles: titles }: UpdateChatHistorySettings,
): Promise<ChatHistorySettings> {
  requireOwner(call);
  const { organizationId } = call.caller;
  if (days === undefined && titles === undefined) return getChatSettings({ db }, call);
  return db.sql.transaction(async (sql) => {
    // Of two changes at one moment, the second one keeps the fields of the first one.
    await lockOrganization(sql, organizationId);
    const before = await selectChatSettings(sql, organizationId);
    const after = {
      retentionDays: days === undefined ? before.retentionDays : days,
      hasModelTitles: titles ?? before.hasModelTitles,
    };
    await upsertChatSettings(sql, organizationId, after);
    const changes = [
      ...(days === undefined ? [] : [{ field: 'chat_retention_days', from: before.retentionDays, to: days }]),
      ...(titles === undefined ? [] : [{ field: 'chat_model_titles', from: before.hasModelTitles, to: titles }]),
    ];
    const action = 'organization.updated';
    await recordChange(sql, toActor(call), { action, organizationId, resourceId: organizationId, changes });
    return viewSettings(after);
  });
}

const viewSettings = ({ retentionDays, hasModelTitles }: ChatSettingsRow): ChatHistorySettings => ({
  object: 'chat.settings',
  retention_days: retentionDays,
  model_titles: hasModelTitles,
});
