import type { Config } from '../../config/config.ts';
import { USER_ROLES, type UserRole } from '../../lib/caller.ts';
import type { OidcClaims } from './oidc-provider.ts';

/** Limit of names and groups, in characters. */
const MAX_TEXT = 100;
const MAX_EMAIL = 254;

/** A person of the issuer. */
export interface OidcIdentity {
  issuer: string;
  subject: string;
  /** Lower case; null unless the issuer has verified it. */
  email: string | null;
  name: string | null;
  groups: string[];
}

/** Reads a person from verified claims. */
export function readIdentity(claims: OidcClaims, groupsClaim: string): OidcIdentity {
  const { iss: issuer, sub: subject, email, email_verified: isVerified } = claims;
  // Some issuers write booleans as text.
  const isUsable = (isVerified === true || isVerified === 'true') && typeof email === 'string' && isEmail(email);
  const name = typeof claims['name'] === 'string' ? claims['name'].replaceAll('\0', '').trim().slice(0, MAX_TEXT) : '';
  const groups = [claims[groupsClaim]].flat().filter((group) => typeof group === 'string');
  return { issuer, subject, email: isUsable ? email.toLowerCase() : null, name: name === '' ? null : name, groups };
}

const isEmail = (text: string): boolean => text.length <= MAX_EMAIL && /^[^\s@\0]+@[^\s@\0]+$/.test(text);

/** Whether the verified email of a person has one of the domains; null: every person may sign in. */
export function hasAllowedDomain({ email }: OidcIdentity, domains: readonly string[] | null): boolean {
  if (domains === null) return true;
  const domain = email?.split('@').at(-1);
  return domain !== undefined && domains.some((each) => each.toLowerCase() === domain);
}

/** The role that the groups of a person give, or the default role; null: none. */
export function roleOfIdentity(
  { groups }: OidcIdentity,
  { oidcRoles, oidcDefaultRole }: Pick<Config, 'oidcRoles' | 'oidcDefaultRole'>,
): UserRole | null {
  const roles = groups.map((group) => oidcRoles?.get(group));
  return USER_ROLES.find((role) => roles.includes(role)) ?? oidcDefaultRole;
}
