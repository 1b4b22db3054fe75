/** The rights that each route needs. Reads the route table, so that no new route is forgotten. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SCOPES, type Scope } from '../src/lib/caller.ts';
import { joinAsUser } from './console-users.ts';
import { type Answer, assertError, useApi } from './harness.ts';
import { listRoutes, type Route, routeName } from './route-table.ts';

/** Routes for every key, with the reason. */
const ANY_KEY: Record<string, string> = {
  'GET /v1/models': 'models are the same for all organizations; a key with a list of models sees those',
  'GET /v1/models (anthropic)': 'the same list in the form of Anthropic',
  'GET /v1/models/:model_id': 'as the list',
  'GET /v1/models/:model_id (anthropic)': 'as the list',
  'GET /api/tags': 'as `GET /v1/models`, in the form of Ollama',
  'GET /api/ps': 'as `GET /v1/models`',
  'POST /api/show': 'as `GET /v1/models/:model_id`',
  'GET /v1/usage': 'usage of the own organization; names of people only with the scope `keys`',
  'GET /v1/usage/summary': 'as `GET /v1/usage`',
  'GET /v1/requests': 'requests of the own organization without texts, as `GET /v1/usage`',
  'GET /v1/requests/:request_id': 'as the list',
  'GET /v1/requests/:request_id/contents': 'contents of the own requests; of others only with the scope `keys`',
};

const SESSION = 'the handler requires a session';

/** Routes without a key, with the reason. */
const PUBLIC: Record<string, string> = {
  'GET /': 'the console, whose pages have no data',
  'GET /healthz': 'probes of supervisors',
  'GET /readyz': 'probes of load balancers',
  'GET /version': 'tells clients what they talk to',
  'GET /api/version': 'a constant, which clients of Ollama read before they have a key',
  'GET /metrics': 'the handler requires loopback or the scope `admin`',
  'GET /openapi.json': 'the description of the API, which is public',
  'GET /.well-known/oauth-protected-resource': 'tells clients of `/mcp` how to authenticate',
  'GET /.well-known/oauth-protected-resource/mcp': 'the same',
  'GET /v1/session/options': 'the sign-in page reads it before the sign-in',
  'POST /v1/session': 'sign-in',
  'GET /v1/session': SESSION,
  'PATCH /v1/session': SESSION,
  'DELETE /v1/session': SESSION,
  'POST /v1/session/password': SESSION,
  'GET /v1/browser-sessions': SESSION,
  'DELETE /v1/browser-sessions/:session_id': SESSION,
  'GET /v1/session/identities': SESSION,
  'DELETE /v1/session/identities/:identity_id': SESSION,
  'POST /v1/session/oidc': 'sign-in',
  'GET /v1/session/oidc/callback': 'the handler requires the cookie of a started sign-in',
  'POST /v1/session/password-reset': 'the handler requires a one-time token',
  'POST /v1/invitations/accept': 'the handler requires a one-time token',
};

const ROUTES = await listRoutes('/');
const scopeOf = ({ config }: Route) => config?.scope;
const namesOf = (routes: readonly Route[]) => routes.map(routeName).toSorted();
const pathOf = ({ url }: Route) => url.replaceAll(/:\w+/g, 'x');
const isScope = (scope: string | undefined): scope is Scope => SCOPES.some((each) => each === scope);

