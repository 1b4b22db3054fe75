export const cache = {
  title: 'Prompt cache',
  intro:
    'Prefixes of prompts whose computation is reused. Counted since the last reset, over all processes and restarts.',
  hitRate: 'Hit rate',
  hits: 'Hits',
  misses: 'Misses',
  cachedTokens: 'Cached tokens',
  memory: 'Memory',
  entries: 'Entries',
  sharedWith: 'shared with {models}',
  evictions: 'Evictions',
  reset: 'Reset counters',
};
