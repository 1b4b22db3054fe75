/** Races of people's rights between two processes on one database, and what sign-in routes tell without an account. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { insertOrganization } from '../../src/accounts/store.ts';
import type { Database } from '../../src/db/db.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { newId } from '../../src/lib/ids.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { addInvitation } from '../../src/users/members/invitations.ts';
import { hashPassword } from '../../src/users/password.ts';
import { selectMemberships } from '../../src/users/store.ts';
import { newToken } from '../../src/users/tokens.ts';
import { CHEAP_PASSWORDS, sendTo } from '../harness.ts';
import { createSharedStores, type SharedStores } from '../shared-stores.ts';
import { type Service, startService } from '../spawned-service.ts';
import { openUserSession } from '../support/open-session.ts';
import { scaled } from './scale.ts';

const PASSWORD = 'correct horse battery';
const OWNER_ROUNDS = scaled(60, 10);
/** Each costs one of the 20 attempts per minute of this address. */
const RESET_ROUNDS = scaled(12, 4);
const PROBES = 20;

describe('people of two processes on one database', () => {
  let shared: SharedStores;
  let db: Database;
  const services: Service[] = [];
  before(async () => {
    shared = await createSharedStores();
    for (let count = 0; count < 2; count += 1) services.push(await startService({ env: shared.env }));
    db = await openPostgres(shared.database.url, createLogger('silent'));
  });
  after(async () => {
    await Promise.all(services.map((service) => service.kill()));
    await db?.close();
    await shared.close();
  });

  /** Creates a signed-in user whose requests go to one of the services. */
  const signedIn = async (service: number, organizations: string[], role?: 'viewer') => {
    const send = (method: string, path: string, options = {}) =>
      sendTo(`${services[service]?.url}${path}`, method, options);
    const passwordHash = await hashPassword(PASSWORD, CHEAP_PASSWORDS);
    return openUserSession({ db, send }, organizations, { passwordHash, ...(role !== undefined && { role }) });
  };
  const post = (service: number, path: string, body: object) =>
    sendTo(`${services[service]?.url}${path}`, 'POST', { body });
  const organization = async (): Promise<string> => {
    const id = newId('organization');
    await insertOrganization(db.sql, id, `${id} "quoted"`);
    return id;
  };

  it(`two owners who leave at the same moment leave one owner, ${OWNER_ROUNDS} times`, async () => {
    const id = await organization();
    const owners = [await signedIn(0, [id]), await signedIn(1, [id])];
    for (let round = 0; round < OWNER_ROUNDS; round += 1) {
      const left = await Promise.all(
        owners.map((owner) => owner.send('PATCH', `/v1/admin/members/${owner.id}`, { role: 'viewer' })),
      );
      assert.deepEqual(left.map(({ status }) => status).toSorted(), [200, 400], left.map(({ text }) => text).join(' '));
      const stays = owners[left.findIndex(({ status }) => status === 400)];
      const other = owners.find((owner) => owner !== stays);
      const restored = await stays?.send('PATCH', `/v1/admin/members/${other?.id}`, { role: 'owner' });
      assert.equal(restored?.status, 200);
    }
  });

  it(`a reset link and an invitation of its user never both work, ${RESET_ROUNDS} times`, async () => {
    const [own, other] = [await organization(), await organization()];
    const owner = await signedIn(0, [own]);
    for (let round = 0; round < RESET_ROUNDS; round += 1) {
      const member = await signedIn(1, [own], 'viewer');
      const { json: link } = await owner.send('POST', `/v1/admin/users/${member.id}/password-reset`);
      const grant = {
        organizationId: other,
        role: 'owner',
        isOperator: false,
        note: null,
        createdBy: 'service',
      } as const;
      const { token } = await addInvitation(db.sql, grant, Date.now());
      const reset = post(0, '/v1/session/password-reset', { token: link.token, new_password: 'of the attacker' });
      // A hash of a new password takes longer than the whole acceptance.
      await pause((round / RESET_ROUNDS) * 600);
      const accept = post(1, '/v1/invitations/accept', { token, email: member.email, password: PASSWORD });
      const answers = await Promise.all([reset, accept]);
      assert.deepEqual(
        answers.map(({ status }) => status).toSorted(),
        [200, 400],
        answers.map(({ text }) => text).join(' '),
      );
      const joined = (await selectMemberships(db.sql, member.id)).some(({ id }) => id === other);
      assert.equal(joined, answers[1]?.status === 200);
    }
  });

  it('an unknown invitation costs no hash of a password, whether the email has an account or not', async () => {
    const { email } = await signedIn(0, [await organization()]);
    const measure = async (path: string, body: object) => {
      const startedAt = performance.now();
      const { status } = await post(0, path, body);
      return { status, ms: performance.now() - startedAt };
    };
    const medianOf = async (address: string) => {
      const times: number[] = [];
      for (let probe = 0; probe < PROBES; probe += 1) {
        const account = { token: newToken(), email: address, password: PASSWORD };
        const { status, ms } = await measure('/v1/invitations/accept', account);
        assert.equal(status, 400);
        times.push(ms);
      }
      return times.toSorted((a, b) => a - b)[PROBES / 2] ?? 0;
    };
    const unknown = { email: 'nobody@example.com', password: PASSWORD };
    const hash = await measure('/v1/session', unknown);
    assert.equal(hash.status, 401);
    for (const address of [email, 'nobody@example.com']) {
      const median = await medianOf(address);
      assert.ok(median < hash.ms / 2, `${median} ms, a hash takes ${hash.ms} ms`);
    }
  });
});
