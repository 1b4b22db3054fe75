import { type Static, Type } from 'typebox';
import { deletedSchema } from '../../db/page.ts';
import { Nullable, UnixSeconds } from '../../http/schema-types.ts';
import { MUST } from '../../http/validation.ts';
import { titleSchemas } from '../../lib/title-schemas.ts';

const Name = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[^\\u0000]*$',
  [MUST]: 'contain no NUL characters',
});
const KeyIds = Nullable(
  Type.Array(Type.String(), { minItems: 1, maxItems: 100, uniqueItems: true }),
  'Ids of the keys and members whose usage counts, for example of a team. Null: the whole organization.',
);
const Amount = Type.Integer({
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Amount per calendar month (UTC), in micros.',
});
const Thresholds = Type.Array(Type.Integer({ minimum: 1, maximum: 1_000 }), {
  minItems: 1,
  maxItems: 10,
  uniqueItems: true,
  description: 'Percentages of the amount that raise an alert. Default: 50, 80 and 100.',
});
const Enforced = Type.Boolean({
  description:
    'Whether calls that could exceed the amount are rejected with 402 `insufficient_credits`. Default: false.',
});

/** Body of `POST /v1/budgets`. */
export const CreateBudget = Type.Object(
  {
    name: Name,
    key_ids: Type.Optional(KeyIds),
    amount_micros: Amount,
    thresholds: Type.Optional(Thresholds),
    enforced: Type.Optional(Enforced),
  },
  { examples: [{ name: 'Support team', amount_micros: 200_000_000, thresholds: [80, 100] }] },
);

export type CreateBudget = Static<typeof CreateBudget>;

/** Body of `PATCH /v1/budgets/{budget_id}`: the fields to change. */
export const UpdateBudget = Type.Object(
  {
    name: Type.Optional(Name),
    key_ids: Type.Optional(KeyIds),
    amount_micros: Type.Optional(Amount),
    thresholds: Type.Optional(Thresholds),
    enforced: Type.Optional(Enforced),
  },
  { description: 'Absent fields keep their values.', examples: [{ amount_micros: 300_000_000 }] },
);

export type UpdateBudget = Static<typeof UpdateBudget>;

/** A budget with its spend and forecast. */
export const BudgetResource = Type.Object({
  id: Type.String({ description: '`budget_...`' }),
  object: Type.Literal('budget'),
  name: Type.String(),
  key_ids: KeyIds,
  amount_micros: Type.Integer(),
  thresholds: Type.Array(Type.Integer()),
  enforced: Type.Boolean(),
  period_start: UnixSeconds,
  period_end: UnixSeconds,
  spent_micros: Type.Integer({ description: 'Cost of the calls of this month.' }),
  forecast_micros: Nullable(
    Type.Integer(),
    'Expected cost of the whole month at the average daily cost so far. Null within the first hour of a month.',
  ),
  created_at: UnixSeconds,
  updated_at: UnixSeconds,
});

export type BudgetResource = Static<typeof BudgetResource>;

/** Path of one budget. */
export const BudgetParams = Type.Object({ budget_id: Type.String() });

/** Answer of `DELETE /v1/budgets/{budget_id}`. */
export const DeletedBudget = deletedSchema('budget');

titleSchemas({ CreateBudget, UpdateBudget, BudgetResource, DeletedBudget });
