import { hash } from 'node:crypto';
import { clientNetwork } from '../lib/client-network.ts';
import type { SignInAttempt, SignInLimits } from '../users/sessions/sign-in-attempts.ts';
import type { LimitStore } from './limit-store.ts';

/** Failed attempts per minute and burst. */
const LIMITS = {
  /** Of one client network at all accounts. An office may share an address. */
  network: 20,
  /** Of one client network at one account. */
  account: 5,
  /** Of all unknown devices at one account: 14,400 guesses a day from any number of addresses. */
  unknownDevices: 10,
  /** Of one known device at its account. */
  device: 5,
} as const;

/**
 * Limits failed attempts to sign in. Accounts that do not exist are limited as well, so that a limit does not tell them
 * apart. A known device counts on its own, so that guesses from other devices do not lock out the owner of an account.
 */
export function signInLimiter(store: Pick<LimitStore, 'take' | 'charge'>): SignInLimits {
  return {
    take: async (attempt) => {
      const charges = selectBuckets(attempt).map((bucket) => ({ bucket, cost: 1 }));
      return (await store.take({ charges, slots: [] }))?.waitMs ?? 0;
    },
    refund: (attempt) => {
      for (const bucket of selectBuckets(attempt)) store.charge(bucket, -1);
    },
  };
}

function selectBuckets({ email, address, deviceId }: SignInAttempt) {
  // No emails in the table of the buckets.
  const account = hash('sha256', email);
  if (deviceId !== null) return [{ id: `sign-in ${account} device ${deviceId}`, limit: LIMITS.device }];
  const network = clientNetwork(address);
  return [
    { id: `sign-in network ${network}`, limit: LIMITS.network },
    { id: `sign-in ${account} network ${network}`, limit: LIMITS.account },
    { id: `sign-in ${account} unknown devices`, limit: LIMITS.unknownDevices },
  ];
}
