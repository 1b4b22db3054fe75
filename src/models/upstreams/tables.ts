import { sql } from 'drizzle-orm';
import { boolean, integer, jsonb, pgTable, text, timestamp, unique } from 'drizzle-orm/pg-core';
import type { Pricing } from '../../engines/registry.ts';

/** Servers of models that operators have added over the API. Those of the configuration file have no row. */
export const upstreams = pgTable(
  'upstreams',
  {
    id: text().primaryKey(),
    name: text().notNull(),
    protocol: text({ enum: ['openai', 'anthropic'] }).notNull(),
    /** Replicas with the same key and models. */
    baseUrls: jsonb('base_urls').$type<string[]>().notNull(),
    /** The API key, encrypted and bound to the id; null without one. */
    sealedApiKey: text('sealed_api_key'),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
    updatedAt: timestamp('updated_at', { withTimezone: true }).notNull(),
  },
  (table) => [unique('upstreams_by_name').on(table.name)],
);

/** A server of a model id. */
export interface UpstreamRoute {
  upstream_id: string;
  /** The server's own name of the model. */
  model: string;
  /** Share of the requests; 0: a fallback. */
  weight: number;
}

/** Model ids that operators have bound to servers of `upstreams`. */
export const upstreamModels = pgTable('upstream_models', {
  modelId: text('model_id').primaryKey(),
  /** In the order in which fallbacks are tried. */
  routes: jsonb().$type<UpstreamRoute[]>().notNull(),
  /** Null: as the servers report. */
  contextLength: integer('context_length'),
  /** Null: the default of the model id. */
  pricing: jsonb().$type<Pricing>(),
  vision: boolean().notNull().default(false),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().default(sql`now()`),
});
