import type { Config } from '../config.ts';
import { askService } from './command-socket.ts';

/**
 * Runs a command that needs the database: in the service when one runs on the data folder, otherwise in this process. The
 * modules that open the database are imported only in the second case, which keeps the first one fast.
 */
export async function withState(config: Config, command: string, input: Record<string, unknown>): Promise<unknown> {
  const reply = await askService(config.dataDir, { command, input });
  if (reply !== null) return reply.result;
  const { runHere } = await import('./run-here.ts');
  return runHere(config, command, input);
}
