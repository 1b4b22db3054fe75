import { type AddressInfo, createServer } from 'node:net';
import { type AppDeps, createApp } from '../app.ts';
import type { Config } from '../config/config.ts';
import type { App } from '../http/app.ts';
import { describeError, OperatorError } from '../lib/operator-error.ts';
import { VERSION } from '../lib/version.ts';

type Address = Pick<Config, 'host' | 'port'>;

/** Throws an `OperatorError` when the address cannot be bound: before a first start creates anything. */
export async function requireFreeAddress({ host, port }: Address): Promise<void> {
  const server = createServer();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject).listen({ host, port }, resolve);
  try {
    await promise;
    await new Promise((closed) => server.close(closed));
  } catch (error) {
    throw cannotListen({ host, port }, error);
  }
}

/** Creates the API and binds its address. */
export function serveApi(address: Address, deps: AppDeps): Promise<App> {
  return listenOn(address, () => createApp(deps, VERSION));
}

/** Creates an application and binds its address. Throws an `OperatorError` when the address cannot be bound. */
export async function listenOn(address: Address, create: () => Promise<App>): Promise<App> {
  const app = await create();
  try {
    await app.listen({ host: address.host, port: address.port });
  } catch (error) {
    await app.close();
    throw cannotListen(address, error);
  }
  return app;
}

/** The URL at which a client on this machine reaches the API. */
export function baseUrl(host: string, app: App): string {
  const { port } = app.server.address() as AddressInfo;
  const isAny = host === '0.0.0.0' || host === '::';
  const name = isAny ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}`;
}

function cannotListen({ host, port }: Address, error: unknown): OperatorError {
  const where = `${host}:${port}`;
  if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE')
    return new OperatorError(`The address ${where} is in use. Set QUIRE_PORT to another port, or to 0 for a free one.`);
  return new OperatorError(`Quire cannot listen on ${where}: ${describeError(error)}`);
}
