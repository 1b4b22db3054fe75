import type { CommandSpec } from './command-spec.ts';

/** `quire serve`. The modules of the service are imported when the command runs, which keeps the other commands fast. */
export const serveCommand: CommandSpec = {
  summary: 'Run the service: the API and the background work in one process.',
  words: [],
  options: {},
  action: async () => (await import('./run-service.ts')).runService(),
};

/** `quire worker`. */
export const workerCommand: CommandSpec = {
  summary: 'Run background work only. Several processes share the work of one PostgreSQL.',
  words: [],
  options: {},
  action: async () => (await import('./run-worker.ts')).runWorker(),
};
