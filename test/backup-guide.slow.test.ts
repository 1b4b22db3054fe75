/** Follows docs/use/backup.md literally: its shell blocks run in bash, beside a service on the embedded database. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { encodeForm, sendForm } from './forms.ts';
import { newDataDir, type Service, startService, until, useEmbeddedDatabases } from './spawned-service.ts';

useEmbeddedDatabases();

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const run = promisify(execFile);
const BLOCKS = [...readFileSync(join(ROOT, 'docs/use/backup.md'), 'utf8').matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(
  ([, block = '']) => block,
);

describe('the guide of backups', () => {
  let folder: string;
  let env: Record<string, string>;
  let service: Service | undefined;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'quire-guide-'));
    mkdirSync(join(folder, 'bin'));
    const program = (name: string, text: string) => {
      writeFileSync(join(folder, 'bin', name), `#!/bin/bash\n${text}\n`);
      chmodSync(join(folder, 'bin', name), 0o755);
    };
    program('npx', `shift\nexec "${process.execPath}" "${ROOT}src/start.js" "$@"`);
    // The test starts the service itself, with the variables of the block.
    program('npm', '');
  });
  after(async () => {
    await service?.kill();
    rmSync(folder, { recursive: true });
  });

  /** Runs a block; returns its output and the variables that it has exported. */
  async function follow(block: string, variables: Record<string, string> = {}) {
    const script = block.replaceAll('/mnt/backup', join(folder, 'disk')).replaceAll('/etc/quire', join(folder, 'etc'));
    const { stdout } = await run('/bin/bash', ['-e', '-c', `${script}\necho ==; env | grep ^QUIRE_BACKUP || true`], {
      cwd: folder,
      env: { PATH: `${join(folder, 'bin')}:${process.env['PATH']}`, ...variables },
    });
    const [output = '', exported = ''] = stdout.split('==\n');
    const pairs = exported.split('\n').map((line) => line.split(/=(.*)/).slice(0, 2));
    return { output, exported: Object.fromEntries(pairs.filter(([name]) => name !== '')) as Record<string, string> };
  }

  const upload = async (to: Service, name: string) => {
    const parts = [
      { name: 'purpose', content: 'knowledge-base' },
      { name: 'file', filename: name, content: Buffer.from(name) },
    ];
    assert.equal((await sendForm(`${to.url}/v1/files`, encodeForm(parts), { key: to.key })).status, 200);
  };
  const listFiles = async ({ url, key }: Service): Promise<string[]> => {
    const response = await fetch(`${url}/v1/files`, { headers: { authorization: `Bearer ${key}` } });
    const { data } = (await response.json()) as { data: { filename: string }[] };
    return data.map(({ filename }) => filename).sort();
  };

  it('backs up, restores the last state and an earlier one, and starts on it', async () => {
    const [start = '', passphrase = '', commands = '', restore = ''] = BLOCKS;
    env = { ...(await follow(start)).exported, ...(await follow(passphrase)).exported };
    assert.deepEqual(Object.keys(env).sort(), [
      'QUIRE_BACKUP_PASSPHRASE_FILE',
      'QUIRE_BACKUP_SCHEDULE',
      'QUIRE_BACKUP_URL',
    ]);
    const first = await startService({ env });
    service = first;
    await until(async () => JSON.parse((await first.quire('backup', 'list', '--json')).stdout).length === 1);
    await upload(first, 'early.txt');
    const { output } = await follow(commands, { ...env, QUIRE_DATA_DIR: first.dataDir });
    assert.match(output, /^BACKUP +SIZE/m);
    assert.match(output, /^Backup \S+: \d+/m);
    assert.match(output, /intact\.$/m);
    const atMs = Date.now();
    await until(() => Date.now() > atMs + 20);
    await upload(first, 'late.txt');
    await first.stop();
    rmSync(first.dataDir, { recursive: true });

    // The last line starts the service on the first of the two folders.
    const at = new Date(atMs + 5).toISOString();
    await follow(restore.replace(/--at \S+/, `--at ${at}`), { ...env, QUIRE_DATA_DIR: newDataDir() });
    for (const [name, expected] of [
      ['restored', ['early.txt', 'late.txt']],
      ['restored-at', ['early.txt']],
    ] as const) {
      // The other copy would archive to the target of the first one.
      service = await startService({ dataDir: join(folder, name), ...(name === 'restored' && { env }) });
      assert.deepEqual(await listFiles(service), expected);
      await service.stop();
    }
  });
});
