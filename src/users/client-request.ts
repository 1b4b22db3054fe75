import type { IncomingHttpHeaders } from 'node:http';
import type { Actor } from '../audit/record-change.ts';

/** The client of a sign-in, or of a user's change of its own account. */
export interface ClientRequest {
  address: string;
  requestId: string;
  /** The header `User-Agent`, by which people recognize their sessions; null without one. */
  userAgent: string | null;
}

const MAX_USER_AGENT = 300;

/** The client of a request. */
export function readClient(request: { ip: string; id: string; headers: IncomingHttpHeaders }): ClientRequest {
  const userAgent = request.headers['user-agent']?.slice(0, MAX_USER_AGENT) ?? null;
  return { address: request.ip, requestId: request.id, userAgent };
}

/** The user of such a request, for the audit log. */
export const userActor = (id: string, { address, requestId }: ClientRequest): Actor => ({ id, address, requestId });
