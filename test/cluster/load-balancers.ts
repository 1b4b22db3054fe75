import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** A load balancer in front of several processes of the API. */
export interface LoadBalancer {
  url: string;
  /** Its output so far. */
  output(): string;
  stop(): Promise<void>;
}

/** Interval of the health checks of HAProxy. */
const CHECK_MS = 300;

/** Returns the configuration of a balancer on a port for servers. */
type Configure = (port: number, servers: readonly string[], folder: string) => string;

const PROGRAMS: Record<'haproxy' | 'nginx', { configure: Configure; args(file: string, folder: string): string[] }> = {
  haproxy: {
    configure: (port, servers) => `
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  # On a busy machine a response takes longer than the interval of the checks.
  timeout check 10s
frontend api
  bind 127.0.0.1:${port}
  default_backend quire
backend quire
  balance roundrobin
  option redispatch
  option httpchk GET /readyz
  http-check expect status 200
${servers.map((server, i) => `  server api${i} ${server} check inter ${CHECK_MS} fall 1 rise 1\n`).join('')}`,
    args: (file) => ['-db', '-f', file],
  },
  nginx: {
    configure: (port, servers, folder) => `
daemon off;
pid ${folder}/nginx.pid;
error_log stderr warn;
events {}
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  upstream quire {
    ${servers.map((server) => `server ${server} max_fails=1 fail_timeout=1s;`).join(' ')}
    keepalive 16;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://quire;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}`,
    args: (file, folder) => ['-c', file, '-p', folder, '-e', 'stderr'],
  },
};

/** Whether the program of a load balancer is installed. */
export function isInstalled(name: keyof typeof PROGRAMS): boolean {
  return spawnSync(name, ['-v']).status === 0;
}

/** Starts a load balancer in front of base URLs; its files lie in `folder`. Resolves when it forwards requests. */
export async function startLoadBalancer(
  name: keyof typeof PROGRAMS,
  urls: readonly string[],
  folder: string,
): Promise<LoadBalancer> {
  mkdirSync(folder, { recursive: true });
  const port = await freePort();
  const { configure, args } = PROGRAMS[name];
  const file = join(folder, `${name}.conf`);
  const servers = urls.map((url) => new URL(url).host);
  writeFileSync(file, configure(port, servers, folder));
  const child: ChildProcess = spawn(name, args(file, folder), { stdio: ['ignore', 'pipe', 'pipe'] });
  process.once('exit', () => child.kill('SIGKILL'));
  let written = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      written += text;
    });
  }
  const ended = once(child, 'exit');
  const url = `http://127.0.0.1:${port}`;
  const isReady = async () => (await fetch(`${url}/readyz`).catch(() => null))?.status === 200;
  while (!(await isReady())) {
    if (child.exitCode !== null) throw new Error(`${name} did not start: ${written}`);
    await pause(50);
  }
  return {
    url,
    output: () => written,
    stop: async () => {
      child.kill();
      await ended;
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
