import { type Static, Type } from 'typebox';
import { titleSchemas } from '../lib/title-schemas.ts';

const COUNTS = {
  hit_count: Type.Integer({ minimum: 0, description: 'Prompts with a prefix read from a cache.' }),
  miss_count: Type.Integer({ minimum: 0, description: 'Prompts without cached prefix.' }),
  hit_rate: Type.Number({
    minimum: 0,
    maximum: 1,
    description: 'Share of hits among all prompts; 0 before the first prompt.',
  }),
  cached_tokens_total: Type.Integer({ minimum: 0, description: 'Prompt tokens read from a cache.' }),
  memory_usage_mb: Type.Union([Type.Number({ minimum: 0 }), Type.Null()], {
    description:
      'Memory used by the caches of local engines, in MiB (1,048,576 bytes); null while no engine reports it.',
  }),
  entries: Type.Integer({ minimum: 0, description: 'Distinct prefixes in these caches.' }),
  evictions: Type.Integer({ minimum: 0, description: 'Prefixes evicted from these caches.' }),
} as const;

/** Prompt cache statistics of the instance since the last reset. */
export const CacheStatistics = Type.Object(
  {
    ...COUNTS,
    uptime_seconds: Type.Integer({
      minimum: 0,
      description: 'Seconds since the last reset, or since the first start.',
    }),
    models: Type.Array(
      Type.Object({
        model: Type.String(),
        ...COUNTS,
        shared_with: Type.Array(Type.String(), {
          description:
            'Other models of the same engine, whose prefixes are in the entries, the memory and the evictions of this one.',
        }),
      }),
      {
        description:
          'The same by model. Models that share an engine share its cache: entries, memory and evictions are listed under the first of them.',
      },
    ),
  },
  {
    examples: [
      {
        hit_count: 1204,
        miss_count: 388,
        hit_rate: 0.756281407035176,
        cached_tokens_total: 918_442,
        memory_usage_mb: 412.5,
        entries: 96,
        evictions: 31,
        uptime_seconds: 86_400,
        models: [
          {
            model: 'general-8b',
            hit_count: 1204,
            miss_count: 388,
            hit_rate: 0.756281407035176,
            cached_tokens_total: 918_442,
            memory_usage_mb: 412.5,
            entries: 96,
            evictions: 31,
            shared_with: ['general-70b'],
          },
        ],
      },
    ],
  },
);

export type CacheStatistics = Static<typeof CacheStatistics>;

titleSchemas({ CacheStatistics });
