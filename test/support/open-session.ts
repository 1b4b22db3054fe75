import type { UserRole } from '../../src/lib/caller.ts';
import { newId } from '../../src/lib/ids.ts';
import { openSession } from '../../src/users/sessions/sessions.ts';
import { insertUser, upsertMember } from '../../src/users/store.ts';
import type { Answer, TestApi } from '../harness.ts';

/** A user who is signed in to the console. */
export interface SignedIn {
  id: string;
  email: string;
  /** Headers of its requests. */
  headers: Record<string, string>;
  /** Sends a request as the console does. */
  send(method: string, path: string, body?: unknown): Promise<Answer>;
}

/** Creates a user with a role in each organization, signed in to the first one. Costs no hash of a password. */
export async function openUserSession(
  api: Pick<TestApi, 'db' | 'send'>,
  organizationIds: readonly string[],
  { role = 'owner' as UserRole, isOperator = false, passwordHash = null as string | null } = {},
): Promise<SignedIn> {
  const id = newId('user');
  const email = `${id}@example.com`;
  await insertUser(api.db.sql, { id, email, name: id, passwordHash, isOperator });
  for (const organizationId of organizationIds) await upsertMember(api.db.sql, { organizationId, userId: id, role });
  const client = { address: '127.0.0.1', requestId: newId('request'), userAgent: null };
  const token = await openSession({ db: api.db, now: Date.now }, client, id, organizationIds[0] ?? '');
  const headers = { cookie: `quire_session=${token}`, 'sec-fetch-site': 'same-origin' };
  return { id, email, headers, send: (method, path, body) => api.send(method, path, { key: null, headers, body }) };
}