describe('the route table', () => {
  const api = useApi();
  const limited = useApi({ rateLimits: 'requests=1' });

  it('every route declares a scope, or is listed here with its reason', () => {
    const open = ROUTES.filter((route) => scopeOf(route) === undefined);
    assert.deepEqual(namesOf(open), Object.keys(ANY_KEY).toSorted());
    // The pages of the API reference are files.
    const isDocs = ({ url }: Route) => url === '/docs' || url.startsWith('/docs/');
    const withoutKey = ROUTES.filter((route) => scopeOf(route) === 'public' && !isDocs(route));
    assert.deepEqual(namesOf(withoutKey), Object.keys(PUBLIC).toSorted());
  });

  it('403 for a key with every other scope', async () => {
    const scoped = ROUTES.filter((route) => isScope(scopeOf(route)));
    assert.ok(scoped.length > 60, `${scoped.length} routes`);
    for (const scope of SCOPES) {
      // `admin` includes `keys`.
      const scopes = SCOPES.filter((each) => each !== scope && !(scope === 'keys' && each === 'admin'));
      const { key } = await api.makeKey({ scopes });
      for (const route of scoped.filter((each) => scopeOf(each) === scope)) {
        const answer = await api.send(route.method, pathOf(route), { key });
        assert.equal(answer.status, 403, `${routeName(route)}: ${answer.text}`);
        assertError(answer, 403, 'insufficient_scope');
      }
    }
  });

  it('401 with a challenge without a key, and 200 or 404 for a key without scopes where any key is enough', async () => {
    const { key } = await api.makeKey({ scopes: [] });
    for (const route of ROUTES.filter((each) => scopeOf(each) !== 'public')) {
      const rejected = await api.send(route.method, pathOf(route), { key: null });
      assertError(rejected, 401, 'invalid_api_key');
      const [challenge, metadata] = (rejected.headers.get('www-authenticate') ?? '').split(', ');
      assert.equal(challenge, 'Bearer realm="quire"', routeName(route));
      assert.equal(metadata?.startsWith('resource_metadata='), route.url === '/mcp' ? true : undefined);
      const unknown = await api.send(route.method, pathOf(route), { key: 'quire-sk-unknown' });
      assert.match(unknown.headers.get('www-authenticate') ?? '', /^Bearer realm="quire", error="invalid_token"/);
      if (scopeOf(route) !== undefined) continue;
      const body = route.hasBody ? { body: { model: 'x' } } : {};
      const { status } = await api.send(route.method, pathOf(route), { key, ...body });
      assert.ok(status === 200 || status === 404, `${routeName(route)}: ${status}`);
    }
  });

  it('users are told of their role, not of an API key', async () => {
    const owner = await joinAsUser(api, 'owner', { organization: 'people' });
    for (const role of ['owner', 'developer', 'viewer'] as const) {
      const { send } = await joinAsUser(api, role, { organization: 'people' });
      let rejections = 0;
      for (const route of ROUTES.filter((each) => isScope(scopeOf(each)))) {
        const { status, text } = await send(route.method, pathOf(route));
        if (status !== 403) continue;
        rejections += 1;
        assert.match(text, /[Yy]our role|Only owners/, routeName(route));
        assert.doesNotMatch(text, /API key|this key|calling key/i, routeName(route));
      }
      assert.ok(rejections > 10, `${role}: ${rejections}`);
    }
    const { id: operatorKey } = await api.makeKey({ organization: 'people', scopes: ['admin'] });
    for (const change of ['rotate', 'revoke']) {
      const answer = await owner.send('POST', `/v1/admin/keys/${operatorKey}/${change}`, {});
      assertError(answer, 403, 'insufficient_scope', 'key_id');
      assert.match(answer.text, /Your role lacks the scope 'admin'/);
    }
  });

  it('users are told of their own limits', async () => {
    const user = await joinAsUser(limited, 'developer');
    const answers = [await user.send('GET', '/v1/files'), await user.send('GET', '/v1/files')];
    const text = answers.map((answer) => answer.text).join('');
    assertError(answers[1] as Answer, 429, 'rate_limit_exceeded');
    assert.match(text, /of this user/);
    assert.doesNotMatch(text, /API key/);
    const byKey = [await limited.send('GET', '/v1/files'), await limited.send('GET', '/v1/files')];
    assert.match(byKey[1]?.text ?? '', /of this API key/);
  });

  it('401 without a session where the handler requires one', async () => {
    const bodies: Record<string, object> = {
      'PATCH /v1/session': { organization_id: 'org_0' },
      'POST /v1/session/password': { current_password: 'x', new_password: 'a long password' },
    };
    for (const route of ROUTES.filter((each) => PUBLIC[routeName(each)] === SESSION)) {
      const body = bodies[routeName(route)];
      const answer = await api.send(route.method, pathOf(route), { key: null, ...(body !== undefined && { body }) });
      assertError(answer, 401, 'invalid_session');
    }
  });

  it('401 with a challenge for cookies where no key is accepted, so that browsers ask for no password', async () => {
    const wrong = { email: 'nobody@example.com', password: 'x' };
    for (const [method, path, options] of [
      ['GET', '/v1/session', {}],
      ['DELETE', '/v1/session', { headers: { cookie: 'quire_session=unknown', 'sec-fetch-site': 'same-origin' } }],
      ['POST', '/v1/session', { body: wrong }],
      ['GET', '/v1/files', { headers: { cookie: 'quire_session=unknown' } }],
    ] as const) {
      const { status, headers } = await api.send(method, path, { key: null, ...options });
      assert.equal(status, 401);
      assert.match(
        headers.get('www-authenticate') ?? '',
        /^Cookie realm="quire", form-action="\/sign-in", cookie-name=/,
      );
    }
  });
});
