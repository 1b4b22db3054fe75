import { type Static, Type } from 'typebox';
import { deletedSchema, ListQuery, listSchema } from '../db/page.ts';
import { UnixSeconds } from '../http/schema-types.ts';
import { MUST } from '../http/validation.ts';
import { SCOPES, USER_ROLES } from '../lib/caller.ts';
import { titleSchemas } from '../lib/title-schemas.ts';
import { PASSWORD_LENGTH } from './password.ts';

const Email = Type.String({
  maxLength: 254,
  pattern: '^[^\\s@\\u0000]+@[^\\s@\\u0000]+$',
  [MUST]: 'be an email address',
  examples: ['ada@example.com'],
});
const Password = Type.String({ minLength: PASSWORD_LENGTH.min, maxLength: PASSWORD_LENGTH.max });
const OldPassword = Type.String({ maxLength: PASSWORD_LENGTH.max });
const Role = Type.Enum(USER_ROLES, {
  description: '`owner`: everything in the organization; `developer`: not its keys and members; `viewer`: reads only.',
});
/** PostgreSQL rejects NUL characters. */
const NAME = { minLength: 1, maxLength: 100, pattern: '^[^\\u0000]*$', [MUST]: 'not have NUL characters' } as const;
const Name = Type.String(NAME);
const Token = Type.String({ pattern: '^[A-Za-z0-9_-]{43}$', [MUST]: 'be the token of an invitation link' });

const RemoveIdentities = Type.Optional(
  Type.Boolean({
    default: false,
    description:
      'Removes all identities of the user: persons of OpenID Connect issuers, who sign in without the password.',
  }),
);

/** Body of `POST /v1/session`. */
export const SignIn = Type.Object({ email: Email, password: OldPassword });
export type SignIn = Static<typeof SignIn>;

/** Body of `POST /v1/session/password`. */
export const ChangePassword = Type.Object({
  current_password: OldPassword,
  new_password: Password,
  remove_identities: RemoveIdentities,
});
export type ChangePassword = Static<typeof ChangePassword>;

/** Body of `PATCH /v1/session`. */
export const SwitchOrganization = Type.Object({
  organization_id: Type.String({ pattern: '^[a-z0-9_-]{1,64}$', [MUST]: 'be an id' }),
});

/** Body of `POST /v1/invitations/accept`. */
export const AcceptInvitation = Type.Object({
  token: Token,
  email: Email,
  name: Type.Optional(Name),
  password: Password,
});
export type AcceptInvitation = Static<typeof AcceptInvitation>;

/** A path of the console itself: no other host (`//host`, `/\\host`), and nothing that a header must not contain. */
const ConsolePath = Type.String({
  maxLength: 1000,
  pattern: '^/([A-Za-z0-9_-][!-\\[\\]-~]*)?$',
  [MUST]: 'be a path of the console',
});

/** Body of `POST /v1/session/oidc`. */
export const StartOidcSignIn = Type.Object({
  return_to: Type.Optional(ConsolePath),
  invitation: Type.Optional(Token),
  link: Type.Optional(Type.Boolean({ description: 'Links the signed-in user instead of signing in.' })),
  password: Type.Optional({
    ...OldPassword,
    description:
      'Password of the signed-in user, required for `link`. Users without a password must have signed in within the last ten minutes.',
  }),
});

/** Response of `POST /v1/session/oidc`. */
export const OidcSignIn = Type.Object({
  object: Type.Literal('oidc_sign_in'),
  url: Type.String({ description: 'Address of the issuer.' }),
});

/** Response of `GET /v1/session/options`. */
export const SignInOptions = Type.Object({
  object: Type.Literal('sign_in_options'),
  oidc: Type.Union([Type.Object({ name: Type.String() }), Type.Null()], {
    description: 'The OpenID Connect issuer; null: sign-in by password only.',
  }),
});

const SessionOrganization = Type.Object({ id: Type.String(), name: Type.String(), role: Role });

/** A console session. */
export const Session = Type.Object({
  object: Type.Literal('session'),
  user: Type.Object({
    id: Type.String(),
    email: Type.String(),
    name: Type.String(),
    is_operator: Type.Boolean(),
    has_password: Type.Boolean(),
    is_linked: Type.Boolean({ description: 'Whether the user may sign in through an OpenID Connect issuer.' }),
  }),
  organization: SessionOrganization,
  organizations: Type.Array(SessionOrganization),
  scopes: Type.Array(Type.Enum(SCOPES)),
});
export type Session = Static<typeof Session>;

/** A user of the console. */
export const User = Type.Object({
  id: Type.String(),
  object: Type.Literal('user'),
  email: Type.String(),
  name: Type.String(),
  is_operator: Type.Boolean(),
  has_password: Type.Boolean({ description: 'False for people who sign in through an OpenID Connect issuer only.' }),
  created_at: UnixSeconds,
});
export type User = Static<typeof User>;
export const UserList = listSchema(User);

