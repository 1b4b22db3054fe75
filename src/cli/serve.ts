import { InvalidArgumentError } from 'commander';
import { CliCommand } from './command.ts';

/** `quire serve`. */
export function serveCommand(): CliCommand {
  return addressCommand(
    'serve',
    'Run the service: the API and the background work in one process. Settings: docs/use/configuration.md.',
  ).examples('serve', 'serve --port 9000', 'serve --host 0.0.0.0 --port 80');
}

/** `quire api`. */
export function apiCommand(): CliCommand {
  return addressCommand(
    'api',
    "Run the API only; 'quire worker' processes do the background work. Needs QUIRE_DATABASE_URL, QUIRE_BLOBS_URL and QUIRE_INDEX_URL.",
  );
}

/** A command that listens on an address. The modules of the service are imported when it runs. */
function addressCommand(name: 'serve' | 'api', description: string): CliCommand {
  return new CliCommand(name)
    .description(description)
    .option('--host <address>', 'Address to listen on (QUIRE_HOST)')
    .option('--port <number>', 'Port to listen on; 0 chooses a free one (QUIRE_PORT)', parsePort)
    .action(async ({ host, port }: { host?: string; port?: string }) => {
      const { runService } = await import('./run-service.ts');
      const flags = {
        ...(host !== undefined && { QUIRE_HOST: host }),
        ...(port !== undefined && { QUIRE_PORT: port }),
      };
      await runService(flags, name);
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
