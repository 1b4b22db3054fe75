import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { type ConsoleUser, inviteUser, joinAsUser, PASSWORD } from '../../test/console-users.ts';
import { assertError } from '../../test/harness.ts';
import { useOidcApi } from '../../test/oidc-browser.ts';

const test = useOidcApi();
const OWN = "the o'rganization";

let persons = 0;
beforeEach(() => {
  persons += 1;
  const email = `person${persons}@example.com`;
  test.issuer.person = { sub: `person ${persons}`, email, email_verified: true };
});

const invite = async ({ send }: Pick<ConsoleUser, 'send'>): Promise<string> => {
  const { status, json, text } = await send('POST', '/v1/admin/invitations', { role: 'owner' });
  assert.equal(status, 200, text);
  return json.token;
};

/** Ways to accept an invitation. Each resolves with whether it was accepted. */
const PATHS: Record<string, (token: string) => Promise<boolean>> = {
  'by password': async (token) => {
    const body = { token, email: `new${persons}@example.com`, password: PASSWORD };
    const answer = await test.api.send('POST', '/v1/invitations/accept', { key: null, body });
    if (answer.status === 200) return true;
    assertError(answer, 400, 'invalid_value', 'token');
    return false;
  },
  'through the issuer': async (token) => {
    const { error } = await test.browser.signIn({ invitation: token });
    assert.ok(error === null || error === 'invalid_invitation', String(error));
    return error === null;
  },
};

const members = (id: string) => `/v1/admin/members/${id}`;

/** What takes the right to invite from an owner. */
const ENDS: Record<string, (owner: ConsoleUser, other: ConsoleUser) => Promise<unknown>> = {
  'is removed': (owner, other) => other.send('DELETE', members(owner.id)),
  'leaves the organization': (owner) => owner.send('DELETE', members(owner.id)),
  'becomes a developer': (owner, other) => other.send('PATCH', members(owner.id), { role: 'developer' }),
};

describe('an open invitation', () => {
  for (const [path, accept] of Object.entries(PATHS)) {
    for (const [end, run] of Object.entries(ENDS)) {
      it(`ends when its creator ${end}: accepted ${path}`, async () => {
        const owner = await joinAsUser(test.api, 'owner', { organization: OWN });
        const other = await joinAsUser(test.api, 'owner', { organization: OWN });
        // An owner elsewhere.
        await joinAsUser(test.api, 'owner', { organization: 'another', email: owner.email });
        const token = await invite(owner);
        await run(owner, other);
        assert.equal(await accept(token), false);
      });
    }

    it(`of an owner, an operator, an admin key or the setup is accepted ${path}`, async () => {
      const owner = await joinAsUser(test.api, 'owner', { organization: OWN });
      const operator = await joinAsUser(test.api, 'developer', { organization: OWN, isOperator: true });
      const key = { send: (method: string, url: string, body?: unknown) => test.api.send(method, url, { body }) };
      const tokens = [
        await invite(owner),
        await invite(operator),
        await invite(key),
        await inviteUser(test.api, 'viewer'),
      ];
      for (const token of tokens) {
        persons += 1;
        test.issuer.person = { ...test.issuer.person, sub: `person ${persons}`, email: `person${persons}@example.com` };
        assert.ok(await accept(token));
      }
    });
  }

  it('ends when its creator is no operator any more, and when its key is revoked', async () => {
    const operator = await joinAsUser(test.api, 'developer', { organization: OWN, isOperator: true });
    const { id, key } = await test.api.makeKey({ organization: OWN, scopes: ['admin'] });
    const byKey = { send: (method: string, url: string, body?: unknown) => test.api.send(method, url, { body, key }) };
    const tokens = [await invite(operator), await invite(byKey)];
    await test.api.db.execute('update users set is_operator = false where id = $1', [operator.id]);
    await test.api.db.execute('update api_keys set revoked_at = now() where id = $1', [id]);
    for (const token of tokens) assert.equal(await PATHS['by password']?.(token), false);
  });
});