/** Query parameters of `GET /v1/admin/users`. */
export const UsersQuery = Type.Object({
  ...ListQuery.properties,
  search: Type.Optional(Type.String({ ...NAME, description: 'Part of the email or the name.' })),
});

/** Token of a link that sets a password, shown once. The link is `/reset#TOKEN` of the console. */
export const PasswordReset = Type.Object({
  object: Type.Literal('password_reset'),
  user_id: Type.String(),
  token: Type.String(),
  expires_at: UnixSeconds,
});
export type PasswordReset = Static<typeof PasswordReset>;

/** Body of `POST /v1/session/password-reset`. */
export const RedeemPasswordReset = Type.Object({
  token: Token,
  new_password: Password,
  remove_identities: RemoveIdentities,
});
export type RedeemPasswordReset = Static<typeof RedeemPasswordReset>;

/** A member of an organization. */
export const Member = Type.Object({
  id: Type.String(),
  object: Type.Literal('member'),
  email: Type.String(),
  name: Type.String(),
  role: Role,
  is_operator: Type.Boolean(),
  created_at: UnixSeconds,
});
export type Member = Static<typeof Member>;
export const MemberList = listSchema(Member);

/** Body of `PATCH /v1/admin/members/{user_id}`. */
export const UpdateMember = Type.Object({ role: Role });

/** Body of `POST /v1/admin/invitations`. */
export const CreateInvitation = Type.Object({
  role: Role,
  note: Type.Optional(
    Type.Union([Name, Type.Null()], { description: 'For the list of invitations, such as an email address.' }),
  ),
});
export type CreateInvitation = Static<typeof CreateInvitation>;

/** An open invitation. */
export const Invitation = Type.Object({
  id: Type.String(),
  object: Type.Literal('invitation'),
  role: Role,
  note: Type.Union([Type.String(), Type.Null()]),
  expires_at: UnixSeconds,
  created_at: UnixSeconds,
});
export type Invitation = Static<typeof Invitation>;
export const InvitationList = listSchema(Invitation);

/** An invitation with its token, shown once. The link is `/join#TOKEN` of the console. */
export const InvitationWithToken = Type.Object({ ...Invitation.properties, token: Type.String() });
export type InvitationWithToken = Static<typeof InvitationWithToken>;

/** A browser in which a user is signed in. */
export const BrowserSession = Type.Object({
  id: Type.String(),
  object: Type.Literal('browser_session'),
  user_agent: Type.Union([Type.String(), Type.Null()], { description: 'The header `User-Agent` of the sign-in.' }),
  is_current: Type.Boolean({ description: 'Whether it is the session of this request.' }),
  created_at: UnixSeconds,
  last_seen_at: Type.Integer({ description: 'Unix seconds, exact to five minutes.' }),
  expires_at: UnixSeconds,
});
export type BrowserSession = Static<typeof BrowserSession>;
export const BrowserSessionList = listSchema(BrowserSession);

/** Response of `DELETE /v1/browser-sessions/{session_id}`. */
export const DeletedBrowserSession = deletedSchema('browser_session');
export type DeletedBrowserSession = Static<typeof DeletedBrowserSession>;

/** A person of an OpenID Connect issuer who signs in as a user. */
export const Identity = Type.Object({
  id: Type.String(),
  object: Type.Literal('identity'),
  issuer: Type.String(),
  subject: Type.String({ description: 'The claim `sub`, by which the issuer knows the person.' }),
  created_at: UnixSeconds,
});
export type Identity = Static<typeof Identity>;
export const IdentityList = listSchema(Identity);

/** Response of `DELETE /v1/session/identities/{identity_id}`. */
export const DeletedIdentity = deletedSchema('identity');
export type DeletedIdentity = Static<typeof DeletedIdentity>;

/** Response of `DELETE /v1/session`. */
export const DeletedSession = Type.Object({ object: Type.Literal('session'), deleted: Type.Literal(true) });

/** Response of `DELETE /v1/admin/members/{user_id}`. */
export const DeletedMember = deletedSchema('member');
export type DeletedMember = Static<typeof DeletedMember>;

/** Response of `DELETE /v1/admin/invitations/{invitation_id}`. */
export const DeletedInvitation = deletedSchema('invitation');
export type DeletedInvitation = Static<typeof DeletedInvitation>;

titleSchemas({
  SignIn,
  StartOidcSignIn,
  OidcSignIn,
  SignInOptions,
  ChangePassword,
  SwitchOrganization,
  AcceptInvitation,
  Session,
  DeletedSession,
  BrowserSession,
  BrowserSessionList,
  DeletedBrowserSession,
  Identity,
  IdentityList,
  DeletedIdentity,
  User,
  UserList,
  PasswordReset,
  RedeemPasswordReset,
  Member,
  MemberList,
  UpdateMember,
  DeletedMember,
  CreateInvitation,
  Invitation,
  InvitationList,
  InvitationWithToken,
  DeletedInvitation,
});
