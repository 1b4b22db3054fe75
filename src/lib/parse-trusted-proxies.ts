import { parseAddressRange } from './address-range.ts';

/** An IPv4-mapped IPv6 range. Rejected: the same range has an IPv4 notation. */
const MAPPED_RANGE = /^::ffff:.*\//i;

/**
 * Checks the value of `QUIRE_TRUSTED_PROXIES`. Throws an Error whose message completes the sentence "it ...". A range
 * of all addresses is rejected: clients could choose their addresses.
 */
export function parseTrustedProxies(entries: readonly string[]): readonly string[] {
  for (const entry of entries) {
    const range = parseAddressRange(entry);
    if (range === null || range.prefix === 0 || MAPPED_RANGE.test(entry)) {
      throw new Error(`must be addresses and CIDR ranges such as '10.0.0.0/8' and '::1', and '${entry}' is none`);
    }
  }
  return entries;
}
