import type { CommandSpec } from './command-spec.ts';

/** `quire worker`. */
export const work: CommandSpec = {
  summary: 'Run background work only, beside services that share a PostgreSQL.',
  words: [],
  options: {},
  action: async () => (await import('./run-worker.ts')).runWorker(),
};
