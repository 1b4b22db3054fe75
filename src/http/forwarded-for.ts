import { isIP } from 'node:net';
import type { Logger } from '../lib/logger.ts';
import type { App } from './app.ts';

const HEADER = 'x-forwarded-for';
/** An IPv4 address with a port, or an IPv6 address in brackets, with or without one: some proxies write these. */
const WITH_PORT = /^(?:([\d.]+):\d+|\[([^\]]+)\](?::\d+)?)$/;

/**
 * Prepares `X-Forwarded-For` for `request.ip`, which is the rightmost address that is no trusted proxy. Without trusted
 * proxies, warns once of the header: it is ignored then, and all clients of a proxy share its limits.
 */
export function readForwardedFor(
  app: Pick<App, 'addHook'>,
  { trustedProxies, logger }: { trustedProxies: readonly string[]; logger: Logger },
): void {
  let isWarned = false;
  app.addHook('onRequest', ({ headers, ip }, _reply, done) => {
    const header = headers[HEADER];
    if (header !== undefined && trustedProxies.length > 0) headers[HEADER] = validPart(String(header));
    else if (header !== undefined && !isWarned) {
      isWarned = true;
      logger.warn({ address: ip }, 'X-Forwarded-For ignored: set QUIRE_TRUSTED_PROXIES if a proxy sends it');
    }
    done();
  });
}

/**
 * Returns the addresses to the right of the last invalid value. A client can forge all values to the left of it, so the
 * client is then the proxy that reported it.
 */
function validPart(header: string): string {
  const values = header.split(',').map((value) => {
    const text = value.trim();
    const [, ipv4, ipv6] = WITH_PORT.exec(text) ?? [];
    return ipv4 ?? ipv6 ?? text;
  });
  return values.slice(values.findLastIndex((value) => isIP(value) === 0) + 1).join(', ');
}
