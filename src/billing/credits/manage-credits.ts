import { selectOrganization } from '../../accounts/store.ts';
import { type AuditAction, recordChange, toActor } from '../../audit/record-change.ts';
import type { Sql } from '../../db/db.ts';
import { type ListQuery, page, pageBounds } from '../../db/page.ts';
import type { Deps } from '../../deps.ts';
import { notFound } from '../../errors.ts';
import type { Call } from '../../lib/caller.ts';
import { isId } from '../../lib/ids.ts';
import { toUnixSeconds } from '../../lib/unix-seconds.ts';
import {
  adjustBalance,
  type CreditActor,
  type CreditTransactionRow,
  readBalance,
  selectCreditTransactions,
  setBalance,
} from '../credits.ts';
import { awaitRevocations } from '../revoke-leases.ts';
import type { AdjustCredits, CreditTransaction, OrganizationCredits, SetCredits } from './schema.ts';

/** Dependencies of the administration of credits. */
export type CreditAdminDeps = Pick<Deps, 'db'> & {
  /** Makes this process read the keys of an organization again: no response precedes its effect. */
  evictKeys(organizationId: string): void;
};

/** Reads the balance of an organization. Throws 404 `organization_not_found`. */
export async function readCredits(deps: Pick<Deps, 'db'>, organizationId: string): Promise<OrganizationCredits> {
  const balance = isId('organization', organizationId) ? await readBalance(deps.db.sql, organizationId) : null;
  if (balance === null) throw organizationNotFound(organizationId);
  return {
    object: 'credit_balance',
    organization_id: organizationId,
    balance_micros: balance.balanceMicros,
    reserved_micros: balance.reservedMicros,
  };
}

/** Sets the balance; null makes it unlimited. Throws 404 `organization_not_found`. */
export async function setCredits(
  deps: CreditAdminDeps,
  call: Call,
  organizationId: string,
  { balance_micros: balanceMicros, note = null }: SetCredits,
): Promise<OrganizationCredits> {
  await changeCredits(deps, call, {
    organizationId,
    action: 'credit.set',
    change: (sql) => setBalance(sql, organizationId, balanceMicros, { actor: call.caller.keyId, note }),
  });
  return readCredits(deps, organizationId);
}

/**
 * Adds or subtracts credit. Throws 404 `organization_not_found`, 400 if the balance is unlimited or would be negative.
 */
export async function adjustCredits(
  deps: CreditAdminDeps,
  call: Call,
  organizationId: string,
  { amount_micros: amountMicros, note = null }: AdjustCredits,
): Promise<CreditTransaction> {
  const by: CreditActor = { actor: call.caller.keyId, note };
  const row = await changeCredits(deps, call, {
    organizationId,
    action: 'credit.adjusted',
    change: (sql) => adjustBalance(sql, organizationId, amountMicros, by),
  });
  return viewCreditTransaction(row);
}

/** A page of the credit transactions of an organization, oldest first. Throws 404 `organization_not_found`. */
export async function listCreditTransactions(deps: Pick<Deps, 'db'>, organizationId: string, query: ListQuery) {
  const bounds = pageBounds(query, 'creditTransaction');
  const isKnown =
    isId('organization', organizationId) && (await selectOrganization(deps.db.sql, organizationId)) !== null;
  if (!isKnown) throw organizationNotFound(organizationId);
  const rows = await selectCreditTransactions(deps.db.sql, organizationId, bounds);
  return page(rows.map(viewCreditTransaction), bounds.limit);
}

interface CreditChange {
  organizationId: string;
  action: AuditAction;
  change(sql: Sql): Promise<CreditTransactionRow | null>;
}

/** Changes the balance and records the change in one transaction. Resolves when every process obeys the balance. */
async function changeCredits(
  deps: CreditAdminDeps,
  call: Call,
  { organizationId, action, change }: CreditChange,
): Promise<CreditTransactionRow> {
  const row = await deps.db.sql.transaction(async (sql) => {
    const changed = isId('organization', organizationId) ? await change(sql) : null;
    if (changed === null) throw organizationNotFound(organizationId);
    await recordChange(sql, toActor(call), {
      action,
      organizationId,
      resourceId: changed.id,
      changes: [
        { field: 'kind', to: changed.kind },
        { field: 'amount_micros', to: changed.amountMicros },
      ],
    });
    return changed;
  });
  deps.evictKeys(organizationId);
  await awaitRevocations(deps.db.sql, organizationId);
  return row;
}

const organizationNotFound = (id: string) => notFound('organization', id, 'organization_id');

function viewCreditTransaction(row: CreditTransactionRow): CreditTransaction {
  return {
    id: row.id,
    object: 'credit_transaction',
    organization_id: row.organizationId,
    kind: row.kind,
    amount_micros: row.amountMicros,
    actor: row.actor,
    note: row.note,
    created_at: toUnixSeconds(row.createdAt),
  };
}
