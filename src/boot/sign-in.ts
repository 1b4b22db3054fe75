import type { Config } from '../config/config.ts';
import type { Deps } from '../deps.ts';
import type { Authenticate } from '../http/auth.ts';
import type { Caller } from '../lib/caller.ts';
import type { LimitStore } from '../limits/limit-store.ts';
import { signInLimiter } from '../limits/sign-in-limiter.ts';
import { PASSWORD_COST, type PasswordCost } from '../users/password.ts';
import { findSession } from '../users/sessions/authenticate-session.ts';
import { readSessionToken } from '../users/sessions/session-cookie.ts';
import { createOidcProvider } from '../users/sign-in/oidc-provider.ts';

/** Dependencies of `authenticateBy`. */
export type AuthenticationDeps = Pick<Deps, 'db' | 'now'> & {
  /** Resolves the caller of an `Authorization` header; throws 401. */
  authenticateKey(authorization: string | undefined): Caller | Promise<Caller>;
};

/**
 * Authenticates by the `Authorization` header, without one by Anthropic's `x-api-key`, and without both by the session
 * cookie of the console.
 */
export function authenticateBy(deps: AuthenticationDeps): Authenticate {
  return ({ method, headers }) => {
    const key = headers['x-api-key'];
    const authorization = headers.authorization ?? (key === undefined ? undefined : `Bearer ${String(key)}`);
    if (authorization !== undefined || readSessionToken(headers) === null) return deps.authenticateKey(authorization);
    return findSession(deps, method, headers).then((found) => found?.caller ?? deps.authenticateKey(undefined));
  };
}

/** Dependencies of `assembleSignIn`. */
interface SignInDeps {
  config: Config;
  /** Buckets of attempts to sign in, which all processes share. */
  limitStore: LimitStore;
  /** Cost of password hashes; tests lower it. */
  passwordCost?: PasswordCost;
}

/** Adds what signing in needs: limits of attempts, cost of password hashes, and the OpenID Connect issuer, if any. */
export function assembleSignIn<Base extends SignInDeps>(deps: Base) {
  const { oidcIssuer } = deps.config;
  return {
    ...deps,
    signInLimits: signInLimiter(deps.limitStore),
    passwordCost: deps.passwordCost ?? PASSWORD_COST,
    oidc: oidcIssuer === null ? null : createOidcProvider(oidcIssuer, deps.config),
  };
}
