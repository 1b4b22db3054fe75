import type { IncomingHttpHeaders } from 'node:http';
import { crossSiteRequest } from '../../errors.ts';

const COOKIE = 'quire_session';

/** Lifetime of a session without a request. */
export const SESSION_MS = 7 * 86_400_000;

/** Returns the session token of a request; null without one. */
export const readSessionToken = (headers: IncomingHttpHeaders): string | null => readCookie(headers, COOKIE);

/** Returns the value of a cookie of a request; null without one. */
export function readCookie({ cookie = '' }: IncomingHttpHeaders, name: string): string | null {
  for (const pair of cookie.split(';')) {
    const [key, value] = pair.trim().split('=', 2);
    if (key === name && value) return value;
  }
  return null;
}

/** Whether the browser uses HTTPS: behind a proxy that ends TLS. A client that lies changes only its own cookie. */
export const isHttps = (headers: IncomingHttpHeaders): boolean => headers['x-forwarded-proto'] === 'https';

/** The `Set-Cookie` header that stores a token; `token` null removes it. */
export function sessionCookie(token: string | null, headers: IncomingHttpHeaders): string {
  const lifetime = token === null ? 0 : SESSION_MS / 1000;
  const secure = isHttps(headers) ? '; Secure' : '';
  return `${COOKIE}=${token ?? ''}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${lifetime}${secure}`;
}

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * Throws 403 `insufficient_scope` for a request that changes something and that a page of another origin may have sent
 * (CSRF). Browsers set both headers, and pages cannot change them; `requireHeader` rejects requests without them.
 */
export function requireSameOrigin(method: string, headers: IncomingHttpHeaders, { requireHeader = true } = {}): void {
  if (SAFE_METHODS.has(method)) return;
  const { origin, host, 'sec-fetch-site': site } = headers;
  const isSame = site === undefined ? originHost(origin) === host : site === 'same-origin';
  const isAbsent = site === undefined && origin === undefined;
  if (isAbsent ? requireHeader : !isSame) throw crossSiteRequest();
}

function originHost(origin: string | undefined): string | null {
  return origin !== undefined && URL.canParse(origin) ? new URL(origin).host : null;
}
