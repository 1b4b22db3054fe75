/** Engines as another process of the service sees them: over a UNIX socket. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EngineHost } from '../src/engines/remote/engine-host.ts';
import type { ChangedFacts, StartedEngine } from '../src/engines/remote/protocol.ts';
import { RemoteEngines } from '../src/engines/remote/remote-engines.ts';
import { type RpcMethods, RpcPeer } from '../src/lib/rpc-peer.ts';

/** Two connected ends. */
export interface Peers {
  server: RpcPeer;
  client: RpcPeer;
  close(): Promise<void>;
}

/** Connects two peers over a UNIX socket. `serve` gets the server's end once it exists. */
export async function connectPeers(
  serve: (server: () => RpcPeer) => RpcMethods,
  client: RpcMethods = { call: async () => undefined },
): Promise<Peers> {
  const folder = mkdtempSync(join(tmpdir(), 'quire-rpc-'));
  const listener = createServer();
  await once(listener.listen(join(folder, 's')), 'listening');
  const near = connect(join(folder, 's'));
  const [far] = (await once(listener, 'connection')) as [Socket];
  const peers: Pick<Peers, 'client' | 'server'> = {
    client: new RpcPeer(near, client),
    server: new RpcPeer(
      far,
      serve(() => peers.server),
    ),
  };
  return {
    ...peers,
    close: async () => {
      peers.client.close();
      await Promise.all([peers.client.closed, peers.server.closed]);
      await new Promise((resolve) => listener.close(resolve));
      rmSync(folder, { recursive: true });
    },
  };
}

/** An engine behind a socket, and the connection to it. */
export interface RemoteSubject<Started> extends Peers {
  started: Started;
  remotes: RemoteEngines;
}

/** Serves an engine over a socket. Released engines are closed. */
export async function serveRemotely<Started extends StartedEngine>(started: Started): Promise<RemoteSubject<Started>> {
  const host = new EngineHost({
    startShared: async () => started,
    release: (engine) => engine.close(),
  });
  let remotes: RemoteEngines | null = null;
  const peers = await connectPeers(host.open.bind(host), {
    call: async () => undefined,
    notify: (_method, input) => remotes?.update(input as ChangedFacts),
  });
  remotes = new RemoteEngines(peers.client);
  const remote = (await remotes.start({ kind: '', id: '', binding: undefined })) as Started;
  return { ...peers, started: remote, remotes };
}
