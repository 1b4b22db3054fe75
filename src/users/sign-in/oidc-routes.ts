import type { App } from '../../http/app.ts';
import { OidcSignIn, SignInOptions, StartOidcSignIn } from '../schema.ts';
import { readClient } from '../sessions/client-request.ts';
import { requireSameOrigin, sessionCookie } from '../sessions/session-cookie.ts';
import { confirmUser, requireSession, type SessionDeps } from '../sessions/sessions.ts';
import { readTransaction, transactionCookie } from './oidc-cookie.ts';
import { OidcError } from './oidc-error.ts';
import { finishOidcSignIn, OIDC_CALLBACK, type OidcDeps, startOidcSignIn } from './oidc-sign-in.ts';

const tags = ['Console'];
const config = { scope: 'public' } as const;

/** Sign-in through the OpenID Connect issuer: provider, start and callback. */
export function oidcRoutes(app: App, deps: OidcDeps & SessionDeps): void {
  app.get(
    '/v1/session/options',
    {
      schema: { summary: 'Get the ways to sign in to the console', tags, response: { 200: SignInOptions } },
      config,
    },
    async () => {
      const oidc = deps.oidc === null ? null : { name: deps.config.oidcName };
      return { object: 'sign_in_options' as const, oidc };
    },
  );
  startRoute(app, deps);
  callbackRoute(app, deps);
}

function startRoute(app: App, deps: OidcDeps & SessionDeps): void {
  app.post(
    '/v1/session/oidc',
    {
      schema: {
        summary: 'Start a sign-in through the OpenID Connect issuer',
        description:
          'Returns the address that the browser has to open, and sets a cookie that its return needs within ten minutes. `link` links the signed-in user with the person at the issuer instead, if its session has not ended by then.',
        tags,
        body: StartOidcSignIn,
        response: { 200: OidcSignIn },
      },
      config: { ...config, sessionErrors: [401, 403, 429] },
    },
    async (request, reply) => {
      const { headers, method, body } = request;
      requireSameOrigin(method, headers, { requireHeader: false });
      const { return_to: returnTo = '/', invitation = null, link = false, password } = body;
      const session = link ? await requireSession(deps, method, headers) : null;
      if (session !== null) await confirmUser(deps, readClient(request), session, { param: 'password', password });
      const linkSession = session?.open.session.tokenHash ?? null;
      const { url, transaction } = await startOidcSignIn(deps, headers, { returnTo, invitation, linkSession });
      reply.header('set-cookie', transactionCookie(deps.secrets, transaction, { headers, now: deps.now() }));
      return { object: 'oidc_sign_in' as const, url };
    },
  );
}

function callbackRoute(app: App, deps: OidcDeps): void {
  app.get(OIDC_CALLBACK, { schema: { hide: true }, config }, async (request, reply) => {
    const { headers, id: requestId, url } = request;
    const now = deps.now();
    const transaction = readTransaction(deps.secrets, headers, now);
    const cookies = [transactionCookie(deps.secrets, null, { headers, now })];
    const redirect = (path: string) => reply.header('set-cookie', cookies).redirect(path, 303);
    try {
      if (transaction === null) throw new OidcError('expired');
      const query = url.includes('?') ? url.slice(url.indexOf('?')) : '';
      const token = await finishOidcSignIn(deps, transaction, query, readClient(request));
      if (token !== null) cookies.push(sessionCookie(token, headers));
      return redirect(transaction.returnTo);
    } catch (error) {
      const code = error instanceof OidcError ? error.code : 'failed';
      deps.logger.warn({ requestId, code, error }, 'OpenID Connect sign-in failed');
      const isSignedIn = transaction !== null && transaction.linkSession !== null && code !== 'session_ended';
      const page = isSignedIn ? '/settings' : '/sign-in';
      return redirect(`${page}?${new URLSearchParams({ error: code, request: requestId })}`);
    }
  });
}
