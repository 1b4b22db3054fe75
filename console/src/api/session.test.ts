import '../../test/browser-globals.ts';

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { QueryClient } from '@tanstack/react-query';
import { recordRequests } from '../../test/record-requests.ts';
import { acceptInvitation, resetPassword, type Session, sessionQuery, signIn, switchOrganization } from './session.ts';

const session = (organizationId: string) => ({ organization: { id: organizationId } }) as Session;

describe('the query cache', () => {
  /** Keys with and without the id of the organization, as the pages use them. */
  const KEYS = [['session'], ['models'], ['kb-options', ''], ['files', 'org_1', undefined], ['knowledge-base', 'kb_1']];

  for (const [name, open, request] of [
    [
      'a sign-in',
      (queryClient) => signIn(queryClient, { email: 'a@b.example', password: 'x' }),
      ['POST', '/v1/session', { email: 'a@b.example', password: 'x' }],
    ],
    [
      'an accepted invitation',
      (queryClient) => acceptInvitation(queryClient, { token: 't', email: 'a@b.example', name: 'Ada', password: 'x' }),
      ['POST', '/v1/invitations/accept', { token: 't', email: 'a@b.example', name: 'Ada', password: 'x' }],
    ],
    [
      'a password reset',
      (queryClient) => resetPassword(queryClient, { token: 't', new_password: 'x' }),
      ['POST', '/v1/session/password-reset', { token: 't', new_password: 'x' }],
    ],
    [
      'another organization of the user',
      (queryClient) => switchOrganization(queryClient, 'org_2'),
      ['PATCH', '/v1/session', { organization_id: 'org_2' }],
    ],
  ] as [string, (queryClient: QueryClient) => Promise<void>, unknown[]][]) {
    it(`has nothing of the previous session after ${name}, and everything after its failure`, async (t) => {
      const queryClient = new QueryClient();
      t.after(() => queryClient.clear());
      let status = 400;
      const requests = recordRequests(t, () => Response.json(session('org_2'), { status }));
      for (const queryKey of KEYS) queryClient.setQueryData(queryKey, session('org_1'));
      const slow = Promise.withResolvers<string>();
      // A read that began before the change and ends after it.
      const reading = queryClient.fetchQuery({ queryKey: ['batches', 'org_1'], queryFn: () => slow.promise });
      await assert.rejects(open(queryClient), { status: 400 });
      assert.equal(queryClient.getQueryCache().getAll().length, KEYS.length + 1);
      status = 200;
      await open(queryClient);
      slow.resolve('of the previous organization');
      await reading.catch(() => {});
      const cached = queryClient.getQueryCache().getAll();
      assert.deepEqual(
        cached.map(({ queryKey, state }) => [queryKey, state.data]),
        [[sessionQuery.queryKey, session('org_2')]],
      );
      const sent = requests.map(({ method, path, body }) => [method, path, body]);
      assert.deepEqual(sent, [request, request]);
    });
  }

  it('has null for a session that has ended, and an error when the service cannot tell', async (t) => {
    const queryClient = new QueryClient({ defaultOptions: { queries: { retry: false } } });
    t.after(() => queryClient.clear());
    let status = 401;
    const error = { message: 'Sign in.', code: 'invalid_session', param: null };
    const requests = recordRequests(t, () => Response.json({ error }, { status }));
    assert.equal(await queryClient.fetchQuery(sessionQuery), null);
    status = 503;
    queryClient.clear();
    await assert.rejects(queryClient.fetchQuery(sessionQuery), { status: 503 });
    assert.deepEqual(
      requests.map(({ method, path }) => `${method} ${path}`),
      ['GET /v1/session', 'GET /v1/session'],
    );
  });
});
