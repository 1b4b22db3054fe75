import { SCOPES, type Scope, type UserRole } from '../lib/caller.ts';

const ORGANIZATION_SCOPES = SCOPES.filter((scope) => scope !== 'admin');

/** Scopes of each role in its organization. Viewers have the scopes of developers for requests that read. */
const ROLE_SCOPES: Readonly<Record<UserRole, readonly Scope[]>> = {
  owner: ORGANIZATION_SCOPES,
  developer: ORGANIZATION_SCOPES.filter((scope) => scope !== 'keys'),
  viewer: ORGANIZATION_SCOPES.filter((scope) => scope !== 'keys'),
};

/** The scopes of a user; operators manage the whole instance in addition. */
export function roleScopes(role: UserRole, isOperator: boolean): Set<Scope> {
  return new Set(isOperator ? SCOPES : ROLE_SCOPES[role]);
}
