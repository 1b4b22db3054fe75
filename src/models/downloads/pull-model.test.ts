import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { dropAfter, redirectHeaders, sendFile, sha256Hex, toEtag, useHub } from '../../../test/fixtures/hub-server.ts';
import { writeTinyGguf } from '../../../test/fixtures/tiny-gguf.ts';
import { OperatorError } from '../../lib/operator-error.ts';
import { modelPath, partialPath } from './model-files.ts';
import { parseModelSource } from './model-source.ts';
import { type PulledModel, type PullOptions, pullModel } from './pull-model.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'quire-hub-'));
const TINY = readFileSync(writeTinyGguf(join(FOLDER, 'tiny.gguf')));
const OTHER = readFileSync(writeTinyGguf(join(FOLDER, 'other.gguf'), { seed: 2 }));
const NAME = 'tiny';
const WORD = 'hf:someone/models/tiny.gguf';
const PATH = '/someone/models/resolve/main/tiny.gguf';
const NO_BACKOFF = [0, 0, 0];

const hub = useHub();
let dataDir = '';

beforeEach(() => {
  dataDir = mkdtempSync(join(FOLDER, 'data-'));
  hub.files.clear();
  hub.files.set(PATH, TINY);
  hub.seen.length = 0;
  hub.acts.length = 0;
});
afterEach(() => rmSync(dataDir, { recursive: true }));
process.once('exit', () => rmSync(FOLDER, { recursive: true, force: true }));

function pull(options: Partial<PullOptions> = {}, word = WORD, signal = new AbortController().signal, token?: string) {
  const config = { dataDir, hubUrl: hub.url, hubToken: token ?? null, proxy: null };
  const whole = { sha256: null, onProgress: () => {}, backoffMs: NO_BACKOFF, freeBytes: async () => 1e12, ...options };
  return pullModel({ config }, parseModelSource(word, hub.url), whole, signal);
}

function assertPulled(pulled: PulledModel, bytes = TINY): void {
  assert.deepEqual(readFileSync(modelPath(dataDir, NAME)), bytes);
  assert.equal(pulled.card?.sha256, sha256Hex(bytes));
  assert.deepEqual(readdirSync(join(dataDir, 'models')).toSorted(), ['tiny.gguf', 'tiny.json']);
}

async function assertRefused(pulling: Promise<unknown>, message: RegExp): Promise<void> {
  await assert.rejects(pulling, (error) => {
    assert.ok(error instanceof OperatorError, String((error as Error).stack));
    assert.match(error.message, message);
    return true;
  });
  assert.ok(!existsSync(modelPath(dataDir, NAME)));
}

