import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  asUser,
  type ConsoleUser,
  inviteUser,
  joinAsUser,
  makeOrganization,
  PASSWORD,
} from '../../test/console-users.ts';
import { assertError, CHEAP_PASSWORDS } from '../../test/harness.ts';
import { useOidcApi } from '../../test/oidc-browser.ts';
import { OPERATOR, type UserRole } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { parseGroupRoles } from '../lib/parse-group-roles.ts';
import { createPasswordReset } from './members/reset-password.ts';
import { verifyPassword } from './password.ts';
import { insertIdentity } from './sessions/identity-store.ts';
import { selectUser } from './store.ts';

const NEW_PASSWORD = "a new password'; \n\u{1F511}";
/** The organization of the links, and another one, whose rights they must not give. */
const OWN = 'own';
const OTHER = 'other "organization"';

const test = useOidcApi({ oidcOrganization: OWN });

/** Creates a link for a user. Returns its token. */
type MakeLink = (userId: string) => Promise<string>;

/** Ways to create a link, with the right that they need. */
const MAKERS: Record<string, () => Promise<MakeLink>> = {
  'an owner': async () => linkOf(await joinAsUser(test.api, 'owner', { organization: OWN })),
  'an operator': async () => linkOf(await joinAsUser(test.api, 'owner', { organization: OTHER, isOperator: true })),
  'a key with the scope admin': async () => async (id) => {
    const { json } = await test.api.send('POST', `/v1/admin/users/${id}/password-reset`);
    return json.token;
  },
  'a command': async () => async (id) =>
    (await createPasswordReset(test.api.deps, { ...COMMAND, caller: OPERATOR }, id)).token,
};

const COMMAND = { requestId: 'req_0', endpoint: 'cli', priority: 'interactive' } as const;

const linkOf =
  (user: ConsoleUser): MakeLink =>
  async (id) => {
    const { status, json, text } = await user.send('POST', `/v1/admin/users/${id}/password-reset`);
    assert.equal(status, 200, text);
    return json.token;
  };

const redeem = (token: string) =>
  test.api.send('POST', '/v1/session/password-reset', { key: null, body: { token, new_password: NEW_PASSWORD } });

let persons = 0;

/** A member of `OWN` who signs in by password and through the issuer. */
async function makeMember(): Promise<ConsoleUser> {
  persons += 1;
  const member = await joinAsUser(test.api, 'viewer', { organization: OWN, email: `o'hara+${persons}@example.com` });
  const subject = `subject "${persons}"`;
  await insertIdentity(test.api.db.sql, { id: newId('identity'), issuer: test.issuer.url, subject, userId: member.id });
  test.issuer.person = { sub: subject };
  return member;
}

const accept = ({ email }: ConsoleUser, options: Parameters<typeof inviteUser>[2], role: UserRole = 'owner') =>
  joinAsUser(test.api, role, { ...options, email });

/** Whether the password of a user is that of the links. */
async function hasNewPassword({ id }: ConsoleUser): Promise<boolean> {
  const user = await selectUser(test.api.db.sql, id);
  return verifyPassword(NEW_PASSWORD, user?.passwordHash ?? null, CHEAP_PASSWORDS);
}

/** Fails unless a link has no effect. */
async function assertEnded(token: string, member: ConsoleUser): Promise<void> {
  assertError(await redeem(token), 400, 'invalid_value', 'token');
  assert.ok(!(await hasNewPassword(member)), 'the link must not have set the password');
}

/** Changes of a user's rights. */
const CHANGES: Record<string, (member: ConsoleUser) => Promise<unknown>> = {
  'joins another organization': (member) => accept(member, { organization: OTHER }),
  'joins another organization through the issuer': async () => {
    const invitation = await inviteUser(test.api, 'owner', { organization: OTHER });
    assert.equal((await test.browser.signIn({ invitation })).error, null);
  },
  'becomes an operator': (member) => accept(member, { organization: OWN, isOperator: true }, 'viewer'),
  'gets another role by an invitation': (member) => accept(member, { organization: OWN }),
  'gets another role on the page of the members': async ({ id }) => {
    const owner = await joinAsUser(test.api, 'owner', { organization: OWN });
    assert.equal((await owner.send('PATCH', `/v1/admin/members/${id}`, { role: 'developer' })).status, 200);
  },
  'gets another role by groups': async () => {
    test.api.deps.config.oidcRoles = parseGroupRoles('staff=developer');
    test.issuer.person = { ...test.issuer.person, groups: ['staff'] };
    assert.equal((await test.browser.signIn()).error, null);
    test.api.deps.config.oidcRoles = null;
  },
  'leaves the organization': async ({ id }) => {
    const owner = await joinAsUser(test.api, 'owner', { organization: OWN });
    assert.equal((await owner.send('DELETE', `/v1/admin/members/${id}`)).status, 200);
  },
  'changes the password': async ({ send }) => {
    const body = { current_password: PASSWORD, new_password: 'chosen by the user' };
    assert.equal((await send('POST', '/v1/session/password', body)).status, 200);
  },
};

