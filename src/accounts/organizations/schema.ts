import { type Static, Type } from 'typebox';
import { ListQuery, NameSearch } from '../../db/page.ts';
import { MUST } from '../../http/validation.ts';
import { titleSchemas } from '../../lib/title-schemas.ts';
import { Limits, LimitsInput } from '../fields.ts';

/** Names are words of commands, so they need no quoting beyond spaces. */
const Name = Type.String({
  pattern: '^[A-Za-z0-9_][A-Za-z0-9_ .-]{0,63}$',
  [MUST]: 'have 1 to 64 letters, digits, spaces, `.`, `_` or `-`, and not start with a space, `.` or `-`',
});

const OptionalLimits = Type.Optional(
  Type.Union([LimitsInput, Type.Null()], {
    description: 'Limits of all keys of the organization together, replaced as a whole. Null: unlimited.',
  }),
);

/** Body of `POST /v1/admin/organizations`. */
export const CreateOrganization = Type.Object(
  { name: Name, limits: OptionalLimits },
  { examples: [{ name: 'acme', limits: { requests_per_minute: 600 } }] },
);

export type CreateOrganization = Static<typeof CreateOrganization>;

/** Body of `PATCH /v1/admin/organizations/{organization_id}`: the fields to change. */
export const UpdateOrganization = Type.Object(
  { name: Type.Optional(Name), limits: OptionalLimits },
  { examples: [{ limits: null }] },
);

export type UpdateOrganization = Static<typeof UpdateOrganization>;

/** An organization. */
export const Organization = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('organization'),
    name: Type.String(),
    limits: Type.Union([Limits, Type.Null()]),
    balance_micros: Type.Union([Type.Integer(), Type.Null()], {
      description: 'Credits in micros; 1,000,000 are one credit. Null: unlimited.',
    }),
    created_at: Type.Integer({ description: 'Unix seconds.' }),
  },
  {
    examples: [
      {
        id: 'org_01k5f0000000000000000000aa',
        object: 'organization',
        name: 'acme',
        limits: { requests_per_minute: 600, tokens_per_minute: null, concurrent: null },
        balance_micros: null,
        created_at: 1_763_683_200,
      },
    ],
  },
);

export type Organization = Static<typeof Organization>;

/** Response of `DELETE /v1/admin/organizations/{organization_id}`. */
export const DeletedOrganization = Type.Object(
  { id: Type.String(), object: Type.Literal('organization'), deleted: Type.Literal(true) },
  { examples: [{ id: 'org_01k5f0000000000000000000aa', object: 'organization', deleted: true }] },
);

export type DeletedOrganization = Static<typeof DeletedOrganization>;

/** Query parameters of `GET /v1/admin/organizations`. */
export const OrganizationsQuery = Type.Object({
  ...ListQuery.properties,
  name: Type.Optional(Type.String({ ...Name, description: 'Only the organization of this name.' })),
  search: NameSearch,
});

export type OrganizationsQuery = Static<typeof OrganizationsQuery>;

/** Path of one organization. */
export const OrganizationParams = Type.Object({ organization_id: Type.String() });

titleSchemas({ CreateOrganization, UpdateOrganization, Organization, DeletedOrganization });
