/** Preloaded by `run.ts`: the module of the server of `/mcp` is the reference server. */
import { registerHooks } from 'node:module';

const SERVER = new URL('../../src/protocols/mcp/server.ts', import.meta.url).href;
const REFERENCE = new URL('reference-server.ts', import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    return resolved.url === SERVER ? { ...resolved, url: REFERENCE } : resolved;
  },
});
