import { type Actor, recordChange } from '../../audit/record-change.ts';
import type { Sql } from '../../db/db.ts';
import { deletePasswordReset, deleteUserSessions, updateUser } from '../store.ts';
import { unlinkIdentities } from './identities.ts';

/** A new password of a user. */
export interface PasswordChange {
  userId: string;
  /** Null removes the password. */
  passwordHash: string | null;
  /** Whether the user does not sign in through an issuer any more. */
  removesIdentities: boolean;
}

/** Replaces the password of a user, and ends all of its sessions and its open reset link. */
export async function replacePassword(sql: Sql, change: PasswordChange, actor: Actor): Promise<void> {
  const { userId, passwordHash, removesIdentities } = change;
  await updateUser(sql, userId, { passwordHash });
  await deleteUserSessions(sql, userId);
  await deletePasswordReset(sql, userId);
  await recordChange(sql, actor, { action: 'user.password_changed', organizationId: '', resourceId: userId });
  if (removesIdentities) await unlinkIdentities(sql, userId, actor);
}
