import { USER_ROLES, type UserRole } from './caller.ts';

/**
 * Parses `group=role,group=role` into the role of each group. Throws an Error whose message completes the sentence "it
 * ...".
 */
export function parseGroupRoles(text: string): ReadonlyMap<string, UserRole> {
  const roles = new Map<string, UserRole>();
  for (const pair of text.split(',')) {
    const at = pair.lastIndexOf('=');
    const group = pair.slice(0, Math.max(0, at)).trim();
    const role = USER_ROLES.find((each) => each === pair.slice(at + 1).trim());
    if (group === '' || role === undefined) {
      throw new Error(`must be pairs such as 'staff=developer', with the roles ${USER_ROLES.join(', ')}`);
    }
    roles.set(group, role);
  }
  return roles;
}
