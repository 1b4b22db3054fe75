/** A PostgreSQL cluster of two members on loopback, managed by Patroni with etcd, behind HAProxy. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../deadline.ts';

/** Folder of Debian with the programs of each version. */
const POSTGRES_FOLDER = '/usr/lib/postgresql';
/** PostgreSQL does not run as root: `nobody`. */
const USER = 65_534;
const MEMBERS = 2;

/** A running cluster. */
export interface PatroniCluster {
  /** URL of the primary, through HAProxy. */
  url: string;
  /** Kills the primary with its Patroni by SIGKILL. Returns its name. */
  killPrimary(): Promise<string>;
  /** Name of the primary; null while there is none. */
  primary(): Promise<string | null>;
  output(): string;
  stop(): Promise<void>;
}

interface Member {
  name: string;
  apiPort: number;
  postgresPort: number;
  child: ChildProcess;
  folder: string;
}

/** Returns the missing programs, as a reason to skip; null when all are installed. */
export function findMissingPrograms(): string | null {
  const missing = ['patroni', 'etcd', 'haproxy'].filter((name) => spawnSync('which', [name]).status !== 0);
  if (findPostgres() === null) missing.push('postgresql');
  return missing.length === 0 ? null : `${missing.join(', ')} not installed`;
}

function findPostgres(): string | null {
  if (!existsSync(POSTGRES_FOLDER)) return null;
  const folders = readdirSync(POSTGRES_FOLDER).map((version) => join(POSTGRES_FOLDER, version, 'bin'));
  return folders.findLast((folder) => existsSync(join(folder, 'postgres'))) ?? null;
}

/** Starts the cluster with synchronous replication. Resolves when it has a primary and a synchronous standby. */
export async function startPatroniCluster(): Promise<PatroniCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'quire-patroni-'));
  own(folder);
  const [etcdPort, peerPort, proxyPort, ...ports] = await findFreePorts(3 + 2 * MEMBERS);
  const output = { written: '' };
  const run = (program: string, args: string[]) => startProgram(program, args, { folder, output });
  const etcdUrl = `http://127.0.0.1:${etcdPort}`;
  const peerUrl = `http://127.0.0.1:${peerPort}`;
  const etcd = run('etcd', [
    ...['--name', 'e1', '--data-dir', join(folder, 'etcd'), '--enable-v2=false'],
    ...['--listen-client-urls', etcdUrl, '--advertise-client-urls', etcdUrl],
    ...['--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl, '--initial-cluster', `e1=${peerUrl}`],
  ]);
  const members: Member[] = [];
  for (let i = 0; i < MEMBERS; i += 1) {
    const [apiPort = 0, postgresPort = 0] = ports.slice(2 * i, 2 * i + 2);
    const name = `member${i + 1}`;
    const file = join(folder, `${name}.yaml`);
    writeFileSync(file, configureMember({ name, apiPort, postgresPort, etcdPort: etcdPort ?? 0, folder }));
    members.push({ name, apiPort, postgresPort, folder: join(folder, name), child: run('patroni', [file]) });
  }
  writeFileSync(join(folder, 'haproxy.cfg'), configureProxy(proxyPort ?? 0, members));
  const proxy = run('haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')]);
  const hasRole = async ({ apiPort }: Member, role: string) =>
    (await fetch(`http://127.0.0.1:${apiPort}/${role}`).catch(() => null))?.status === 200;
  const findRole = async (role: string) => {
    for (const member of members) if (await hasRole(member, role)) return member;
    return null;
  };
  const cluster: PatroniCluster = {
    url: `postgres://postgres@127.0.0.1:${proxyPort}/postgres`,
    output: () => output.written,
    primary: async () => (await findRole('primary'))?.name ?? null,
    killPrimary: async () => {
      const member = await findRole('primary');
      if (member === null) throw new Error(`no primary: ${output.written.slice(-2000)}`);
      killGroup(member);
      return member.name;
    },
    stop: async () => {
      for (const member of members) killGroup(member);
      for (const child of [proxy, etcd]) child.kill('SIGKILL');
      await Promise.all([proxy, etcd].map((child) => child.exitCode ?? child.signalCode ?? once(child, 'exit')));
      rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
    },
  };
  try {
    await until(async () => (await cluster.primary()) !== null && (await findRole('synchronous')) !== null);
  } catch (error) {
    await cluster.stop();
    throw new Error(`the cluster did not start: ${output.written.slice(-4000)}`, { cause: error });
  }
  return cluster;
}

/** Starts a program as the user of the cluster, and collects its output. */
function startProgram(
  program: string,
  args: string[],
  { folder, output }: { folder: string; output: { written: string } },
): ChildProcess {
  const child = spawn(program, args, {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME: folder, LC_ALL: 'C.UTF-8' },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, which is killed with all servers.
    detached: true,
    ...(process.getuid?.() === 0 && { uid: USER, gid: USER }),
  });
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output.written += text;
    });
  return child;
}

/** Patroni, and the server, which has a session of its own. */
function killGroup({ child, folder }: Member): void {
  const pids = [child.pid ?? 0];
  const pidFile = join(folder, 'postmaster.pid');
  if (existsSync(pidFile)) pids.push(...listGroup(pidFile));
  for (const pid of pids) {
    for (const target of [-pid, pid]) {
      try {
        process.kill(target, 'SIGKILL');
      } catch {
        // It has ended, or leads no group.
      }
    }
  }
}

function listGroup(pidFile: string): number[] {
  const { stdout } = spawnSync('head', ['-n', '1', pidFile], { encoding: 'utf8' });
  const pid = Number(stdout.trim());
  return pid > 0 ? [pid] : [];
}

function configureMember(member: {
  name: string;
  apiPort: number;
  postgresPort: number;
  etcdPort: number;
  folder: string;
}): string {
  const { name, apiPort, postgresPort, etcdPort, folder } = member;
  return `
scope: quire
name: ${name}
restapi: {listen: "127.0.0.1:${apiPort}", connect_address: "127.0.0.1:${apiPort}"}
etcd3: {host: "127.0.0.1:${etcdPort}"}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 5
    synchronous_mode: true
    maximum_lag_on_failover: 1048576
    postgresql:
      use_pg_rewind: true
      parameters: {max_connections: 100, shared_buffers: 64MB, wal_keep_size: 64MB}
  initdb: [{encoding: UTF8}, {locale: C.UTF-8}, data-checksums]
  pg_hba: ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust", "local all all trust"]
postgresql:
  listen: 127.0.0.1:${postgresPort}
  connect_address: 127.0.0.1:${postgresPort}
  data_dir: ${join(folder, name)}
  bin_dir: ${findPostgres()}
  pgpass: ${join(folder, `${name}.pgpass`)}
  authentication:
    superuser: {username: postgres}
    replication: {username: postgres}
    rewind: {username: postgres}
  parameters: {unix_socket_directories: "${folder}"}
tags: {}
`;
}

/** As docs/use/operations.md shows it. */
function configureProxy(port: number, members: readonly Member[]): string {
  const servers = members.map(
    ({ name, postgresPort, apiPort }) => `  server ${name} 127.0.0.1:${postgresPort} check port ${apiPort}\n`,
  );
  return `
defaults
  mode tcp
  timeout connect 2s
  timeout client 30m
  timeout server 30m
  timeout check 5s
listen postgres
  bind 127.0.0.1:${port}
  option httpchk GET /primary
  http-check expect status 200
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
${servers.join('')}`;
}

function own(folder: string): void {
  if (process.getuid?.() === 0) chownSync(folder, USER, USER);
}

async function findFreePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}
