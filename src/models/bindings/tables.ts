import { sql } from 'drizzle-orm';
import { bigint, boolean, integer, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core';

/**
 * Model ids that commands or the initial pull have bound to a model file. Every process on the database applies these
 * rows; the configuration file and `QUIRE_UPSTREAM_URL` override them.
 */
export const modelBindings = pgTable('model_bindings', {
  modelId: text('model_id').primaryKey(),
  /** Name of a model file: `models/NAME.gguf` in the data folder of each process. */
  modelName: text('model_name').notNull(),
  /** SHA-256 of the file, so that no process serves another one of that name. Null without a shared blob store. */
  modelSha256: text('model_sha256'),
  chosenBy: text('chosen_by', { enum: ['operator', 'first-start'] }).notNull(),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().default(sql`now()`),
});

/**
 * Former bindings of embedding model ids. Their engines embed queries until the chunks of all knowledge bases are
 * embedded by the present model.
 */
export const retiredModels = pgTable(
  'retired_models',
  {
    modelId: text('model_id').notNull(),
    /** Name of a model file; empty: the model without a stored binding. */
    modelName: text('model_name').notNull(),
    modelSha256: text('model_sha256'),
    retiredAt: timestamp('retired_at', { withTimezone: true }).notNull().default(sql`now()`),
  },
  (table) => [primaryKey({ columns: [table.modelId, table.modelName] })],
);

/** Bound model files, as blobs of the first 32 digits of their hash, for the processes that lack the file. */
export const modelFiles = pgTable('model_files', {
  sha256: text().primaryKey(),
  bytes: bigint({ mode: 'number' }).notNull(),
  /** Null until the blob is complete. */
  storedAt: timestamp('stored_at', { withTimezone: true }),
});

/** One row. `version` increases with every change of the bindings, so that other processes notice it. */
export const modelBindingsState = pgTable('model_bindings_state', {
  id: integer().primaryKey().default(1),
  version: integer().notNull().default(1),
  /** True once the initial pull has bound a model: later starts do not pull again. */
  initialPullDone: boolean('initial_pull_done').notNull().default(false),
});

/** Model ids outside the catalogue, with the time of their first binding: `created` of their model object. */
export const modelIds = pgTable('model_ids', {
  modelId: text('model_id').primaryKey(),
  firstBoundAt: timestamp('first_bound_at', { withTimezone: true }).notNull().default(sql`now()`),
});
