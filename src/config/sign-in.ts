import { Type } from 'typebox';
import { USER_ROLES } from '../lib/caller.ts';
import { parseGroupRoles } from '../lib/parse-group-roles.ts';

const Text = Type.String({ minLength: 1, maxLength: 1000 });
const Texts = Type.Array(Text, { minItems: 1 });

/** Settings of the console's address and of sign-in by OpenID Connect; a part of `SETTINGS`. */
export const SIGN_IN_SETTINGS = {
  publicUrl: {
    env: 'QUIRE_PUBLIC_URL',
    file: 'public_url',
    schema: Type.String({ pattern: '^https?://[^\\s/?#]+$' }),
    default: null,
    description:
      'Address of the service as browsers see it, without a path, such as `https://quire.example.com`: for the links of commands and the redirect from the OpenID Connect issuer. Unset: taken from the `Host` and `X-Forwarded-Proto` of the request.',
  },
  oidcIssuer: {
    env: 'QUIRE_OIDC_ISSUER',
    file: 'oidc_issuer',
    schema: Type.String({ pattern: '^https?://[^\\s/]+' }),
    default: null,
    description:
      'OpenID Connect issuer whose people may sign in to the console, see console.md. The redirect URI to register there is `/v1/session/oidc/callback` at `QUIRE_PUBLIC_URL`. Use `http` on trusted networks only. Unset: sign-in by password only.',
  },
  oidcClientId: {
    env: 'QUIRE_OIDC_CLIENT_ID',
    file: 'oidc_client_id',
    schema: Text,
    default: 'quire',
    description: 'Client id that the issuer has given to this service.',
  },
  oidcClientSecret: {
    env: 'QUIRE_OIDC_CLIENT_SECRET',
    file: 'oidc_client_secret',
    schema: Text,
    default: null,
    secret: true,
    description: 'Secret of the client. Unset: a public client, protected by PKCE alone.',
  },
  oidcName: {
    env: 'QUIRE_OIDC_NAME',
    file: 'oidc_name',
    schema: Type.String({ minLength: 1, maxLength: 40 }),
    default: 'Single sign-on',
    description: 'Name of the issuer on the sign-in page.',
  },
  oidcAllowedDomains: {
    env: 'QUIRE_OIDC_ALLOWED_DOMAINS',
    file: 'oidc_allowed_domains',
    schema: Texts,
    default: null,
    list: true,
    description:
      'Email domains that may sign in through the issuer. Subdomains are domains of their own. Unset: every person of the issuer.',
  },
  oidcDefaultRole: {
    env: 'QUIRE_OIDC_DEFAULT_ROLE',
    file: 'oidc_default_role',
    schema: Type.Enum(USER_ROLES),
    default: null,
    description:
      'Role of people who sign in through the issuer for the first time and have no role by `QUIRE_OIDC_ROLES`. Unset: they need an invitation.',
  },
  oidcOrganization: {
    env: 'QUIRE_OIDC_ORGANIZATION',
    file: 'oidc_organization',
    schema: Text,
    default: 'default',
    description: 'Name of the organization in which the issuer gives roles.',
  },
  oidcRoles: {
    env: 'QUIRE_OIDC_ROLES',
    file: 'oidc_roles',
    schema: Text,
    default: null,
    parse: parseGroupRoles,
    description:
      'Roles of groups, such as `quire-admins=owner,staff=developer`; the highest one of a person counts. Applied at every sign-in through the issuer; people without any of these groups get `QUIRE_OIDC_DEFAULT_ROLE` or are rejected.',
  },
  oidcGroupsClaim: {
    env: 'QUIRE_OIDC_GROUPS_CLAIM',
    file: 'oidc_groups_claim',
    schema: Text,
    default: 'groups',
    description: 'Claim with the groups of a person: a list of texts, or one text.',
  },
  oidcLinking: {
    env: 'QUIRE_OIDC_LINKING',
    file: 'oidc_linking',
    schema: Type.Enum(['settings', 'verified_email']),
    default: 'settings',
    description:
      'How an existing account is connected with the issuer. `settings`: by its user, signed in with the password. `verified_email`: also at the first sign-in through the issuer with the same email, which the issuer must have verified; the password of the account is removed, because Quire does not verify emails. Whoever controls the issuer then controls these accounts.',
  },
} as const;