describe('a pull', () => {
  it('brings a model into the store, with its hash, its size and what it is', async () => {
    const seen: number[] = [];
    const pulled = await pull({ onProgress: ({ receivedBytes }) => seen.push(receivedBytes) });
    assertPulled(pulled);
    const { pulled_at, ...card } = pulled.card as NonNullable<PulledModel['card']>;
    assert.ok(pulled_at > 1.7e9);
    assert.ok(card.parameters > 100_000);
    assert.deepEqual(
      { ...card, parameters: 1 },
      {
        from: WORD,
        bytes: TINY.length,
        sha256: sha256Hex(TINY),
        sha256_from: 'hub',
        architecture: 'llama',
        use: 'generation',
        parameters: 1,
        context_tokens: 512,
      },
    );
    assert.equal(seen.at(-1), TINY.length);
    assert.ok(seen.length > 1 && seen.every((bytes, at) => bytes > (seen[at - 1] ?? 0)));
  });

  it('asks for nothing that is there already', async () => {
    await pull();
    assert.equal((await pull()).isNew, false);
    assert.equal(hub.seen.length, 1);
  });

  it('leaves a model of the same name from elsewhere as it is', async () => {
    await pull();
    hub.files.set('/someone/else/resolve/main/tiny.gguf', OTHER);
    await assert.rejects(
      pull({}, 'hf:someone/else/tiny.gguf'),
      /another model 'tiny' already, from hf:someone\/models/,
    );
    assert.deepEqual(readFileSync(modelPath(dataDir, NAME)), TINY);
  });

  it('goes on where connections break', async () => {
    hub.acts.push(dropAfter(400_000, 3));
    const retries: string[] = [];
    assertPulled(await pull({ onRetry: (why) => retries.push(why) }));
    assert.equal(retries.length, 3);
    assert.ok(
      retries.every((why) => why.startsWith('the transfer failed: ')),
      retries.join(),
    );
    const froms = hub.seen.map(({ range }) => Number(range?.slice('bytes='.length, -1) ?? 0));
    assert.equal(froms.length, 4);
    assert.ok(
      froms.every((from, at) => at === 0 || from > (froms[at - 1] as number)),
      froms.join(),
    );
  });

  it('does not count failures of attempts that brought a mebibyte', async () => {
    const large = Buffer.concat([TINY, Buffer.alloc(5_000_000)]);
    hub.files.set(PATH, large);
    hub.acts.push(dropAfter(1_400_000, 3));
    assertPulled(await pull({ backoffMs: [0] }), large);
    assert.equal(hub.seen.length, 4);
  });

  it('gives up after attempts that bring nothing, keeps what came, and goes on when asked again', async () => {
    hub.acts.push(dropAfter(400_000, 1), (_request, response) => {
      response.destroy();
      return true;
    });
    await assertRefused(pull(), /in 4 attempts .* The received part is kept/);
    const kept = readFileSync(partialPath(dataDir, NAME)).length;
    assert.ok(kept > 0);
    hub.acts.length = 0;
    assertPulled(await pull());
    assert.equal(hub.seen.at(-1)?.range, `bytes=${kept}-`);
  });

  it('can be stopped, and goes on when asked again', async () => {
    const stop = new AbortController();
    const onProgress = () => stop.abort(new Error('told to stop'));
    await assert.rejects(pull({ onProgress }, WORD, stop.signal), /told to stop/);
    assertPulled(await pull());
    assert.match(hub.seen.at(-1)?.range ?? '', /^bytes=[1-9]/);
  });

  it('begins anew when the file has changed since', async () => {
    hub.acts.push(dropAfter(400_000, 1), (_request, response) => {
      response.destroy();
      return true;
    });
    await assertRefused(pull(), /The received part is kept/);
    hub.acts.length = 0;
    hub.files.set(PATH, OTHER);
    assertPulled(await pull(), OTHER);
  });

  it('begins anew when the file at its source is shorter than what came', async () => {
    mkdirSync(join(dataDir, 'models'));
    const longer = Buffer.concat([TINY, OTHER]);
    writeFileSync(partialPath(dataDir, NAME), longer);
    const state = { from: WORD, etag: null, sha256: sha256Hex(longer), bytes: null };
    writeFileSync(`${partialPath(dataDir, NAME)}.json`, JSON.stringify(state));
    const retries: string[] = [];
    assertPulled(await pull({ onRetry: (why) => retries.push(why) }));
    assert.deepEqual(retries, ['the file at its source is shorter than the received part']);
  });

  it('begins anew when what an earlier process left is damaged', async () => {
    const stop = new AbortController();
    await assert.rejects(pull({ onProgress: () => stop.abort() }, WORD, stop.signal));
    const partial = readFileSync(partialPath(dataDir, NAME));
    writeFileSync(partialPath(dataDir, NAME), partial.fill(7, 50));
    assertPulled(await pull());
  });

  it('takes the whole file from a server that knows no ranges', async () => {
    hub.acts.push(dropAfter(400_000, 1), (request, response) => {
      delete request.headers.range;
      sendFile(request, response, TINY);
      return true;
    });
    assertPulled(await pull());
    assert.equal(hub.seen.length, 2);
  });

  it('is done when the server says that there is nothing beyond what came', async () => {
    mkdirSync(join(dataDir, 'models'));
    writeFileSync(partialPath(dataDir, NAME), TINY);
    // Nobody said how long it is or what its hash is, so only the server knows that it is whole.
    const state = { from: WORD, etag: toEtag(TINY), sha256: null, bytes: null };
    writeFileSync(`${partialPath(dataDir, NAME)}.json`, JSON.stringify(state));
    assertPulled(await pull());
    assert.equal(hub.seen.at(-1)?.range, `bytes=${TINY.length}-`);
  });

  it('shows and keeps the hash of what came where nobody names one', async () => {
    hub.acts.push((request, response) => {
      sendFile(request, response, TINY, {});
      return true;
    });
    const pulled = await pull();
    assertPulled(pulled);
    assert.equal(pulled.card?.sha256_from, 'nobody');
  });
});

