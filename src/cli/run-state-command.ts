import type { Config } from '../config.ts';
import { sendCommand } from './command-socket.ts';

/**
 * Runs a command that needs the database: in the service that runs on the data folder, otherwise in this process. The
 * modules that open the database are imported only in the second case, which keeps the first one fast.
 */
export async function runStateCommand(
  config: Config,
  command: string,
  input: Record<string, unknown>,
): Promise<unknown> {
  const reply = await sendCommand(config.dataDir, { command, input });
  if (reply !== null) return reply.result;
  const { runLocally } = await import('./run-locally.ts');
  const { NEEDS_MODELS, STATE_COMMANDS } = await import('./state-commands.ts');
  const run = STATE_COMMANDS[command];
  if (run === undefined) throw new Error(`no such state command: ${command}`);
  return runLocally(config, { needsModels: NEEDS_MODELS.has(command) }, (deps) => run(deps, input));
}
