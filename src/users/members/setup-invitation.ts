import { selectOrganizationByName } from '../../accounts/store.ts';
import { SERVICE_ACTOR } from '../../audit/record-change.ts';
import type { Deps } from '../../deps.ts';
import { DEFAULT_ORGANIZATION } from '../../lib/caller.ts';
import { hasAnyUser } from '../store.ts';
import { addInvitation } from './invitations.ts';

/**
 * Creates the one-time invitation of an operator while the instance has no user: at every start, so that a lost link is
 * replaced. Returns its token; null when a user exists.
 */
export async function createSetupInvitation({ db, now }: Pick<Deps, 'db' | 'now'>): Promise<string | null> {
  if (await hasAnyUser(db.sql)) return null;
  const organization = await selectOrganizationByName(db.sql, DEFAULT_ORGANIZATION);
  if (organization === null) return null;
  const createdBy = SERVICE_ACTOR.id;
  const grant = { organizationId: organization.id, role: 'owner', isOperator: true, note: null, createdBy } as const;
  const { token } = await addInvitation(db.sql, grant, now());
  return token;
}
