import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { loadConfig } from './config.ts';
import { OperatorError } from './lib/operator-error.ts';

describe('loadConfig', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quire-config-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const withFile = (text: string, environment: Record<string, string> = {}) => {
    const path = join(folder, 'quire.yaml');
    writeFileSync(path, text);
    return loadConfig({ QUIRE_CONFIG: path, ...environment });
  };
  const assertRejected = (load: () => unknown, pattern: RegExp) =>
    assert.throws(load, (error: unknown) => {
      assert.ok(error instanceof OperatorError);
      assert.match(error.message, pattern);
      assert.doesNotMatch(error.message, /\n/);
      return true;
    });

  it('has a default for every setting', () => {
    const config = loadConfig({});
    assert.deepEqual(
      [config.host, config.port, config.logLevel, config.bodyLimitBytes],
      ['127.0.0.1', 8080, 'info', 67_108_864],
    );
    assert.deepEqual(
      [config.databaseUrl, config.upstreamUrl, config.corsOrigins, config.models],
      [null, null, null, {}],
    );
  });

  it('the environment overrides the file, the file overrides the default, and empty variables are unset', () => {
    const config = withFile('port: 9000\nhost: 0.0.0.0\nlog_level: warn\n', { QUIRE_PORT: '9001', QUIRE_HOST: '' });
    assert.deepEqual([config.port, config.host, config.logLevel], [9001, '0.0.0.0', 'warn']);
  });

  it('knows the source of every setting, with the line of the file', () => {
    const path = join(folder, 'quire.yaml');
    writeFileSync(path, '# comment\nport: 9000\nhost: 0.0.0.0\ncors_origins: https://a.example\n');
    const { sources, file } = loadConfig({ QUIRE_CONFIG: path, QUIRE_HOST: '::' }, { QUIRE_LOG_LEVEL: 'warn' });
    assert.equal(file, path);
    assert.deepEqual(sources['port'], { origin: 'file', line: 2, value: 9000 });
    assert.deepEqual(sources['host'], { origin: 'environment', line: null, value: '::' });
    assert.deepEqual(sources['corsOrigins'], { origin: 'file', line: 4, value: ['https://a.example'] });
    assert.deepEqual(sources['logLevel'], { origin: 'command line', line: null, value: 'warn' });
    assert.deepEqual(sources['bodyLimitBytes'], { origin: 'default', line: null, value: 67_108_864 });
  });

  it('upstream_parameters is a list of fields that Quire does not handle itself', () => {
    const load = (value: string) => loadConfig({ QUIRE_UPSTREAM_PARAMETERS: value }).upstreamParameters;
    assert.deepEqual(load('top_k, min_p'), ['top_k', 'min_p']);
    assert.deepEqual(withFile('upstream_parameters: [top_k]\n').upstreamParameters, ['top_k']);
    for (const own of ['model', 'messages', 'cache_salt', 'priority', 'max_tokens', 'n', 'stream'])
      assertRejected(() => load(`top_k,${own}`), new RegExp(`must not contain '${own}'`));
    for (const odd of ['__proto__', 'Top', 'a b', 'a-b']) assertRejected(() => load(odd), /QUIRE_UPSTREAM_PARAMETERS/);
  });

  it('bounds request bodies by the memory limit', () => {
    const environment = { QUIRE_MEMORY_LIMIT_MB: '1024', QUIRE_BODY_LIMIT: '67108864' };
    assert.equal(loadConfig(environment).bodyLimitBytes, 24 * 2 ** 20);
    assert.equal(loadConfig({ ...environment, QUIRE_BODY_LIMIT: '2048' }).bodyLimitBytes, 2_048);
    assert.equal(loadConfig({ ...environment, QUIRE_MEMORY_LIMIT_MB: '8192' }).bodyLimitBytes, 67_108_864);
  });

  it('reads lists with commas or as sequences', () => {
    assert.deepEqual(loadConfig({ QUIRE_UPSTREAM_URL: 'http://a:1/v1, http://b:2' }).upstreamUrl, [
      'http://a:1/v1',
      'http://b:2',
    ]);
    assert.deepEqual(withFile('cors_origins: [https://a.example]').corsOrigins, ['https://a.example']);
    assert.deepEqual(withFile('cors_origins: https://a.example,https://b.example').corsOrigins?.length, 2);
  });

  it('expands ${NAME} in the file, and names unset variables', () => {
    const file = 'models:\n  my-model:\n    base_urls: ["http://x:1"]\n    api_key: ${MY_KEY}\n';
    assert.equal(withFile(file, { MY_KEY: 's3cret' }).models['my-model']?.api_key, 's3cret');
    assertRejected(() => withFile(file), /\$\{MY_KEY\}.*not set/);
  });

  it('names an invalid value and its source', () => {
    assertRejected(
      () => loadConfig({ QUIRE_PORT: 'eighty' }),
      /^QUIRE_PORT has a wrong value.*a whole number.*"eighty"/,
    );
    assertRejected(() => loadConfig({ QUIRE_PORT: '70000' }), /^QUIRE_PORT.*<= 65535/);
    assertRejected(() => loadConfig({ QUIRE_LOG_LEVEL: 'loud' }), /^QUIRE_LOG_LEVEL.*one of trace, debug/);
    assertRejected(() => loadConfig({ QUIRE_UPSTREAM_URL: 'localhost:8000' }), /^QUIRE_UPSTREAM_URL/);
    assertRejected(() => withFile('port: no\n'), /'port' has a wrong value/);
  });

  it('accepts one base URL of a model as text, and names other types in words', () => {
    const model = (baseUrls: string) => withFile(`models:\n  m:\n    base_urls: ${baseUrls}\n`).models['m']?.base_urls;
    assert.deepEqual(model('http://a:1/v1'), ['http://a:1/v1']);
    assert.deepEqual(model('http://a:1, http://b:1'), ['http://a:1', 'http://b:1']);
    assertRejected(() => model('7'), /'models.m.base_urls' must be a list\.$/);
    assertRejected(() => withFile('models: [a]\n'), /'models' must be a block of 'name: value' lines\.$/);
  });

  it('names an unknown key, at the root and within a model', () => {
    assertRejected(() => withFile('prot: 8080\n'), /'prot' is not a setting/);
    assertRejected(() => withFile('models:\n  m:\n    fiel: x.gguf\n'), /'models.m.fiel' is not a setting/);
    assertRejected(
      () => withFile('models:\n  m:\n    engine: magic\n'),
      /'models.m.engine' must be one of bundled, local, upstream/,
    );
    assertRejected(() => withFile('models: [a]\n'), /'models'/);
  });

  it('never prints an invalid secret', () => {
    assert.throws(
      () => loadConfig({ QUIRE_DATABASE_URL: 'mysql://u:hunter2@h/d' }),
      (error: Error) => !error.message.includes('hunter2') && /^QUIRE_DATABASE_URL/.test(error.message),
    );
    assert.throws(
      () => loadConfig({ QUIRE_BOOTSTRAP_API_KEY: 'sk-hunter2' }),
      (error: Error) => !error.message.includes('hunter2'),
    );
  });

  it('names a file that is missing or not YAML', () => {
    assertRejected(() => loadConfig({ QUIRE_CONFIG: join(folder, 'nothing.yaml') }), /does not exist/);
    assertRejected(() => withFile('a: [1\n'), /not valid YAML/);
    assertRejected(() => withFile('- a\n- b\n'), /must contain 'name: value' lines/);
  });

  it('reports unknown QUIRE_ variables', () => {
    assert.deepEqual(loadConfig({ QUIRE_PROT: '1', QUIRE_URL: 'x', OTHER: 'y' }).unknownVariables, ['QUIRE_PROT']);
  });
});
