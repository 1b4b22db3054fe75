import type { CommandSpec } from './command-spec.ts';

/** `quire serve`. What runs is loaded when it runs: other commands need not wait for it. */
export const serve: CommandSpec = {
  summary: 'Run the service: the API and the background work in one process.',
  words: [],
  options: {},
  action: async () => (await import('./run-service.ts')).runService(),
};
