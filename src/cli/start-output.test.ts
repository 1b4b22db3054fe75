import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { describe, it } from 'node:test';
import { OperatorError } from '../lib/operator-error.ts';
import { requireFreeAddress } from './serve-api.ts';
import { StartOutput } from './start-output.ts';

const URL = 'http://127.0.0.1:8080';
const PULL = { model: 'qwen2.5-1.5b', received_bytes: 1, total_bytes: 1_117_320_736, detail: null };

/** The lines that a start prints on a terminal or elsewhere. */
function record({ isTTY }: { isTTY: boolean }) {
  let text = '';
  const output = new StartOutput({ isTTY, write: (part) => (text += part) });
  return { output, lines: () => text.split('\n').filter((line) => line.trim() !== '') };
}

describe('the output of a start', () => {
  it('ends with the base URL, after the key of a first start', () => {
    const { output, lines } = record({ isTTY: false });
    output.showReady(URL, { id: 'key_1', secret: 'quire-sk-secret' });
    assert.ok(lines().includes('  quire-sk-secret'));
    assert.equal(lines().at(-1), `Quire is ready at ${URL} (API documentation: ${URL}/docs)`);
  });

  it('names the command that replaces a key that nobody has used, without its secret', () => {
    const { output, lines } = record({ isTTY: false });
    output.showReady(URL, { id: 'key_1', secret: null });
    assert.ok(lines().includes('  npx quire keys rotate key_1'));
  });

  it('shows on a terminal, and only there, what it is doing, each step once', () => {
    const [terminal, file] = [record({ isTTY: true }), record({ isTTY: false })];
    for (const { output } of [terminal, file]) {
      for (const part of ['data folder', 'database', 'engine', 'engine', 'api'] as const) output.showStage(part);
    }
    assert.equal(terminal.lines().length, 4);
    assert.deepEqual(file.lines(), []);
  });

  it('promises no download when the hub cannot be reached', () => {
    const { output, lines } = record({ isTTY: true });
    output.showPull({ ...PULL, state: 'failed' });
    assert.equal(lines().length, 1);
    assert.doesNotMatch(lines().join(), /Downloading/);
    output.showPull({ ...PULL, state: 'pulling' });
    assert.match(lines()[1] ?? '', /^Downloading a larger model, qwen2.5-1.5b \(1.1 GB\)/);
  });
});

describe('the address of the service', () => {
  it('is checked with a sentence for the operator, and left free', async () => {
    const server = createServer();
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const { port } = server.address() as { port: number };
    const address = { host: '127.0.0.1', port };
    const isInUse = (error: unknown) => error instanceof OperatorError && error.message.includes(`:${port} is in use`);
    await assert.rejects(requireFreeAddress(address), isInUse);
    await new Promise((closed) => server.close(closed));
    await requireFreeAddress(address);
    await requireFreeAddress(address);
  });
});
