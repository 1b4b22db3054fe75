import type { IncomingHttpHeaders } from 'node:http';
import type { Secrets } from '../../lib/secrets.ts';
import { isHttps, readCookie } from '../sessions/session-cookie.ts';
import type { OidcChecks } from './oidc-provider.ts';

const COOKIE = 'quire_oidc';
const PATH = '/v1/session/oidc';
/** Time for the sign-in at the issuer. */
const LIFETIME_SECONDS = 600;
/** Sealing context of the cookie, with the version of `OidcTransaction`: rejects cookies of other versions. */
const SEALED_FOR = `${COOKIE} 2`;

/** A sign-in that the browser has started and that its callback completes. */
export interface OidcTransaction extends OidcChecks {
  redirectUri: string;
  /** Path of the console that the sign-in returns to. */
  returnTo: string;
  /** SHA-256 of the session token whose user is linked with the person; null: a sign-in. */
  linkSession: string | null;
  /** Token of an invitation that the sign-in accepts. */
  invitation: string | null;
  /** Milliseconds since 1970. */
  expiresAt: number;
}

/** A transaction without its deadline. */
export type NewTransaction = Omit<OidcTransaction, 'expiresAt'>;

/**
 * The `Set-Cookie` header that stores a transaction, encrypted; null removes it. `SameSite=Lax`: browsers send it with
 * the redirect from the issuer, with which they do not send the session cookie.
 */
export function transactionCookie(
  secrets: Secrets,
  transaction: NewTransaction | null,
  { headers, now }: { headers: IncomingHttpHeaders; now: number },
): string {
  const lifetime = transaction === null ? 0 : LIFETIME_SECONDS;
  const text = JSON.stringify({ ...transaction, expiresAt: now + LIFETIME_SECONDS * 1000 });
  // The value of a cookie must not contain `=` here.
  const value = transaction === null ? '' : Buffer.from(secrets.seal(text, SEALED_FOR), 'base64').toString('base64url');
  const secure = isHttps(headers) ? '; Secure' : '';
  return `${COOKIE}=${value}; Path=${PATH}; HttpOnly; SameSite=Lax; Max-Age=${lifetime}${secure}`;
}

/** Reads the transaction of a request. Returns null when the cookie is missing, expired or changed. */
export function readTransaction(secrets: Secrets, headers: IncomingHttpHeaders, now: number): OidcTransaction | null {
  const value = readCookie(headers, COOKIE);
  if (value === null) return null;
  const transaction = openSealed(secrets, value);
  return transaction !== null && transaction.expiresAt > now ? transaction : null;
}

function openSealed(secrets: Secrets, value: string): OidcTransaction | null {
  try {
    return JSON.parse(secrets.open(Buffer.from(value, 'base64url').toString('base64'), SEALED_FOR)) as OidcTransaction;
  } catch {
    // Sealed with an earlier key, or written by somebody else.
    return null;
  }
}
