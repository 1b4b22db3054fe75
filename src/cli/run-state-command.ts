import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { loadClientConfig } from '../config/client-config.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { sendCommand } from './command-client.ts';
import type { StateDeps, StateNeeds } from './state-command.ts';

/** A read-only command found neither a service nor a database. */
export class NoDatabaseError extends OperatorError {}

/** Runs a command that needs the database: in the service that runs on the data folder, otherwise in this process. */
export async function runStateCommand(
  command: string,
  input: Record<string, unknown>,
  needs: StateNeeds = {},
): Promise<unknown> {
  const { dataDir } = await loadClientConfig();
  const reply = await sendCommand(dataDir, { command, input });
  if (reply !== null) return reply.result;
  const { STATE_COMMANDS } = await import('./state-commands.ts');
  const run = STATE_COMMANDS[command];
  if (run === undefined) throw new Error(`no such state command: ${command}`);
  return openState(needs, (deps) => run(deps, input));
}

/** Opens the database in this process for `use`. Imports its modules here: most commands find a service. */
export async function openState<T>(needs: StateNeeds, use: (deps: StateDeps) => Promise<T>): Promise<T> {
  const { loadConfig } = await import('../config/config.ts');
  const config = loadConfig();
  const isNew = config.databaseUrl === null && !existsSync(join(config.dataDir, 'postgres'));
  if (needs.isReadOnly && isNew) {
    throw new NoDatabaseError(
      `No service runs on the data folder ${config.dataDir}, and there is no database in it. Start a service with 'quire serve', or set QUIRE_DATA_DIR to its folder.`,
    );
  }
  const { runLocally } = await import('./run-locally.ts');
  return runLocally(config, needs, use);
}
