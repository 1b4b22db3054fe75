import type { IncomingHttpHeaders } from 'node:http';
import type { Secrets } from '../../lib/secrets.ts';
import { newToken } from '../tokens.ts';
import { isHttps, readCookie } from './session-cookie.ts';

/** Cookie of a browser with earlier sign-ins. Gives attempts of its own, no rights (`limits/sign-in-limiter.ts`). */
export const DEVICE_COOKIE = 'quire_device';
/** The longest that browsers keep a cookie. */
const LIFETIME_SECONDS = 400 * 86_400;

/** The `Set-Cookie` header that makes a browser a known device of an account. A known one stays the same. */
export function deviceCookie(secrets: Secrets, email: string, headers: IncomingHttpHeaders): string {
  const id = findDeviceId(secrets, email, readCookie(headers, DEVICE_COOKIE)) ?? newToken();
  const value = Buffer.from(secrets.seal(JSON.stringify({ id, email }), DEVICE_COOKIE), 'base64').toString('base64url');
  const secure = isHttps(headers) ? '; Secure' : '';
  return `${DEVICE_COOKIE}=${value}; Path=/v1; HttpOnly; SameSite=Strict; Max-Age=${LIFETIME_SECONDS}${secure}`;
}

/** The id of a device of the account; null for a cookie that is missing, changed, or of another account. */
export function findDeviceId(secrets: Secrets, email: string, cookie: string | null): string | null {
  if (cookie === null) return null;
  try {
    const device = JSON.parse(secrets.open(Buffer.from(cookie, 'base64url').toString('base64'), DEVICE_COOKIE));
    return device.email === email ? device.id : null;
  } catch {
    // Sealed with an earlier key, or written by somebody else.
    return null;
  }
}
