import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createDatabase } from './database.ts';

const START = fileURLToPath(new URL('../src/start.js', import.meta.url));

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

describe('quire', () => {
  let folder = '';
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'quire-start-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** Runs a command to its end without the settings of this process. `flags` are Node flags. */
  function quire(
    args: readonly string[],
    environment: Record<string, string> = {},
    flags: readonly string[] = [],
  ): Promise<Ended> {
    const child = spawn(process.execPath, [...flags, START, ...args], {
      cwd: folder,
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: folder,
        QUIRE_DATA_DIR: join(folder, 'data'),
        QUIRE_MODELS_PULL: 'never',
        ...environment,
      },
    });
    const ended: Ended = { code: null, stdout: '', stderr: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      ended.stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      ended.stderr += text;
    });
    return new Promise((resolve) => child.once('close', (code) => resolve({ ...ended, code })));
  }

  /** Asserts one sentence on stderr (besides log lines), exit code 1 and no stack. */
  function assertSentence({ code, stdout, stderr }: Ended, pattern: RegExp): void {
    const lines = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
    assert.equal(code, 1, stderr);
    assert.equal(lines.length, 1, stderr);
    assert.match(lines[0] ?? '', pattern);
    assert.doesNotMatch(stderr, /\n\s+at /);
    assert.doesNotMatch(stdout, /ready/);
  }

  it('exits with 2 and one line that names the help on a usage error', async () => {
    const calls: [args: string[], line: RegExp][] = [
      [['nonsense'], /^Unknown command 'nonsense'\. See 'quire --help'\.\n$/],
      [['keys', 'crate'], /^Unknown command 'crate'\. Did you mean create\? See 'quire keys --help'\.\n$/],
      [
        ['keys', 'create', '--nam', 'x'],
        /^Unknown option '--nam'\. Did you mean --name\? See 'quire keys create --help'\.\n$/,
      ],
      [
        ['keys', 'create', '--scopes', 'root'],
        /'root' is not a scope\. Scopes: .* See 'quire keys create --help'\.\n$/,
      ],
      [['keys', 'revoke', ' '], /^'key' must not be empty\. See 'quire keys revoke --help'\.\n$/],
    ];
    const ended = await Promise.all(calls.map(([args]) => quire(args)));
    for (const [at, { code, stdout, stderr }] of ended.entries()) {
      assert.deepEqual([code, stdout], [2, '']);
      assert.match(stderr, calls[at]?.[1] ?? /$^/);
      assert.equal(stderr.split('\n').length, 2);
    }
  });

  it('reports configuration errors in one sentence', async () => {
    writeFileSync(join(folder, 'quire.yaml'), 'prot: 1\n');
    assertSentence(await quire(['serve']), /quire\.yaml: 'prot' is not a setting/);
    writeFileSync(join(folder, 'quire.yaml'), 'models:\n  mine:\n    file: ./nothing.gguf\n');
    assertSentence(await quire(['serve']), /There is no model file at .*nothing\.gguf/);
    writeFileSync(join(folder, 'broken.gguf'), 'GGUF and no more');
    writeFileSync(join(folder, 'quire.yaml'), 'models:\n  mine:\n    file: ./broken.gguf\n');
    assertSentence(await quire(['serve']), /broken\.gguf/);
    writeFileSync(join(folder, 'quire.yaml'), 'models:\n  mine:\n    alias: nothing\n');
    assertSentence(await quire(['serve']), /models\.mine\.alias: there is no model 'nothing'/);
    rmSync(join(folder, 'quire.yaml'));
    assertSentence(await quire(['serve'], { QUIRE_PORT: 'x' }), /^QUIRE_PORT has a wrong value/);
  });

  it('limits glibc arenas and V8 heaps unless configured, and keeps Node flags', {
    skip: process.platform !== 'linux',
  }, async () => {
    const tell = 'process.on("exit",()=>console.log(process.env.MALLOC_ARENA_MAX,...process.execArgv))';
    const flags = ['--import', `data:text/javascript,${tell}`];
    const young = '--max-semi-space-size=32';
    const growth = '--heap-growing-percent=100';
    const calls = [
      { command: 'serve', told: `2 ${young} ${growth}` },
      { command: 'worker', told: `2 ${young} ${growth}` },
      { command: 'serve', environment: { NODE_OPTIONS: '--max-semi-space-size=64' }, told: `2 ${growth}` },
      { command: 'serve', environment: { MALLOC_ARENA_MAX: '4' }, told: '4' },
      {
        command: 'serve',
        environment: { QUIRE_MEMORY_LIMIT_MB: '1024' },
        told: `2 --max-semi-space-size=8 ${growth} --max-old-space-size=384`,
      },
      {
        command: 'serve',
        environment: { QUIRE_MEMORY_LIMIT_MB: '1024', NODE_OPTIONS: '--max-old-space-size=512' },
        told: `2 --max-semi-space-size=8 ${growth}`,
      },
      { command: 'doctor', told: 'undefined' },
    ];
    const ended = calls.map(async ({ command, environment, told }) => {
      const call = await quire([command], { QUIRE_PORT: 'x', QUIRE_MEMORY_LIMIT_MB: '8192', ...environment }, flags);
      assertSentence(call, /^QUIRE_PORT has a wrong value/);
      assert.equal(call.stdout, `${told} ${flags.join(' ')}\n`, command);
    });
    await Promise.all(ended);
  });

  it('read-only commands fail without a service, and create no data folder', async () => {
    const settings = { QUIRE_DATA_DIR: join(folder, 'none') };
    const commands = [['keys', 'list'], ['orgs', 'list'], ['index', 'check'], ['doctor']];
    for (const ended of await Promise.all(commands.map((args) => quire(args, settings)))) {
      assertSentence(ended, /^No service runs on the data folder .*none, .* Start a service with 'quire serve'/);
    }
    assert.equal((await quire(['models', 'list'], settings)).code, 0);
    assert.equal(existsSync(join(folder, 'none')), false);
  });

  it('ends without an error when the reader of a pipe has ended', async () => {
    const frame = `data: ${JSON.stringify({ choices: [{ delta: { content: 'Word '.repeat(2_000) } }] })}\n\n`;
    const service = createHttpServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`${frame.repeat(100)}data: [DONE]\n\n`);
    }).listen(0, '127.0.0.1');
    await once(service, 'listening');
    const QUIRE_URL = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
    const env = { PATH: process.env['PATH'] ?? '', QUIRE_URL, QUIRE_API_KEY: 'quire-sk-x' };
    const child = spawn(process.execPath, [START, 'ask', 'hello'], { cwd: folder, env });
    child.stdout.destroy();
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const code = await new Promise((resolve) => child.once('close', resolve));
    service.close();
    assert.deepEqual([code, stderr], [0, '']);
  });

  it('reports too little memory in one sentence with the minimum', async () => {
    assertSentence(
      await quire(['serve'], { QUIRE_MEMORY_LIMIT_MB: '512' }),
      /^Quire needs at least \d+ MB of memory, but its limit is 512 MB \(QUIRE_MEMORY_LIMIT_MB\)\. Raise that limit\.$/,
    );
  });

  it('reports an unreachable database in one sentence without its password', async () => {
    const ended = await quire(['serve'], { QUIRE_DATABASE_URL: 'postgres://u:hunter2@127.0.0.1:9/none' });
    assertSentence(ended, /The database at postgres:\/\/127\.0\.0\.1:9\/none does not answer/);
    assert.doesNotMatch(ended.stderr, /hunter2/);
  });

  it('reports a used port and an unusable folder in one sentence each', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const { port } = taken.address() as AddressInfo;
    const unstarted = join(folder, 'unstarted');
    const ended = await quire(['serve'], { QUIRE_PORT: String(port), QUIRE_DATA_DIR: unstarted });
    taken.close();
    // Without a database there is no key yet: the next start is the first one, and shows it.
    assert.equal(existsSync(join(unstarted, 'postgres')), false);
    assertSentence(ended, new RegExp(`127\\.0\\.0\\.1:${port} is in use`));
    writeFileSync(join(folder, 'file'), '');
    assertSentence(
      await quire(['serve'], { QUIRE_DATA_DIR: join(folder, 'file', 'x') }),
      /data folder .* cannot be used/,
    );
  });

  it('rejects a process of one role with the embedded database', async () => {
    for (const command of ['worker', 'api']) {
      assertSentence(await quire([command]), /embedded database serves one process/);
    }
  });

  it('rejects a process of one role whose files or index no other can share', async () => {
    const QUIRE_DATABASE_URL = 'postgres://127.0.0.1:9/none';
    for (const [command, stores] of [
      ['worker', { QUIRE_BLOBS_URL: 's3://bucket' }],
      ['api', { QUIRE_INDEX_URL: 's3://bucket' }],
    ] as const) {
      assertSentence(
        await quire([command], { QUIRE_DATABASE_URL, ...stores }),
        /Set QUIRE_BLOBS_URL and QUIRE_INDEX_URL/,
      );
    }
  });

  it('creates, lists and revokes keys without a service, and prints one JSON document', async () => {
    const database = { QUIRE_DATABASE_URL: (await createDatabase()).url };
    const json = async (...args: string[]) => {
      const { code, stdout, stderr } = await quire([...args, '--json'], database);
      assert.equal(code, 0, stderr);
      return JSON.parse(stdout);
    };
    const org = await json('orgs', 'create', 'acme');
    const restrictions = ['--models', 'general-8b', '--limits', 'requests=60', '--budget', '0.5/month'];
    const made = await json(
      'keys',
      'create',
      '--org',
      'acme',
      '--scopes',
      'inference,admin',
      '--expires',
      '30d',
      ...restrictions,
    );
    assert.match(made.key, /^quire-sk-/);
    assert.equal(made.organization_id, org.id);
    assert.deepEqual(made.scopes, ['inference', 'admin']);
    assert.equal(made.expires_at - made.created_at, 30 * 86_400);
    assert.deepEqual([made.models, made.limits.requests_per_minute], [['general-8b'], 60]);
    assert.deepEqual([made.budget.period, made.budget.limit_micros], ['month', 500_000]);
    const rotated = await json('keys', 'rotate', made.id, '--overlap', '1h');
    assert.notEqual(rotated.key, made.key);
    assert.equal((await json('orgs', 'credit', 'acme', '--set', '1.25')).balance_micros, 1_250_000);
    const [listed] = await json('keys', 'list', '--org', 'acme');
    assert.equal(listed.id, made.id);
    assert.equal('key' in listed || 'hash' in listed, false);
    assert.notEqual((await json('keys', 'revoke', made.id)).revoked_at, null);
    assertSentence(await quire(['keys', 'create', '--org', 'nobody'], database), /There is no organization 'nobody'/);
    assertSentence(await quire(['keys', 'revoke', 'key_x'], database), /There is no key 'key_x'/);
    assertSentence(await quire(['orgs', 'create', 'acme'], database), /already/);
  });

  it('exits immediately on SIGTERM while loading, even as process 1 of a container', async () => {
    // Sent when the first handler is added, in the re-executed process of start.js.
    const signal = "if (name === 'SIGTERM') process.kill(process.pid, name)";
    const loading = `if (process.env['MALLOC_ARENA_MAX']) process.on('newListener', (name) => { ${signal} })`;
    const ended = await quire(['serve'], {}, ['--import', `data:text/javascript,${loading}`]);
    assert.deepEqual(ended, { code: 143, stdout: '', stderr: '' });
  });

  describe('on an old Node', () => {
    const older = "Object.defineProperty(process.versions, 'node', { value: '20.1.0' })";
    const run = async (node: string, start: string, ...args: string[]) => {
      const child = spawn(node, ['--import', `data:text/javascript,${older}`, start, ...args], { timeout: 60_000 });
      let stderr = '';
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        stderr += text;
      });
      return { code: await new Promise((resolve) => child.once('close', resolve)), stderr };
    };

    it('hands over to the installed Node', async () => {
      const other = join(folder, 'other-node');
      copyFileSync(process.execPath, other, constants.COPYFILE_FICLONE);
      const { code, stderr } = await run(other, START, 'keys', '--nope');
      assert.match(stderr, /^Unknown option '--nope'/);
      assert.equal(code, 2);
    });

    it('exits with instructions when none is installed', async () => {
      const copy = join(folder, 'src');
      mkdirSync(join(copy, 'boot'), { recursive: true });
      writeFileSync(join(copy, 'package.json'), '{"type": "module"}');
      const files = ['start.js', 'boot/require-node.js', 'boot/pinned-node.js'];
      for (const name of files) copyFileSync(join(START, '..', name), join(copy, name));
      const { code, stderr } = await run(process.execPath, join(copy, 'start.js'), 'serve');
      assert.match(stderr, /Quire needs Node 24 or later, and this is Node 20\.1\.0/);
      assert.match(stderr, /npm ci && npm start/);
      assert.equal(code, 1);
      // Must not fail earlier: an old Node must not reach imports that it lacks.
      const imports = (name: string) => readFileSync(join(copy, name), 'utf8').match(/^import .* from '.*';$/gm) ?? [];
      assert.deepEqual(imports('start.js'), ["import { isNodeTooOld, requireNode24 } from './boot/require-node.js';"]);
      assert.deepEqual(imports('boot/require-node.js'), []);
    });
  });
});
