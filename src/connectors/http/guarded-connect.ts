import { lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import type { AddressPolicy } from '../../lib/address-policy.ts';

/** Time for DNS, TCP and TLS. */
const CONNECT_TIMEOUT_MS = 10_000;
/** Time without a byte of the head or the body. */
const IDLE_TIMEOUT_MS = 30_000;
/** Connections per origin; requests above wait. */
const CONNECTIONS_PER_ORIGIN = 16;

/** A connection was rejected by the address policy. */
export class BlockedAddressError extends Error {
  override readonly name = 'BlockedAddressError';
}

/**
 * Creates an undici dispatcher that connects only to addresses that the policy allows. The name is resolved once per
 * connection, its addresses are checked, and the address of the connected socket is checked again, so that a changing
 * DNS answer cannot bypass the check. Ignores proxies: a proxy would resolve names itself.
 */
export function createGuardedDispatcher(
  policy: AddressPolicy,
  lookup: LookupFunction = systemLookup as LookupFunction,
): Dispatcher {
  const connect = buildConnector({ timeout: CONNECT_TIMEOUT_MS, lookup: guardLookup(policy, lookup) });
  return new Agent({
    connections: CONNECTIONS_PER_ORIGIN,
    headersTimeout: IDLE_TIMEOUT_MS,
    bodyTimeout: IDLE_TIMEOUT_MS,
    connect: (options, callback) => {
      const hostname = options.hostname.replace(/^\[(.*)\]$/, '$1');
      // Node resolves names only: an address never reaches `lookup`.
      if (isIP(hostname) !== 0 && !policy.allows(hostname, hostname)) {
        callback(new BlockedAddressError(hostname), null);
        return;
      }
      connect(options, (...result) => {
        const [error, socket] = result;
        if (error !== null || policy.allows(socket.remoteAddress ?? '', hostname)) {
          callback(...result);
          return;
        }
        socket.destroy();
        callback(new BlockedAddressError(hostname), null);
      });
    },
  });
}

/** Rejects a name when any of its addresses is blocked. */
function guardLookup(policy: AddressPolicy, lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, result) => {
      const addresses = Array.isArray(result) ? result : [];
      const first = addresses[0];
      if (error !== null || first === undefined) callback(error ?? new Error(`${hostname} has no address`), []);
      else if (!addresses.every(({ address }) => policy.allows(address, hostname))) {
        callback(new BlockedAddressError(hostname), []);
      } else if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}
