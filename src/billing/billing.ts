import type { Deps } from '../deps.ts';
import { CreditReservations } from './credit-reservations.ts';
import { Ledger } from './ledger.ts';

/** Credits and usage of model calls. */
export interface Billing extends Pick<Deps, 'reserve' | 'recordUsage'> {
  /** Reads the limits of a key, or of the keys of an organization, again. */
  evictLimits(id: string): void;
  /** Resolves when all usage is durable. */
  close(): Promise<void>;
}

/** Starts billing in this process. */
export function openBilling(deps: Pick<Deps, 'db' | 'lease' | 'logger' | 'now'>): Billing {
  const reservations = new CreditReservations(deps);
  const ledger = new Ledger(deps.db, deps.logger);
  reservations.start();
  return {
    reserve: (call, bounds) => reservations.reserve(call, bounds),
    recordUsage: (record, reservation) => ledger.record(record, reservation),
    evictLimits: (id) => reservations.evictLimits(id),
    close: async () => {
      await ledger.flush();
      await reservations.stop();
    },
  };
}
