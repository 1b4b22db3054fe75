import { type Static, Type } from 'typebox';

/** The statistics of the prompt cache: of the whole instance, since they were last reset. */
export const CacheStatistics = Type.Object(
  {
    hit_count: Type.Integer({ minimum: 0, description: 'Prompts of which a prefix came from a cache.' }),
    miss_count: Type.Integer({ minimum: 0, description: 'Prompts that were processed whole.' }),
    hit_rate: Type.Number({ minimum: 0, maximum: 1, description: 'Hits among all prompts; 0 while there was none.' }),
    cached_tokens_total: Type.Integer({ minimum: 0, description: 'Prompt tokens that came from a cache.' }),
    memory_usage_mb: Type.Union([Type.Number({ minimum: 0 }), Type.Null()], {
      description:
        'Memory that the caches of the engines on this machine take now, in units of 1,048,576 bytes; null while none says.',
    }),
    entries: Type.Integer({ minimum: 0, description: 'Distinct prefixes that these caches keep now.' }),
    evictions: Type.Integer({ minimum: 0, description: 'Prefixes that made room for others.' }),
    uptime_seconds: Type.Integer({
      minimum: 0,
      description: 'Seconds since the statistics began: at the start of the process, or at the last reset.',
    }),
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
      },
    ],
  },
);

export type CacheStatistics = Static<typeof CacheStatistics>;
