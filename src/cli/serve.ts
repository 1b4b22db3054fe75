import { InvalidArgumentError } from 'commander';
import { CliCommand } from './command.ts';

/** `quire serve`. The modules of the service are imported when the command runs. */
export function serveCommand(): CliCommand {
  return new CliCommand('serve')
    .description('Run the service: the API and the background work in one process. Settings: docs/configuration.md.')
    .option('--host <address>', 'Address to listen on (QUIRE_HOST)')
    .option('--port <number>', 'Port to listen on; 0 chooses a free one (QUIRE_PORT)', parsePort)
    .examples('serve', 'serve --port 9000', 'serve --host 0.0.0.0 --port 80')
    .action(async ({ host, port }: { host?: string; port?: string }) => {
      const { runService } = await import('./run-service.ts');
      await runService({
        ...(host !== undefined && { QUIRE_HOST: host }),
        ...(port !== undefined && { QUIRE_PORT: port }),
      });
    });
}

function parsePort(text: string): string {
  if (/^\d{1,5}$/.test(text) && Number(text) < 65_536) return text;
  throw new InvalidArgumentError('Expected a number from 0 to 65535.');
}

/** `quire worker`. */
export function workerCommand(): CliCommand {
  return new CliCommand('worker')
    .description(
      'Run background work only. Several processes share the work of one PostgreSQL. Needs QUIRE_DATABASE_URL, QUIRE_BLOBS_URL and QUIRE_INDEX_URL.',
    )
    .action(async () => (await import('./run-worker.ts')).runWorker());
}
