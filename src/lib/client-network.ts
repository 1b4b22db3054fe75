import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** A host has all addresses of its /64 network (RFC 4291, section 2.5.1). */
const HOST_GROUPS = 4;

/**
 * The network that stands for one client in limits: an IPv4 address, also when it is IPv4-mapped, or the /64 network of
 * an IPv6 address. Returns texts that are no address unchanged.
 */
export function clientNetwork(address: string): string {
  if (isIP(address) === 0) return address;
  const parsed = ipaddr.process(address);
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.toString();
  const groups = parsed.parts.map((group, at) => (at < HOST_GROUPS ? group : 0));
  return `${new ipaddr.IPv6(groups).toString()}/64`;
}
