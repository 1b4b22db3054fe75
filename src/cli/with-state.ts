import type { Config } from '../config.ts';
import { askService } from './command-socket.ts';

/**
 * Carries out a command on the state: in the service when one runs on the data folder, otherwise here. What opens the
 * state is loaded only then, so a command beside a service takes no longer than its answer.
 */
export async function withState(config: Config, command: string, input: Record<string, unknown>): Promise<unknown> {
  const reply = await askService(config.dataDir, { command, input });
  if (reply !== null) return reply.result;
  const { runHere } = await import('./run-here.ts');
  return runHere(config, command, input);
}
