import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ConsoleUser, inviteUser, joinAsUser, makeOrganization } from '../../test/console-users.ts';
import { assertError } from '../../test/harness.ts';
import { useOidcApi } from '../../test/oidc-browser.ts';
import { untilBlocked } from '../../test/support/until-blocked.ts';
import { newId } from '../lib/ids.ts';
import { parseGroupRoles } from '../lib/parse-group-roles.ts';
import { changeMembership } from './members/change-rights.ts';
import { insertIdentity } from './sessions/identity-store.ts';
import { hasInvitation, selectMember } from './store.ts';
import { hashToken } from './tokens.ts';

const test = useOidcApi();

let organizations = 0;

/** An organization with one owner, who also signs in through the issuer and owns another organization. */
async function makeOwner(): Promise<{ owner: ConsoleUser; organization: string; organizationId: string }> {
  organizations += 1;
  const organization = `o'r"g ${organizations}`;
  const owner = await joinAsUser(test.api, 'owner', { organization });
  await joinAsUser(test.api, 'owner', { organization: `another ${organizations}`, email: owner.email });
  const subject = `owner ${organizations}`;
  await insertIdentity(test.api.db.sql, { id: newId('identity'), issuer: test.issuer.url, subject, userId: owner.id });
  test.issuer.person = { sub: subject };
  return { owner, organization, organizationId: await makeOrganization(test.api, organization) };
}

interface Attempt {
  owner: ConsoleUser;
  organization: string;
}

/** Ways to take the role from an owner. Each resolves with whether the service said that the last owner stays. */
const WAYS: Record<string, (attempt: Attempt) => Promise<boolean>> = {
  'the page of the members': async ({ owner }) => {
    const { status, json } = await owner.send('PATCH', `/v1/admin/members/${owner.id}`, { role: 'developer' });
    return status === 400 && json.error.param === 'role';
  },
  'the removal of the member': async ({ owner }) => {
    const { status, json } = await owner.send('DELETE', `/v1/admin/members/${owner.id}`);
    return status === 400 && json.error.param === 'user_id';
  },
  'an invitation': async ({ owner, organization }) => {
    const token = await inviteUser(test.api, 'viewer', { organization });
    const body = { token, email: owner.email, password: 'correct horse battery' };
    const answer = await test.api.send('POST', '/v1/invitations/accept', { key: null, body });
    if (answer.status === 200) return false;
    assertError(answer, 400, 'invalid_value', 'token');
    assert.match(answer.text, /without an owner/);
    return hasInvitation(test.api.db.sql, hashToken(token), new Date());
  },
  'an invitation through the issuer': async ({ organization }) => {
    const invitation = await inviteUser(test.api, 'developer', { organization });
    return (await test.browser.signIn({ invitation })).error === 'last_owner';
  },
  'the groups of the issuer': async ({ organization }) => {
    Object.assign(test.api.deps.config, { oidcRoles: parseGroupRoles('staff=viewer'), oidcOrganization: organization });
    test.issuer.person = { ...test.issuer.person, groups: ['staff'] };
    const { error } = await test.browser.signIn();
    test.api.deps.config.oidcRoles = null;
    // The person signs in with the role that it had.
    return error === null;
  },
};

describe('the last owner of an organization', () => {
  for (const [way, run] of Object.entries(WAYS)) {
    it(`stays, whatever ${way} says`, async () => {
      const { owner, organization, organizationId } = await makeOwner();
      assert.ok(await run({ owner, organization }));
      assert.equal((await selectMember(test.api.db.sql, organizationId, owner.id))?.role, 'owner');
    });

    it(`loses the role by ${way} when there is another owner`, async () => {
      const { owner, organization, organizationId } = await makeOwner();
      await joinAsUser(test.api, 'owner', { organization });
      await run({ owner, organization });
      assert.notEqual((await selectMember(test.api.db.sql, organizationId, owner.id))?.role, 'owner');
      const query = `/v1/admin/audit?resource_id=${owner.id}&organization_id=${organizationId}&order=desc&limit=1`;
      const [event] = (await test.api.send('GET', query)).json.data;
      const removed = way.startsWith('the removal');
      assert.equal(event.action, removed ? 'member.removed' : 'member.updated');
      const role = (await selectMember(test.api.db.sql, organizationId, owner.id))?.role;
      assert.deepEqual(event.changes, removed ? [] : [{ field: 'role', from: 'owner', to: role }]);
    });
  }

  it('two owners who leave at the same moment leave one owner', async () => {
    const { owner: first, organization, organizationId } = await makeOwner();
    const second = await joinAsUser(test.api, 'owner', { organization });
    const actor = { id: 'user_0', address: null, requestId: null };
    const leave = (userId: string) => ({ organizationId, userId, role: null });
    let secondLeft: Promise<boolean> = Promise.resolve(true);
    const firstLeft = await test.api.db.sql.transaction(async (sql) => {
      const isLeaving = await changeMembership(sql, leave(first.id), actor);
      // On another connection, as in another process.
      secondLeft = test.api.db.sql.transaction((other) => changeMembership(other, leave(second.id), actor));
      await untilBlocked(test.api.db, secondLeft);
      return isLeaving;
    });
    assert.deepEqual([firstLeft, await secondLeft], [true, false]);
    assert.equal((await selectMember(test.api.db.sql, organizationId, second.id))?.role, 'owner');
  });
});