describe('an open reset link', () => {
  for (const [maker, make] of Object.entries(MAKERS)) {
    for (const [change, run] of Object.entries(CHANGES)) {
      it(`of ${maker} ends when the user ${change}`, async () => {
        const link = await make();
        const member = await makeMember();
        const token = await link(member.id);
        await run(member);
        await assertEnded(token, member);
      });
    }

    it(`of ${maker} works once when nothing changes`, async () => {
      const link = await make();
      const member = await makeMember();
      const token = await link(member.id);
      assert.equal(asUser(test.api, await redeem(token)).id, member.id);
      assert.ok(await hasNewPassword(member));
      assertError(await redeem(token), 400, 'invalid_value', 'token');
    });
  }
});

/** Statements that change rights without ending links, as a defect would: `$1` is the user, `$2` the creator. */
const SILENT_CHANGES: Record<string, string> = {
  'the user belongs to another organization':
    "insert into members select id, $1, 'viewer' from organizations where $2 = $2 and name like 'other%'",
  'the user belongs to another organization only':
    "update members set organization_id = (select id from organizations where name like 'other%') where user_id = $1 and $2 = $2",
  'the user belongs to no organization': 'delete from members where user_id = $1 and $2 = $2',
  'the user is an operator': 'update users set is_operator = true where id = $1 and $2 = $2',
  'its creator is unknown': 'update password_resets set created_by = null where user_id = $1 and $2 = $2',
  'the creator is no owner': "update members set role = 'developer' where $1 = $1 and user_id = $2",
  'the creator belongs to another organization only':
    "update members set organization_id = (select id from organizations where name like 'other%') where $1 = $1 and user_id = $2",
};

describe('the rights of a reset link', () => {
  for (const [state, statement] of Object.entries(SILENT_CHANGES)) {
    it(`are checked when it is used: ${state}`, async () => {
      await makeOrganization(test.api, OTHER);
      const owner = await joinAsUser(test.api, 'owner', { organization: OWN });
      const member = await makeMember();
      const token = await linkOf(owner)(member.id);
      await test.api.db.execute(statement, [member.id, owner.id]);
      await assertEnded(token, member);
    });
  }

  it('are those of its creator, also for an operator who is none any more, and for a revoked or expired key', async () => {
    const operator = await joinAsUser(test.api, 'owner', { organization: OTHER, isOperator: true });
    const { id: keyId, key } = await test.api.makeKey({ scopes: ['admin'] });
    const byKey: MakeLink = async (id) =>
      (await test.api.send('POST', `/v1/admin/users/${id}/password-reset`, { key })).json.token;
    const ends: [MakeLink, string, string][] = [
      [linkOf(operator), 'update users set is_operator = false where id = $1', operator.id],
      [byKey, "update api_keys set expires_at = now() - interval '1 second' where id = $1", keyId],
      [byKey, "update api_keys set expires_at = null, scopes = '{keys}' where id = $1", keyId],
      [byKey, "update api_keys set scopes = '{admin}', revoked_at = now() where id = $1", keyId],
    ];
    for (const [link, statement, id] of ends) {
      const member = await makeMember();
      const token = await link(member.id);
      await test.api.db.execute(statement, [id]);
      await assertEnded(token, member);
    }
  });

  it('of operators cover users of several organizations, those of owners do not', async () => {
    const member = await makeMember();
    await accept(member, { organization: OTHER });
    for (const organization of [OWN, OTHER]) {
      const owner = await joinAsUser(test.api, 'owner', { organization });
      const answer = await owner.send('POST', `/v1/admin/users/${member.id}/password-reset`);
      assertError(answer, 403, 'insufficient_scope', 'user_id');
    }
    for (const maker of ['an operator', 'a key with the scope admin', 'a command']) {
      const link = await MAKERS[maker]?.();
      const token = (await link?.(member.id)) ?? '';
      assert.equal(asUser(test.api, await redeem(token)).id, member.id);
    }
    const unknown = await (await MAKERS['an owner']?.())?.(newId('user')).catch((error) => error);
    assert.match(String(unknown), /user_not_found/);
  });

  it('of an owner end with a deleted organization', async () => {
    const owner = await joinAsUser(test.api, 'owner', { organization: 'deleted' });
    const member = await joinAsUser(test.api, 'viewer', { organization: 'deleted' });
    const token = await linkOf(owner)(member.id);
    const organization = await makeOrganization(test.api, 'deleted');
    assert.equal((await test.api.send('DELETE', `/v1/admin/organizations/${organization}`)).status, 200);
    await assertEnded(token, member);
  });
});
