import { type Static, Type } from 'typebox';
import { NonBlankText } from '../../accounts/fields.ts';
import { titleSchemas } from '../../lib/title-schemas.ts';

/** Balances are summed in a double, which is exact below 2^53. */
const MAX_MICROS = Number.MAX_SAFE_INTEGER;

const Note = Type.Optional(
  Type.Union([NonBlankText, Type.Null()], { description: 'Reason, such as the number of an invoice.' }),
);

/** Body of `PUT /v1/admin/credits/{organization_id}`. */
export const SetCredits = Type.Object(
  {
    balance_micros: Type.Union([Type.Integer({ minimum: 0, maximum: MAX_MICROS }), Type.Null()], {
      description: '1,000,000 micros are one credit. Null: unlimited.',
    }),
    note: Note,
  },
  { examples: [{ balance_micros: 100_000_000, note: 'Contract 2026' }] },
);

export type SetCredits = Static<typeof SetCredits>;

/** Body of `POST /v1/admin/credits/{organization_id}/transactions`. */
export const AdjustCredits = Type.Object(
  {
    amount_micros: Type.Integer({
      minimum: -MAX_MICROS,
      maximum: MAX_MICROS,
      description: 'Added to the balance; a negative amount is subtracted. The balance must not become negative.',
    }),
    note: Note,
  },
  { examples: [{ amount_micros: 25_000_000, note: 'Invoice 1042' }] },
);

export type AdjustCredits = Static<typeof AdjustCredits>;

/** The credits of an organization. */
export const OrganizationCredits = Type.Object(
  {
    object: Type.Literal('credit_balance'),
    organization_id: Type.String(),
    balance_micros: Type.Union([Type.Integer(), Type.Null()], { description: 'Null: unlimited.' }),
    reserved_micros: Type.Integer({ description: 'Part of the balance that is reserved for calls in progress.' }),
  },
  {
    examples: [
      {
        object: 'credit_balance',
        organization_id: 'org_01k5f0000000000000000000aa',
        balance_micros: 100_000_000,
        reserved_micros: 0,
      },
    ],
  },
);

export type OrganizationCredits = Static<typeof OrganizationCredits>;

/** A change of a balance other than the charge of a call. */
export const CreditTransaction = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('credit_transaction'),
    organization_id: Type.String(),
    kind: Type.Enum(['set', 'unlimited', 'adjustment']),
    amount_micros: Type.Integer({ description: 'Difference to the balance before.' }),
    actor: Type.String({ description: 'Id of the API key, or `cli`.' }),
    note: Type.Union([Type.String(), Type.Null()]),
    created_at: Type.Integer({ description: 'Unix seconds.' }),
  },
  {
    examples: [
      {
        id: 'ctx_01k5f0000000000000000000aa',
        object: 'credit_transaction',
        organization_id: 'org_01k5f0000000000000000000aa',
        kind: 'adjustment',
        amount_micros: 25_000_000,
        actor: 'key_01k5f0000000000000000000aa',
        note: 'Invoice 1042',
        created_at: 1_763_683_200,
      },
    ],
  },
);

export type CreditTransaction = Static<typeof CreditTransaction>;

titleSchemas({ SetCredits, AdjustCredits, OrganizationCredits, CreditTransaction });
