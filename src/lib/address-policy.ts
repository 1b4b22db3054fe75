import { BlockList, isIP } from 'node:net';
import { parseAddressRange } from './address-range.ts';
import { OperatorError } from './operator-error.ts';

/**
 * IPv4 ranges that are not public: the special-purpose registry of IANA (RFC 6890), multicast, reserved addresses, and
 * the metadata service of Azure, the only one at a public address.
 */
const BLOCKED_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
/** Global unicast, the only range of IPv6 with public addresses. It excludes IPv4-mapped addresses and NAT64. */
const PUBLIC_IPV6 = ['2000::/3'];
/** Parts of global unicast that are not public or embed an IPv4 address: Teredo, ORCHID, documentation, 6to4. */
const BLOCKED_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const HOST_NAME = /^[A-Za-z0-9._-]+$/;

/** Decides where connections on behalf of tenants may go: public addresses, and those that the operator allows. */
export class AddressPolicy {
  readonly #blocked = createBlockList([...BLOCKED_IPV4, ...BLOCKED_IPV6]);
  readonly #publicIpv6 = createBlockList(PUBLIC_IPV6);
  readonly #allowedRanges: BlockList;
  readonly #allowedHosts: ReadonlySet<string>;

  /** `allowed`: host names, addresses and CIDR ranges. Throws an `OperatorError` for an invalid one. */
  constructor(allowed: readonly string[]) {
    const isRange = (entry: string) => isIP(entry) !== 0 || entry.includes('/');
    this.#allowedRanges = createBlockList(allowed.filter(isRange));
    const hosts = allowed.filter((entry) => !isRange(entry));
    const invalid = hosts.find((host) => !HOST_NAME.test(host));
    if (invalid !== undefined) throw invalidEntry(invalid);
    this.#allowedHosts = new Set(hosts.map(normalizeHost));
  }

  /** Whether `address`, an IP address in text form, may be connected to for the given host name. */
  allows(address: string, hostname: string): boolean {
    const family = isIP(address);
    if (family === 0) return false;
    const type = family === 4 ? 'ipv4' : 'ipv6';
    if (this.#allowedHosts.has(normalizeHost(hostname)) || this.#allowedRanges.check(address, type)) return true;
    if (this.#blocked.check(address, type)) return false;
    return family === 4 || this.#publicIpv6.check(address, type);
  }
}

/** Lower case, without the dot at the end of a fully qualified name. */
function normalizeHost(hostname: string): string {
  return hostname.toLowerCase().replace(/\.$/, '');
}

/** Throws an `OperatorError` with a predicate unless all entries are host names, addresses or ranges. */
export function requirePrivateHosts(allowed: readonly string[]): void {
  void new AddressPolicy(allowed);
}

function invalidEntry(entry: string): OperatorError {
  return new OperatorError(
    `contains '${entry}'; accepted are host names, addresses and ranges such as 10.0.0.0/8, without scheme and port`,
  );
}

function createBlockList(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const range = parseAddressRange(entry);
    if (range === null) {
      throw invalidEntry(entry);
    }
    list.addSubnet(range.address, range.prefix, range.family);
  }
  return list;
}
