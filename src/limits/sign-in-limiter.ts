import type { LimitStore } from './limit-store.ts';

/** Attempts per minute and burst. Of ten random characters a guesser of one account finds nothing; an office may share an address. */
const PER_ACCOUNT = 5;
const PER_ADDRESS = 20;

/**
 * Limits attempts to sign in, by account and by address. Returns the milliseconds to wait; 0 when the attempt is allowed. Accounts that do
 * not exist are limited as well, so that a limit does not tell them apart.
 */
export function signInLimiter(store: Pick<LimitStore, 'take'>): (email: string, address: string) => Promise<number> {
  return async (email, address) => {
    const charges = [
      { bucket: { id: `sign-in account ${email}`, limit: PER_ACCOUNT }, cost: 1 },
      { bucket: { id: `sign-in address ${address}`, limit: PER_ADDRESS }, cost: 1 },
    ];
    return (await store.take({ charges, slots: [] }))?.waitMs ?? 0;
  };
}
