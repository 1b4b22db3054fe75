import { sql } from 'drizzle-orm';
import { boolean, index, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core';
import { organizations } from '../accounts/tables.ts';
import type { UserRole } from '../lib/caller.ts';

/** An id for rows that an earlier version inserts. It has the shape of others, and sorts before them. */
const laterId = (prefix: string) =>
  text()
    .notNull()
    .unique()
    .default(sql`${sql.raw(`'${prefix}00'`)} || left(replace(gen_random_uuid()::text, '-', ''), 24)`);
const createdAt = () => timestamp('created_at', { withTimezone: true }).notNull().default(sql`now()`);
const organizationId = () =>
  text('organization_id')
    .notNull()
    .references(() => organizations.id, { onDelete: 'cascade' });
const userId = () =>
  text('user_id')
    .notNull()
    .references(() => users.id, { onDelete: 'cascade' });

/** People who sign in to the console. */
export const users = pgTable('users', {
  id: text().primaryKey(),
  /** Lower case. */
  email: text().notNull().unique(),
  name: text().notNull(),
  /** `scrypt$...`, see `password.ts`; null for users who sign in through the OpenID Connect issuer only. */
  passwordHash: text('password_hash'),
  /** Operators manage the whole instance, as keys with the scope `admin` do. */
  isOperator: boolean('is_operator').notNull(),
  createdAt: createdAt(),
});

/** Persons of OpenID Connect issuers, who sign in as the user. */
export const userIdentities = pgTable(
  'user_identities',
  {
    id: laterId('ident_'),
    issuer: text().notNull(),
    /** The claim `sub`, which the issuer gives to one person only; emails change hands. */
    subject: text().notNull(),
    userId: userId(),
    createdAt: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.issuer, table.subject] }),
    index('user_identities_by_user').on(table.userId),
  ],
);

/** One-time links that set a lost password, one for each user. Only the SHA-256 of a token is stored. */
export const passwordResets = pgTable('password_resets', {
  userId: userId().primaryKey(),
  tokenHash: text('token_hash').notNull().unique(),
  /** The user or key that created the link, or `cli`. Null: an earlier version, whose links are not valid any more. */
  createdBy: text('created_by'),
  /** The organization whose owner has created the link; null: an operator. */
  organizationId: text('organization_id').references(() => organizations.id, { onDelete: 'cascade' }),
  expiresAt: timestamp('expires_at', { withTimezone: true }).notNull(),
});

/** Roles of users in organizations. */
export const members = pgTable(
  'members',
  {
    organizationId: organizationId(),
    userId: userId(),
    role: text().$type<UserRole>().notNull(),
    createdAt: createdAt(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.userId] }), index('members_by_user').on(table.userId)],
);

/** One-time links that create a user or add one to an organization. Only the SHA-256 of a token is stored. */
export const invitations = pgTable(
  'invitations',
  {
    id: text().primaryKey(),
    tokenHash: text('token_hash').notNull().unique(),
    organizationId: organizationId(),
    role: text().$type<UserRole>().notNull(),
    /** Whether the user becomes an operator: links that a start prints while there is no user. */
    isOperator: boolean('is_operator').notNull(),
    /** The user or key that has created the link, `cli` or `service`. Null: an earlier version. */
    createdBy: text('created_by'),
    /** Note of the inviter, such as an email address; null without one. */
    note: text(),
    expiresAt: timestamp('expires_at', { withTimezone: true }).notNull(),
    createdAt: createdAt(),
  },
  (table) => [index('invitations_by_organization').on(table.organizationId, table.id)],
);

/** Browser sessions. Only the SHA-256 of a session token is stored. */
export const sessions = pgTable(
  'sessions',
  {
    id: laterId('sess_'),
    tokenHash: text('token_hash').primaryKey(),
    userId: userId(),
    /** The header `User-Agent` of the sign-in; null without one. */
    userAgent: text('user_agent'),
    /** The organization that the console shows. */
    organizationId: organizationId(),
    expiresAt: timestamp('expires_at', { withTimezone: true }).notNull(),
    /** Exact to five minutes. */
    lastSeenAt: timestamp('last_seen_at', { withTimezone: true }).notNull(),
    createdAt: createdAt(),
  },
  (table) => [index('sessions_by_user').on(table.userId), index('sessions_by_expiry').on(table.expiresAt)],
);
