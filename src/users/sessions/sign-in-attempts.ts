import { rateLimitExceeded } from '../../errors.ts';
import type { Secrets } from '../../lib/secrets.ts';
import type { ClientRequest } from './client-request.ts';
import { findDeviceId } from './device-cookie.ts';

/** An attempt to sign in, or to prove a password otherwise. */
export interface SignInAttempt {
  /** Lower case. */
  email: string;
  address: string;
  /** Id of a device on which this account has signed in before; null: unknown. */
  deviceId: string | null;
}

/** Limits attempts to sign in. */
export interface SignInLimits {
  /** Counts an attempt. Returns the milliseconds to wait; 0 when the attempt is allowed. */
  take(attempt: SignInAttempt): Promise<number>;
  /** Takes an attempt back that has succeeded. */
  refund(attempt: SignInAttempt): void;
}

/**
 * Counts an attempt for an account. Returns a function to call when the attempt has succeeded: only failures count.
 * `deviceId` is the id of a known device; that of the client's cookie unless given. Throws 429 after too many failures.
 */
export async function requireAttempt(
  { signInLimits, secrets }: { signInLimits: SignInLimits; secrets: Secrets },
  email: string,
  { address, device = null }: ClientRequest,
  deviceId = findDeviceId(secrets, email, device),
): Promise<() => void> {
  const attempt = { email, address, deviceId };
  const waitMs = await signInLimits.take(attempt);
  if (waitMs === 0) return () => signInLimits.refund(attempt);
  const seconds = Math.ceil(waitMs / 1000);
  throw rateLimitExceeded(`Too many attempts to sign in. Retry in ${seconds} s.`, seconds);
}