describe('a pull from a server that is not as it should be', () => {
  it('keeps nothing of a file with another hash than the hub says', async () => {
    hub.acts.push((request, response) => {
      sendFile(request, response, OTHER, redirectHeaders(TINY));
      return true;
    });
    await assertRefused(pull(), /does not have the expected SHA-256/);
    assert.ok(!existsSync(partialPath(dataDir, NAME)));
  });

  it('keeps nothing of a file with another hash than the operator says', async () => {
    await assertRefused(pull({ sha256: sha256Hex(OTHER) }), /does not have the expected SHA-256/);
  });

  it('refuses lengths that contradict each other', async () => {
    hub.acts.push((request, response) => {
      sendFile(request, response, TINY, { 'x-linked-size': String(TINY.length + 1) });
      return true;
    });
    await assertRefused(pull(), /bytes, and its storage says/);
  });

  it('refuses more bytes than were announced', async () => {
    hub.acts.push((_request, response) => {
      response.writeHead(200, { 'x-linked-size': String(TINY.length) });
      response.end(Buffer.concat([TINY, Buffer.alloc(1000)]));
      return true;
    });
    await assertRefused(pull(), /more than the \d+ bytes/);
  });

  it('takes fewer bytes than were announced for a broken transfer', async () => {
    hub.acts.push((_request, response) => {
      response.writeHead(200, { 'x-linked-size': String(TINY.length) }).end(TINY.subarray(0, 1000));
      return true;
    });
    await assertRefused(pull(), /the server closed the connection after 1000 of \d+ bytes/);
  });

  it('breaks off a transfer that stalls, and tries again', async () => {
    let isFirst = true;
    hub.acts.push((_request, response) => {
      if (!isFirst) return false;
      isFirst = false;
      response.writeHead(200, { ...redirectHeaders(TINY), etag: '"slow"' }).write(TINY.subarray(0, 1000));
      return true;
    });
    assertPulled(await pull({ stall: { windowMs: 500, minBytes: 1 } }));
    assert.ok(hub.seen.length >= 2);
  });

  it('waits for a server that is slow but goes on', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    hub.acts.push((_request, response) => {
      response.writeHead(200, redirectHeaders(TINY));
      const pieces = Array.from({ length: 20 }, (_, at) =>
        TINY.subarray((at * TINY.length) / 20, ((at + 1) * TINY.length) / 20),
      );
      const next = () => {
        const piece = pieces.shift();
        if (piece === undefined) response.end();
        else response.write(piece, () => setTimeout(next, 5));
      };
      next();
      return true;
    });
    // With each piece the time is over in which one must come.
    const onProgress = () => t.mock.timers.tick(2_000);
    assertPulled(await pull({ stall: { windowMs: 2_000, minBytes: 1 }, onProgress }));
    assert.equal(hub.seen.length, 1);
  });

  it('tries again after 503 and 429, and says what was answered in the end', async () => {
    let answers = 0;
    hub.acts.push((_request, response) => {
      answers += 1;
      if (answers > 2) return false;
      response.writeHead(answers === 1 ? 503 : 429, { 'retry-after': '0' }).end();
      return true;
    });
    assertPulled(await pull());
    rmSync(modelPath(dataDir, NAME));
    hub.acts.unshift((_request, response) => {
      response.writeHead(503).end();
      return true;
    });
    await assertRefused(pull(), /answers 503/);
  });

  it('says what to do about gated, private, missing and forbidden files', async () => {
    const answers: [number, Record<string, string>, RegExp][] = [
      [
        401,
        { 'x-error-code': 'GatedRepo' },
        /is gated: accept its licence at \S+\/someone\/models, and set QUIRE_HUB_TOKEN/,
      ],
      [403, { 'x-error-code': 'GatedRepo' }, /is gated/],
      [401, { 'x-error-code': 'RepoNotFound' }, /no such repository, or it is private.*spelling/],
      [404, { 'x-error-code': 'EntryNotFound' }, /no such file.*spelling/],
      [404, { 'x-error-code': 'RevisionNotFound' }, /no such revision/],
      [404, {}, /nothing there/],
      [418, {}, /answers 418/],
    ];
    for (const [status, headers, message] of answers) {
      hub.acts[0] = (_request, response) => {
        response.writeHead(status, headers).end();
        return true;
      };
      await assertRefused(pull(), message);
    }
    assert.equal(hub.seen.length, answers.length);
  });

  it('keeps no page that is sent in the place of a file', async () => {
    hub.acts.push((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Log in</title>');
      return true;
    });
    await assertRefused(pull(), /not a GGUF \(it begins with "<!doctype/);
  });

  it('keeps no GGUF that cannot be used', async () => {
    const foreign = Buffer.from(TINY);
    // The architecture's name is a text of five letters.
    foreign.write('lmama', foreign.indexOf('general.architecture') + 'general.architecture'.length + 12);
    hub.files.set(PATH, foreign);
    await assertRefused(pull(), /architecture 'lmama' is not supported/);
    hub.files.set(PATH, TINY.subarray(0, 3000));
    await assertRefused(pull(), /cannot be used: it .*It was deleted/);
  });

  it('asks for room first, and says how many bytes are lacking', async () => {
    let answered = 0;
    const freeBytes = async () => TINY.length;
    hub.acts.push((_request, response) => {
      response.on('finish', () => {
        answered += 1;
      });
      return false;
    });
    await assertRefused(pull({ freeBytes }), /The disk lacks 268435456 bytes/);
    assert.ok(!existsSync(partialPath(dataDir, NAME)));
    assert.ok(answered <= 1);
  });
});
