import assert from 'node:assert/strict';
import { eq } from 'drizzle-orm';
import { addKey } from '../src/accounts/add-key.ts';
import { insertOrganization } from '../src/accounts/store.ts';
import { CreditReservations } from '../src/billing/credit-reservations.ts';
import { setBalance } from '../src/billing/credits.ts';
import { Ledger } from '../src/billing/ledger.ts';
import type { Database } from '../src/db/db.ts';
import { ApiError } from '../src/errors.ts';
import { ProcessLease } from '../src/leases/process-lease.ts';
import { processes } from '../src/leases/tables.ts';
import { type Call, type KeyBudget, serviceCaller } from '../src/lib/caller.ts';
import { newId } from '../src/lib/ids.ts';
import { createLogger } from '../src/lib/logger.ts';
import type { CostBounds, Reservation } from '../src/lib/reservation.ts';
import type { UsageRecord } from '../src/lib/usage-record.ts';

const logger = createLogger('silent');

/** Who changes balances. */
export const BY = { actor: 'test', note: null };

/** Bounds of a call whose cost is known. */
export const exactly = (micros: number): CostBounds => ({ minMicros: micros, maxMicros: micros });

/** A process of the service, as far as it concerns credits. */
export class TestProcess {
  readonly #db: Database;
  readonly lease: ProcessLease;
  readonly credits: CreditReservations;
  readonly ledger: Ledger;
  readonly running: { call: Call; reservation: Reservation }[] = [];

  constructor(db: Database, now: () => number = Date.now) {
    this.#db = db;
    this.lease = new ProcessLease({ db, logger });
    this.credits = new CreditReservations({ db, lease: this.lease, logger, now });
    this.ledger = new Ledger(db, logger);
  }

  /** Reserves credits; null for 402. */
  async reserve(call: Call, bounds: CostBounds): Promise<Reservation | null> {
    try {
      const reservation = await this.credits.reserve(call, () => bounds);
      assert.ok(reservation, 'the call is limited');
      this.running.push({ call, reservation });
      return reservation;
    } catch (error) {
      if (error instanceof ApiError && error.code === 'insufficient_credits') return null;
      throw error;
    }
  }

  /** Ends the process. */
  async stop(): Promise<void> {
    await this.credits.stop();
    await this.lease.stop();
  }

  /** Makes the other processes believe that this one has ended. */
  async expire(): Promise<void> {
    await this.#db.sql
      .update(processes)
      .set({ renewedAt: new Date(0) })
      .where(eq(processes.id, this.lease.id));
  }

  /** Ends a call that is running at a cost. */
  settle(index: number, costMicros: number): Promise<void> {
    const [ended] = this.running.splice(index, 1);
    assert.ok(ended);
    const { call, reservation } = ended;
    return this.ledger.record({ ...usageRecord(call, costMicros), charge: reservation.charge }, reservation);
  }
}

/** The usage of a call with this cost. */
export function usageRecord({ caller }: Call, costMicros: number): UsageRecord {
  return {
    ...{ id: newId('usage'), organizationId: caller.organizationId, keyId: caller.keyId, requestId: 'req_1' },
    ...{ endpoint: '/v1/test', model: 'm', promptTokens: 1, cachedTokens: 0, completionTokens: 1, searches: 0 },
    ...{
      rerankUnits: 0,
      costMicros,
      durationMs: 1,
      queueMs: 0,
      firstTokenMs: null,
      finishReason: null,
      isCacheHit: null,
      isBatch: false,
    },
    ...{ outcome: 'completed', createdAt: new Date() },
  };
}

/** A call of a new key in a new organization. */
export async function limitedCall(db: Database, balanceMicros: number | null, budget: KeyBudget | null): Promise<Call> {
  const id = newId('organization');
  await insertOrganization(db.sql, id, id);
  const properties = { organizationId: id, name: 'test', scopes: [], models: null, limits: null, expiresAt: null };
  const { row: key } = await addKey(db.sql, { ...properties, budget });
  if (balanceMicros !== null) await setBalance(db.sql, id, balanceMicros, BY);
  return { caller: serviceCaller(id, key.id), requestId: 'req_1', endpoint: '/v1/test', priority: 'interactive' };
}
