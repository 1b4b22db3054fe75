import { isIP } from 'node:net';

/** A CIDR range, or one address as the range of itself. */
export interface AddressRange {
  address: string;
  prefix: number;
  family: 'ipv4' | 'ipv6';
}

/** Parses an address or a CIDR range such as `10.0.0.0/8`. Returns null for other texts. */
export function parseAddressRange(entry: string): AddressRange | null {
  const [, address = '', digits] = /^([0-9A-Fa-f.:]+)(?:\/(\d{1,3}))?$/.exec(entry) ?? [];
  const family = isIP(address);
  const bits = family === 4 ? 32 : 128;
  const prefix = digits === undefined ? bits : Number(digits);
  return family === 0 || prefix > bits ? null : { address, prefix, family: family === 4 ? 'ipv4' : 'ipv6' };
}
