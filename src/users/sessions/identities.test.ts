import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { asUser, type ConsoleUser, joinAsUser, PASSWORD, SAME_ORIGIN } from '../../../test/console-users.ts';
import { assertError } from '../../../test/harness.ts';
import { useOidcLinking } from '../../../test/oidc-linking.ts';
import { holdStatement } from '../../../test/support/hold-statement.ts';
import { untilBlocked } from '../../../test/support/until-blocked.ts';

const { test, startLink, identitiesOf, auditOf } = useOidcLinking();

/** A user who signs in through the issuer only. */
async function withoutPassword(): Promise<ConsoleUser> {
  const { session: cookie } = await test.browser.signIn();
  const headers = { cookie, ...SAME_ORIGIN };
  const { json } = await test.api.send('GET', '/v1/session', { key: null, headers });
  const send: ConsoleUser['send'] = (method, path, body) => test.api.send(method, path, { key: null, headers, body });
  return { ...json.user, cookie, send };
}

describe('the identities of a user', () => {
  const list = async ({ send }: ConsoleUser) => (await send('GET', '/v1/session/identities')).json.data;
  const link = async (user: ConsoleUser, sub: string) => {
    test.issuer.person = { ...test.issuer.person, sub };
    assert.equal((await test.browser.finish(await startLink(user))).error, null);
  };

  it('are listed and removed by the user, which ends the other sessions', async () => {
    const user = await joinAsUser(test.api, 'viewer');
    const other = await joinAsUser(test.api, 'viewer');
    await link(user, `o'ne ${user.id}`);
    await link(user, `two ${user.id}`);
    await link(other, `other ${user.id}`);
    const elsewhere = asUser(
      test.api,
      await test.api.send('GET', '/v1/session', {
        key: null,
        headers: { cookie: (await test.browser.signIn()).session },
      }),
    );
    assert.equal(elsewhere.id, other.id);
    const identities = await list(user);
    assert.deepEqual(
      identities.map(({ subject, issuer: from }: { subject: string; issuer: string }) => [subject, from]),
      [
        [`o'ne ${user.id}`, test.issuer.url],
        [`two ${user.id}`, test.issuer.url],
      ],
    );
    const [{ id: foreign }] = await list(other);
    for (const id of [foreign, `${foreign}x`, 'x']) {
      const path = `/v1/session/identities/${id}`;
      assertError(await user.send('DELETE', path), 404, 'identity_not_found', 'identity_id');
    }
    const second = await joinAsUser(test.api, 'viewer', { email: user.email });
    const path = `/v1/session/identities/${identities[0].id}`;
    assert.deepEqual((await user.send('DELETE', path)).json, {
      id: identities[0].id,
      object: 'identity',
      deleted: true,
    });
    assertError(await user.send('DELETE', path), 404, 'identity_not_found', 'identity_id');
    assert.deepEqual(await identitiesOf(user), [`two ${user.id}`]);
    assertError(await second.send('GET', '/v1/session'), 401, 'invalid_session');
    assert.equal((await user.send('GET', '/v1/session')).status, 200);
    assert.equal((await other.send('GET', '/v1/session')).status, 200);
    assert.deepEqual((await auditOf(user)).at(-1), [
      'user.identity_unlinked',
      [
        { field: 'issuer', from: test.issuer.url },
        { field: 'subject', from: `o'ne ${user.id}` },
      ],
    ]);
  });

  it('keep one way to sign in', async () => {
    const user = await withoutPassword();
    const [identity] = await list(user);
    const answer = await user.send('DELETE', `/v1/session/identities/${identity.id}`);
    assertError(answer, 400, 'invalid_value', 'identity_id');
    assert.equal((await identitiesOf(user)).length, 1);
  });

  it('keep one way to sign in when two are removed at the same moment', async (t) => {
    const user = await withoutPassword();
    const started = await startLink(user);
    test.issuer.person = { ...test.issuer.person, sub: `second of ${user.id}` };
    assert.equal((await test.browser.finish(started)).error, null);
    const paths = (await list(user)).map(({ id }: { id: string }) => `/v1/session/identities/${id}`);
    const deletion = holdStatement(t, /^delete from "user_identities"/, { at: 'result' });
    const first = user.send('DELETE', paths[0]);
    await deletion.reached();
    const second = user.send('DELETE', paths[1]);
    await untilBlocked(test.api.db, second);
    deletion.release();
    assert.deepEqual([(await first).status, (await second).status], [200, 400]);
    assert.equal((await identitiesOf(user)).length, 1);
  });

  it('are removed with one that is being linked at the moment of a password change', async (t) => {
    const user = await joinAsUser(test.api, 'viewer');
    const started = await startLink(user);
    const linking = holdStatement(t, /^insert into "user_identities"/);
    const finished = test.browser.finish(started);
    await linking.reached();
    const body = { current_password: PASSWORD, new_password: 'a new password', remove_identities: true };
    const change = user.send('POST', '/v1/session/password', body);
    await untilBlocked(test.api.db, change);
    linking.release();
    assert.deepEqual([(await finished).error, (await change).status], [null, 200]);
    assert.deepEqual(await identitiesOf(user), []);
  });

  it('stay after a password change unless the user removes them', async () => {
    const user = await joinAsUser(test.api, 'viewer');
    await link(user, `kept ${user.id}`);
    const change = async ({ send }: ConsoleUser, from: string, to: string, body: object) =>
      asUser(
        test.api,
        await send('POST', '/v1/session/password', { current_password: from, new_password: to, ...body }),
      );
    const renewed = await change(user, PASSWORD, 'a new password', {});
    assert.equal((await identitiesOf(user)).length, 1);
    const kept = await change(renewed, 'a new password', 'another password', { remove_identities: false });
    assert.equal((await identitiesOf(user)).length, 1);
    await change(kept, 'another password', 'a third password', { remove_identities: true });
    assert.deepEqual(await identitiesOf(user), []);
    assert.equal((await auditOf(user)).at(-1)?.[0], 'user.identity_unlinked');
  });

  it('stay after a reset of the password unless its link is used to remove them', async () => {
    const user = await joinAsUser(test.api, 'viewer');
    const other = await joinAsUser(test.api, 'viewer');
    await link(user, `reset ${user.id}`);
    await link(other, `other ${user.id}`);
    for (const [isRemoved, left] of [
      [false, 1],
      [true, 0],
    ] as const) {
      const { json } = await test.api.send('POST', `/v1/admin/users/${user.id}/password-reset`);
      const body = { token: json.token, new_password: 'a new password', remove_identities: isRemoved };
      asUser(test.api, await test.api.send('POST', '/v1/session/password-reset', { key: null, body }));
      assert.equal((await identitiesOf(user)).length, left);
    }
    assert.equal((await identitiesOf(other)).length, 1);
  });
});
