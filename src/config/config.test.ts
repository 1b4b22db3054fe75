import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { OperatorError } from '../lib/operator-error.ts';
import { loadClientConfig } from './client-config.ts';
import { loadConfig } from './config.ts';
import { SETTINGS, type Setting } from './settings.ts';

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

  describe('secrets in files', () => {
    const secrets = Object.entries<Setting>(SETTINGS).filter(([, { secret }]) => secret === true);
    const inFile = (content: string) => {
      const path = join(folder, 'a "secret" file');
      writeFileSync(path, content);
      return path;
    };
    const SECRET = 'quire-sk-a secret of 32 characters: "=#$';

    it('every secret setting can be in a file, without the line breaks at its end', () => {
      assert.ok(secrets.length >= 6);
      for (const [name, { env }] of secrets) {
        const forms: Record<string, string> = {
          databaseUrl: `postgres://a:${SECRET}@b/c`,
          bootstrapApiKey: 'quire-sk-0123456789abcdef',
          smtpUrl: `smtp://a:${SECRET}@mail.example`,
        };
        const secret = forms[name] ?? SECRET;
        for (const end of ['', '\n', '\r\n', '\n\n']) {
          const config = loadConfig({ [`${env}_FILE`]: inFile(secret + end), [env]: '' });
          const value = (config as unknown as Record<string, unknown>)[name];
          assert.equal(value, secret, env);
          assert.deepEqual(config.sources[name], { origin: 'environment', line: null, value: secret });
          assert.deepEqual(config.unknownVariables, []);
        }
      }
    });

    it('reject two values, and files that are empty or cannot be read, without showing a secret', () => {
      for (const [, { env }] of secrets) {
        const from = `${env}_FILE`;
        const both = { [from]: inFile(SECRET), [env]: SECRET };
        assertRejected(() => loadConfig(both), new RegExp(`^${env} and ${from} are both set`));
        for (const content of ['', '\n\r\n'])
          assertRejected(() => loadConfig({ [from]: inFile(content) }), new RegExp(`^${from}: the file .* is empty`));
        for (const path of [join(folder, 'absent'), folder])
          assertRejected(() => loadConfig({ [from]: path }), new RegExp(`^${from}: the file .* cannot be read: `));
      }
      const short = { QUIRE_SECRETS_KEY_FILE: inFile('tooshort') };
      assert.throws(
        () => loadConfig(short),
        (error) => error instanceof OperatorError && !/tooshort/.test(error.message),
      );
    });

    it('an empty variable of a file is unset, and one of another setting is unknown', () => {
      assert.equal(loadConfig({ QUIRE_HUB_TOKEN_FILE: '', QUIRE_HUB_TOKEN: 'a' }).hubToken, 'a');
      assert.deepEqual(loadConfig({ QUIRE_PORT_FILE: inFile('1') }).unknownVariables, ['QUIRE_PORT_FILE']);
      assert.equal(loadConfig({ QUIRE_PORT_FILE: inFile('1') }).port, 8080);
    });

    it('references of the configuration file are read from files too', () => {
      const text = 'models:\n  general-8b: {base_urls: http://a/v1, api_key: "${VLLM_KEY}"}\n';
      const read = (environment: Record<string, string>) => withFile(text, environment).models['general-8b']?.api_key;
      assert.equal(read({ VLLM_KEY_FILE: inFile(`${SECRET}\n`) }), SECRET);
      assert.equal(read({ VLLM_KEY: 'a' }), 'a');
      assertRejected(
        () => read({ VLLM_KEY: 'a', VLLM_KEY_FILE: inFile('b') }),
        /^VLLM_KEY and VLLM_KEY_FILE are both set/,
      );
      assertRejected(() => read({}), /refers to \$\{VLLM_KEY\}, which is not set/);
    });

    it('the key of client commands too', async () => {
      const read = async (environment: Record<string, string>) => (await loadClientConfig(environment)).apiKey;
      assert.equal(await read({ QUIRE_API_KEY_FILE: inFile(`${SECRET}\n`) }), SECRET);
      assert.equal(await read({ QUIRE_API_KEY: 'a', QUIRE_API_KEY_FILE: '' }), 'a');
      assert.equal(await read({}), null);
      await assert.rejects(read({ QUIRE_API_KEY: 'a', QUIRE_API_KEY_FILE: inFile('b') }), /are both set/);
      assert.deepEqual(loadConfig({ QUIRE_API_KEY_FILE: 'x' }).unknownVariables, []);
    });
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
