import type { Static } from 'typebox';
import type { Deps } from '../deps.ts';
import { invalidValue, notFound } from '../errors.ts';
import type { Call } from '../lib/caller.ts';
import { DecryptionError } from '../lib/secrets.ts';
import type { McpAllowedTools, McpApproval } from './server-settings.ts';
import { type McpServerKey, selectMcpServer } from './store.ts';

/** A server that the caller's organization has registered, with what authenticates requests to it. */
export interface RegisteredServer {
  id: string;
  url: string;
  headers: Readonly<Record<string, string>>;
  description: string | null;
  allowedTools: Static<typeof McpAllowedTools> | null;
  requireApproval: Static<typeof McpApproval>;
}

/**
 * Finds a registered server. Throws 404 `mcp_server_not_found` with `param`, and 400 when its
 * headers were encrypted with another key.
 */
export async function findRegisteredServer(
  deps: Pick<Deps, 'db' | 'secrets'>,
  { caller }: Call,
  key: McpServerKey,
  param: string,
): Promise<RegisteredServer> {
  const row = await selectMcpServer(deps.db.sql, caller.organizationId, key);
  if (row === null) throw notFound('mcp_server', 'id' in key ? key.id : key.label, param);
  const { id, url, description, allowedTools, requireApproval, sealedHeaders } = row;
  try {
    const headers = sealedHeaders === null ? {} : JSON.parse(deps.secrets.open(sealedHeaders, id));
    return { id, url, headers, description, allowedTools, requireApproval };
  } catch (error) {
    if (!(error instanceof DecryptionError)) throw error;
    throw invalidValue(param, 'names a server whose headers cannot be decrypted; set them again');
  }
}
