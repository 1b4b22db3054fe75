import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CATALOGUE } from '../catalogue.ts';
import { DOWNLOADABLE_MODELS } from './downloadable-models.ts';
import { isModelName, isSourceForm, parseModelSource } from './model-source.ts';
import { TransferRate } from './transfer-rate.ts';

const HUB = 'https://hub.example/mirror/';

describe('the source of a model', () => {
  it('is a name of the catalogue, whatever its case', () => {
    const { name, url, from } = parseModelSource('Llama-3.1-8B', HUB);
    assert.equal(name, 'llama-3.1-8b');
    assert.equal(
      url.href,
      'https://hub.example/mirror/bartowski/Meta-Llama-3.1-8B-Instruct-GGUF/resolve/main/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf',
    );
    assert.equal(from, 'hf:bartowski/Meta-Llama-3.1-8B-Instruct-GGUF/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf');
  });

  it('is a tag of Ollama, with a size, a quantization or neither', () => {
    const from = (word: string) => parseModelSource(word, HUB).from;
    const llama = 'hf:bartowski/Meta-Llama-3.1-8B-Instruct-GGUF/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf';
    for (const tag of ['llama3.1:8b', 'llama3.1', 'LLAMA3.1:latest', 'llama3.1:8b-instruct-q4_K_M'])
      assert.equal(from(tag), llama, tag);
    const tags = ['qwen2.5:1.5b', 'qwen2.5-coder', 'gemma3:1b', 'mistral:7b-instruct', 'deepseek-r1:70b', 'bge-large'];
    for (const tag of tags) assert.match(from(tag), /^hf:.*\.gguf$/, tag);
    assert.equal(parseModelSource('llama3.1:8b', HUB).name, 'llama-3.1-8b');
  });

  it('that is a tag without a known source is refused with the known tags', () => {
    const message = (word: string) => {
      try {
        parseModelSource(word, HUB);
        return 'accepted';
      } catch (error) {
        return (error as Error).message;
      }
    };
    assert.match(
      message('llama3.1:405b'),
      /^There is no known source of 'llama3\.1:405b'\. Known: llama3\.1:8b\. Pull other/,
    );
    assert.match(message('gemma3'), /Known: gemma3:1b\./);
    assert.match(message('lama3.1:8b'), /Did you mean 'llama3\.1:8b'\?/);
    assert.match(message('llama3.1:8b-q8_0'), /is pulled as Meta-Llama.*Q4_K_M\.gguf, not as q8_0/);
    assert.match(message('qwen3-8'), /^Unknown model 'qwen3-8'\. Did you mean 'qwen3-8b'\?/);
  });

  it('is a file of a repository, in a folder and of a revision too', () => {
    const { name, url } = parseModelSource('hf:me/my.models@v1.2/some folder/x-Q8_0.gguf', 'https://hub.example');
    assert.equal(name, 'x-Q8_0');
    assert.equal(url.href, 'https://hub.example/me/my.models/resolve/v1.2/some%20folder/x-Q8_0.gguf');
  });

  it('is a URL, whose secrets are not kept', () => {
    const { name, url, from } = parseModelSource('https://me:secret@files.example/a/b.gguf?signature=abc#x', HUB);
    assert.equal(name, 'b');
    assert.match(url.href, /secret.*signature/);
    assert.equal(from, 'https://files.example/a/b.gguf');
  });

  it('may get another name', () => {
    assert.equal(parseModelSource('https://files.example/a.gguf', HUB, 'mine').name, 'mine');
    assert.throws(() => parseModelSource('https://files.example/a.gguf', HUB, '../mine'), /cannot have the name/);
    assert.throws(
      () => parseModelSource('https://files.example/', HUB),
      /cannot have the name ''; choose one with --name/,
    );
  });

  it('that is not known, or no GGUF, is refused with what to do', () => {
    assert.throws(() => parseModelSource('llama-9', HUB), /'quire models list' shows/);
    assert.throws(() => parseModelSource('hf:me/models/readme.md', HUB), /names no GGUF file/);
  });

  it('has one of four forms', () => {
    for (const word of ['qwen3-8b', 'qwen3:8b', 'hf:a/b/c.gguf', 'http://a/b.gguf'])
      assert.ok(isSourceForm(word), word);
    for (const word of ['', 'hf:a/b', 'hf:', 'hf:a', 'http:', 'http://', '../a', 'a b', 'ftp://a/b'])
      assert.ok(!isSourceForm(word), word);
  });
});

describe('the open models', () => {
  it('have names of their own that the store accepts, and are GGUFs', () => {
    assert.equal(new Set(DOWNLOADABLE_MODELS.map(({ name }) => name)).size, DOWNLOADABLE_MODELS.length);
    for (const { name, file, repo, approximateBytes } of DOWNLOADABLE_MODELS) {
      assert.ok(isModelName(name), name);
      assert.match(file, /^[^/]+\.gguf$/);
      assert.match(repo, /^[^/]+\/[^/]+$/);
      assert.ok(approximateBytes > 1e8);
    }
  });

  it('suit ids that there are, and each id but moderation has one', () => {
    const suited = new Set(DOWNLOADABLE_MODELS.flatMap(({ suits }) => suits));
    const ids = CATALOGUE.filter(({ kind }) => kind !== 'moderation').map(({ id }) => id);
    assert.deepEqual([...suited].toSorted(), ids.toSorted());
  });
});

describe('the rate of a transfer', () => {
  it('is that of the last seconds, and says how long the rest takes', () => {
    const rate = new TransferRate();
    assert.equal(rate.bytesPerSecond(), null);
    for (let second = 0; second <= 20; second += 1) rate.addSample(second * 100, second * 1000);
    for (let second = 21; second <= 40; second += 1) rate.addSample(2000 + (second - 20) * 1000, second * 1000);
    assert.equal(rate.bytesPerSecond(), 1000);
    assert.equal(rate.remainingSeconds({ receivedBytes: 22_000, totalBytes: 32_000 }), 10);
    assert.equal(rate.remainingSeconds({ receivedBytes: 22_000, totalBytes: null }), null);
  });
});
