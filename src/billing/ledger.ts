import { getTableColumns } from 'drizzle-orm';
import type { Database } from '../db/db.ts';
import { GroupCommit } from '../lib/group-commit.ts';
import type { Logger } from '../lib/logger.ts';
import { describeError } from '../lib/operator-error.ts';
import type { Reservation } from '../lib/reservation.ts';
import { retry } from '../lib/retry.ts';
import type { ReservedUsage, UsageRecord } from '../lib/usage-record.ts';
import { usageRecords } from './tables.ts';

/** Maximum number of rows per statement. Beyond a few hundred rows, the time of the statement grows linearly. */
const MAX_BATCH_ROWS = 512;
/** Backoff between attempts. After the last attempt, the responses of the batch fail. */
const RETRY_DELAYS_MS = [50, 250, 1_000];

const { chargedMicros: _computed, ...RECORDED } = getTableColumns(usageRecords);
const COLUMNS = Object.values(RECORDED).map(({ name }) => name);
/** The fields of `UsageRecord` as columns. Lists are joined by commas in the statements. */
const FIELDS = Object.entries(RECORDED).map(([field, { name }]) => `"${field}" as ${name}`);
const TYPES = Object.entries(RECORDED).map(([field, column]) => `"${field}" ${column.getSQLType()}`);

/** One JSON parameter for any number of rows, so that the statement is planned once. */
const INSERT = `insert into usage_records (${COLUMNS}) select ${FIELDS} from json_to_recordset($1::json) as row (${TYPES})`;

/**
 * Inserts records and deducts their costs from balances, budgets and leases, in one statement: a crash leaves all of it
 * or nothing. Records that exist already, from an attempt whose result was lost, are not charged again. A balance is
 * charged at most what it has. Rows are locked in the order of lease extensions (account, then lease; accounts by id),
 * so that statements cannot deadlock.
 */
const INSERT_AND_CHARGE = `
  with rows as materialized (
    select ${FIELDS}, charge->>'processId' as process_id, (charge->>'hasBalance')::boolean as has_balance,
      charge->>'budgetPeriod' as budget_period, charge->'budgets' as group_budgets
    from json_to_recordset($1::json) as row (${TYPES}, charge json)
  ),
  spends as materialized (
    select id, key_id as holder, budget_period as period, key_id || '/' || budget_period as account
    from rows where budget_period is not null
    union all
    select rows.id, part->>'id', part->>'period', organization_id || '/' || (part->>'id') || '/' || (part->>'period')
    from rows, json_array_elements(group_budgets) as part
  ),
  balances as materialized (
    select id, balance_micros from organizations
    where balance_micros is not null and id in (select organization_id from rows where has_balance)
    order by id for no key update
  ),
  budgets as materialized (
    select key_id, period from key_spend
    where (key_id, period) in (select holder, period from spends) and (select count(*) from balances) >= 0
    order by key_id, period for no key update
  ),
  priced as (
    select rows.*, case when balances.id is null then 0 else least(cost_micros, greatest(0, balance_micros + cost_micros
      - sum(cost_micros) over (partition by balances.id order by rows.id))) end::bigint as charged_micros
    from rows left join balances on rows.has_balance and balances.id = rows.organization_id
  ),
  inserted as (
    insert into usage_records (${COLUMNS}, charged_micros) select ${COLUMNS}, charged_micros from priced
    on conflict (id) do nothing returning id
  ),
  charged as (select priced.* from priced join inserted using (id)),
  leased as (
    select process_id, account, sum(cost_micros) as cost from (
      select process_id, organization_id as account, cost_micros from charged where has_balance
      union all
      select process_id, account, cost_micros from charged join spends using (id)
    ) as part group by process_id, account
  ),
  leases as materialized (
    select lease.process_id, lease.account, cost from credit_leases lease join leased using (process_id, account)
    where (select count(*) from budgets) >= 0
    order by lease.account for update of lease
  ),
  charge_balances as (
    update organizations set balance_micros = organizations.balance_micros - total
    from (select organization_id, sum(charged_micros) as total from charged group by 1) as sums
    where organizations.id = organization_id and organizations.balance_micros is not null and total > 0
  ),
  charge_budgets as (
    update key_spend set spent_micros = spent_micros + total
    from (select holder, period, sum(cost_micros) as total from charged join spends using (id) group by 1, 2) as sums
    where key_spend.key_id = holder and key_spend.period = sums.period
  )
  update credit_leases set amount_micros = greatest(0, amount_micros - cost)
  from leases where credit_leases.process_id = leases.process_id and credit_leases.account = leases.account`;

/** Writes usage records with group commit. */
export class Ledger {
  readonly #insert: (rows: string) => Promise<unknown>;
  readonly #insertIgnoringDuplicates: (rows: string) => Promise<unknown>;
  readonly #insertAndCharge: (rows: string) => Promise<unknown>;
  readonly #logger: Logger;
  readonly #records = new GroupCommit<ReservedUsage>({
    write: (group) => this.#write(group),
    maxWeight: MAX_BATCH_ROWS,
    delayMs: 0,
    stopsOnFailure: false,
    onFailure: (group, error) => {
      this.#logger.error({ reason: describeError(error), records: group.length }, 'usage records not written');
      for (const { reservation } of group) reservation?.settle(0);
    },
  });

  constructor(db: Database, logger: Logger) {
    this.#insert = db.prepare('record_usage', INSERT);
    this.#insertIgnoringDuplicates = db.prepare('record_usage_again', `${INSERT} on conflict (id) do nothing`);
    this.#insertAndCharge = db.prepare('record_and_charge_usage', INSERT_AND_CHARGE);
    this.#logger = logger;
  }

  /**
   * Resolves when the record is durable and its cost deducted from what was reserved for it. Retries cannot write it
   * twice. Ends the reservation in every case.
   */
  record(record: UsageRecord, reservation: Reservation | null = null): Promise<void> {
    return this.#records.add({ record, reservation });
  }

  /** Resolves when all pending records are written or have failed permanently. */
  flush(): Promise<void> {
    return this.#records.flush();
  }

  async #write(group: readonly ReservedUsage[]): Promise<void> {
    const rows = JSON.stringify(group.map(({ record }) => record));
    const isCharged = group.some(({ record }) => record.charge !== undefined);
    const again = isCharged ? this.#insertAndCharge : this.#insertIgnoringDuplicates;
    // The first attempt needs no conflict check: no id was sent before.
    const first = isCharged ? again : this.#insert;
    await retry((retries) => (retries === 0 ? first : again)(rows), {
      delaysMs: RETRY_DELAYS_MS,
      onRetry: (error) => this.#logger.warn({ reason: describeError(error) }, 'usage write failed, retrying'),
    });
    for (const { record, reservation } of group) reservation?.settle(record.costMicros);
  }
}
