import type { Config } from '../../config/config.ts';
import type { Authenticate } from '../../http/auth.ts';
import { isLocalRequest } from '../../http/local-request.ts';
import type { Caller } from '../../lib/caller.ts';
import { isLoopbackHost } from '../../lib/loopback-host.ts';
import { OLLAMA } from './protocol.ts';

/** Dependencies of `admitLocalCallers`. */
export interface LocalCallerDeps {
  config: Pick<Config, 'ollamaKeyId'>;
  /** Resolves the caller of the key with this id; throws 401. */
  authenticateKeyId(id: string): Caller | Promise<Caller>;
}

/**
 * With `QUIRE_OLLAMA_KEY_ID`, requests of this machine to Ollama's routes need no key: they act as the key of that id.
 * The name of the host must be of this machine, too: a web page could otherwise bind its own name to this address.
 */
export function admitLocalCallers(authenticate: Authenticate, deps: LocalCallerDeps): Authenticate {
  return (request) => {
    const { ollamaKeyId } = deps.config;
    if (ollamaKeyId === null) return authenticate(request);
    const { headers, hostname, routeOptions } = request;
    const hasKey = headers.authorization !== undefined || headers['x-api-key'] !== undefined;
    const isOpen = routeOptions.config.protocol === OLLAMA && isLocalRequest(request) && isLoopbackHost(hostname);
    return isOpen && !hasKey ? deps.authenticateKeyId(ollamaKeyId) : authenticate(request);
  };
}
