import type { IncomingHttpHeaders } from 'node:http';
import type { Actor } from '../../audit/record-change.ts';
import { DEVICE_COOKIE } from './device-cookie.ts';
import { readCookie } from './session-cookie.ts';

/** The client of a sign-in, or of a user's change of its own account. */
export interface ClientRequest {
  address: string;
  requestId: string;
  /** The header `User-Agent`, by which people recognize their sessions; null without one. */
  userAgent: string | null;
  /** Value of the cookie of a known device; absent without one. */
  device?: string | null;
}

const MAX_USER_AGENT = 300;

/** The client of a request. */
export function readClient({
  ip,
  id,
  headers,
}: {
  ip: string;
  id: string;
  headers: IncomingHttpHeaders;
}): ClientRequest {
  const userAgent = headers['user-agent']?.slice(0, MAX_USER_AGENT) ?? null;
  return { address: ip, requestId: id, userAgent, device: readCookie(headers, DEVICE_COOKIE) };
}

/** The user of such a request, for the audit log. */
export const userActor = (id: string, { address, requestId }: ClientRequest): Actor => ({ id, address, requestId });
