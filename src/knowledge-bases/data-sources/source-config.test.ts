import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { DATA_SOURCE_TYPES, type DataSourceType } from '../../connectors/source-types.ts';
import { ApiError } from '../../errors.ts';
import { parseConfig } from './source-config.ts';

const PEM = '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n';
const ACCOUNT = { type: 'service_account', client_email: 'quire@acme.iam.example', private_key: PEM };
const KEYS = { access_key_id: 'AKIA1', secret_access_key: 'x/y+z' };
const UUID = '0123456789abcdef0123456789abcdef';

/** The minimal config of each type. */
const LEAST: Record<DataSourceType, Record<string, unknown>> = {
  file_upload: { file_ids: ['file-1'] },
  web_crawl: { urls: ['https://example.com'] },
  s3: { bucket: 'acme', credentials: KEYS },
  gcs: { bucket: 'acme', credentials: { service_account_json: ACCOUNT } },
  confluence: { url: 'https://acme.example', credentials: { email: 'a@b.example', api_token: 't' } },
  notion: { credentials: { integration_token: 'ntn_1' } },
  google_drive: { credentials: { service_account_json: ACCOUNT } },
};

const DEFAULTS: Partial<Record<DataSourceType, object>> = {
  web_crawl: { max_depth: 3, max_pages: 100 },
  s3: { region: 'us-east-1' },
  google_drive: { include_shared_drives: false },
};

const list = <T>(length: number, item: (i: number) => T): T[] => Array.from({ length }, (_, i) => item(i));

const MANUAL = readFileSync(new URL('../../../docs/use/connectors.md', import.meta.url), 'utf8');

describe('parseConfig', () => {
  for (const type of DATA_SOURCE_TYPES) {
    it(`${type}: is described in docs/use/connectors.md`, () => {
      assert.ok(MANUAL.includes(`\`${type}\``));
    });

    it(`${type}: 400 that names an unknown field`, () => {
      refused(type, { passwort: 'not in the message' }, 'config.passwort');
      assert.doesNotMatch(errorOf(type, { passwort: 'hunter2' }).message, /hunter2/);
    });

    it(`${type}: fills in defaults`, () => {
      const given = structuredClone(LEAST[type]);
      const config = parseConfig(type, given);
      assert.deepEqual(config, { ...LEAST[type], ...DEFAULTS[type] });
      assert.deepEqual(given, LEAST[type], 'what was given is not changed');
    });

    it(`${type}: accepts metadata up to 64 KiB, and no NUL`, () => {
      const metadata = { a: 'x'.repeat(65_536 - 8), nested: undefined };
      assert.deepEqual(parseConfig(type, { ...LEAST[type], metadata: { a: metadata.a } })['metadata'], {
        a: metadata.a,
      });
      refused(type, { metadata: { a: `${metadata.a}x` } }, 'config.metadata');
      refused(type, { metadata: [] }, 'config.metadata');
      refused(type, { metadata: { a: ['\u0000'] } }, 'config.metadata.a.0');
      refused(type, { metadata: { '\u0000': 1 } }, 'config.metadata');
    });

    it(`${type}: 400 for each missing required field`, () => {
      for (const field of Object.keys(LEAST[type]))
        refused(type, { [field]: undefined }, `config.${field}`, 'missing_required_field');
    });
  }

  const taken: [DataSourceType, Record<string, unknown>][] = [
    ['file_upload', { file_ids: list(10_000, (i) => `file-${i}`) }],
    ['web_crawl', { urls: list(1000, (i) => `http://a.example:8080/${i}?q=ü#x`) }],
    ['web_crawl', { urls: ['HTTPS://A.EXAMPLE/'] }],
    ['web_crawl', { max_depth: 0, max_pages: 1 }],
    ['web_crawl', { max_depth: 20, max_pages: 100_000 }],
    ['web_crawl', { include_patterns: ['https://a.example/**', '*/[a-z]?/{a,b}', '\\{', '[]]', '[!x]'] }],
    ['web_crawl', { exclude_patterns: list(100, () => '**') }],
    ['s3', { bucket: 'a.b-c', prefix: '', region: 'eu-central-1' }],
    ['s3', { bucket: 'x'.repeat(63), prefix: 'p'.repeat(1024) }],
    ['gcs', { bucket: `${'x'.repeat(63)}.${'y'.repeat(63)}`, prefix: 'docs/' }],
    ['gcs', { bucket: 'with_underscore' }],
    ['confluence', { space_keys: ['ENG', '~712020abc'] }],
    ['notion', { page_ids: [UUID], database_ids: ['01234567-89ab-cdef-0123-456789abcdef'] }],
    ['google_drive', { folder_ids: ['1a-B_c'], include_shared_drives: true }],
  ];
  for (const [type, more] of taken) {
    it(`${type}: accepts ${JSON.stringify(more).slice(0, 80)}`, () => {
      const config = parseConfig(type, { ...LEAST[type], ...more });
      for (const [name, value] of Object.entries(more)) assert.deepEqual(config[name], value);
    });
  }

  it('accepts intervals and cron expressions at least five minutes apart as a schedule', () => {
    const accepted = ['5m', '6h', '1d', '0 3 * * *', '*/5 * * * *', '30 2 * * 1-5', '0 0 1 1 *'];
    for (const schedule of accepted) assert.equal(parseConfig('s3', { ...LEAST.s3, schedule })['schedule'], schedule);
    const rejected = [
      '',
      '4m',
      '0h',
      'daily',
      '* * * * *',
      '*/4 * * * *',
      '0 25 * * *',
      '0 0 3 * * *',
      '0 0 31 2 *',
      6,
    ];
    for (const schedule of rejected) refused('s3', { schedule }, 'config.schedule');
    refused('file_upload', { schedule: '6h' }, 'config.schedule');
  });

  const bad: [DataSourceType, string, readonly (readonly [value: unknown, param?: string, code?: string])[]][] = [
    ['file_upload', 'file_ids', [['file-1'], [[]], [[1], '.0'], [list(10_001, (i) => `file-${i}`)], [[null], '.0']]],
    [
      'web_crawl',
      'urls',
      [
        ['https://a.example'],
        [[]],
        [list(1001, () => 'https://a.example')],
        [['ftp://a.example'], '.0'],
        [['gopher://a.example'], '.0'],
        [['file:///etc/passwd'], '.0'],
        [['https://a.example', 'a.example'], '.1'],
        [['https://'], '.0'],
        [['https://a.example/ b'], '.0'],
        [['https://a.ex\nample'], '.0'],
        [['https://user:pass@a.example'], '.0'],
        [['https://token@a.example'], '.0'],
        [['https://a.example:99999'], '.0'],
        [[`https://a.example/${'x'.repeat(2048)}`], '.0'],
        [[1], '.0'],
      ],
    ],
    ['web_crawl', 'max_depth', [[-1], [21], [1.5], ['3'], [true]]],
    ['web_crawl', 'max_pages', [[0], [100_001], [1.5], ['100']]],
    [
      'web_crawl',
      'include_patterns',
      [
        ['**'],
        [[''], '.0'],
        [['a', '[a'], '.1'],
        [['{a'], '.0'],
        [['a}'], '.0'],
        [['{a,{b}}'], '.0'],
        [['{a}{a}{a}{a}{a}'], '.0'],
        [['a\\'], '.0'],
        [['x'.repeat(1025)], '.0'],
        [list(101, () => 'a')],
      ],
    ],
    [
      'web_crawl',
      'exclude_patterns',
      [
        [[1], '.0'],
        [['[a'], '.0'],
      ],
    ],
    [
      's3',
      'bucket',
      [[''], ['ab'], ['Acme'], ['a_b'], ['a..b'], ['10.0.0.1'], ['-ab'], ['ab-'], ['x'.repeat(64)], ['a/b'], [7]],
    ],
    ['s3', 'prefix', [[1], ['p'.repeat(1025)], ['\u0000']]],
    ['s3', 'region', [[''], ['us east'], ['a.example/'], [1]]],
    [
      's3',
      'credentials',
      [
        ['x'],
        [{ secret_access_key: 'a' }, '.access_key_id', 'missing_required_field'],
        [{ access_key_id: 'a' }, '.secret_access_key', 'missing_required_field'],
        [{ ...KEYS, secret_access_key: '' }, '.secret_access_key'],
        [{ ...KEYS, secret_access_key: 'a\nb' }, '.secret_access_key'],
        [{ ...KEYS, secret_access_key: 'x'.repeat(4097) }, '.secret_access_key'],
        [{ ...KEYS, secret_access_key: '***' }, '.secret_access_key'],
        [{ ...KEYS, access_key_id: 1 }, '.access_key_id'],
      ],
    ],
    ['gcs', 'bucket', [['ab'], ['Acme'], ['a..b'], ['10.0.0.1'], ['x'.repeat(64)], ['.ab']]],
    ['confluence', 'url', [['ftp://a.example'], ['https://u:p@a.example'], [''], [1]]],
    ['confluence', 'space_keys', [[[]], [[''], '.0'], [['a b'], '.0'], ['ENG'], [list(1001, () => 'A')]]],
    [
      'confluence',
      'credentials',
      [
        [{ email: 'nobody', api_token: 't' }, '.email'],
        [{ email: 'a@b' }, '.api_token', 'missing_required_field'],
        [{ email: 'a@b', api_token: '***' }, '.api_token'],
      ],
    ],
    ['notion', 'page_ids', [[[]], [['page'], '.0'], [[`${UUID}0`], '.0'], [UUID]]],
    ['notion', 'database_ids', [[['x'], '.0']]],
    [
      'notion',
      'credentials',
      [
        [{}, '.integration_token', 'missing_required_field'],
        [{ integration_token: 'ä' }, '.integration_token'],
      ],
    ],
    ['google_drive', 'folder_ids', [[[]], [["' or 1=1"], '.0'], [['x'.repeat(129)], '.0']]],
    ['google_drive', 'include_shared_drives', [['true'], [1], [null]]],
  ];
  for (const [type, field, values] of bad) {
    for (const [value, rest = '', code] of values) {
      it(`${type}: 400 for ${field}: ${JSON.stringify(value).slice(0, 60)}`, () =>
        refused(type, { [field]: value }, `config.${field}${rest}`, code));
    }
  }
});

describe('a service account', () => {
  const at = 'config.credentials.service_account_json';
  const refuse = (account: unknown, param = at, code?: string) => {
    for (const type of ['gcs', 'google_drive'] as const) {
      refused(type, { credentials: { service_account_json: account } }, param, code);
    }
  };

  it('is accepted as a string or an object and stored as an object', () => {
    for (const type of ['gcs', 'google_drive'] as const) {
      const credentials = { service_account_json: JSON.stringify(ACCOUNT) };
      const config = parseConfig(type, { ...LEAST[type], credentials });
      assert.deepEqual(config['credentials'], { service_account_json: ACCOUNT });
    }
  });

  it('400 for an invalid key file', () => {
    for (const account of [null, 1, '', '[]', 'null', '"x"', '{', '***', 'x'.repeat(16_385)]) refuse(account);
    refuse({ ...ACCOUNT, client_email: undefined }, `${at}.client_email`);
    refuse({ ...ACCOUNT, client_email: 'nobody' }, `${at}.client_email`);
    refuse({ ...ACCOUNT, private_key: 'a key' }, `${at}.private_key`);
    refuse(JSON.stringify({ client_email: 'a@b' }), `${at}.private_key`);
  });

  it('is not quoted in error messages', () => {
    const secret = 'hunter2';
    for (const account of [`{"private_key": ${secret}}`, secret, { ...ACCOUNT, private_key: secret }]) {
      const error = errorOf('gcs', { credentials: { service_account_json: account } });
      assert.ok(!JSON.stringify([error.message, String(error.cause)]).includes(secret), error.message);
    }
  });
});

function refused(type: DataSourceType, more: object, param: string, code = 'invalid_value'): void {
  const error = errorOf(type, more);
  assert.deepEqual([error.status, error.code, error.param], [400, code, param], error.message);
  assert.match(error.message, /^.{3,}\.$/s);
  assert.doesNotMatch(error.message, /pattern "|\^/, 'a sentence, and no regular expression');
}

function errorOf(type: DataSourceType, more: object): ApiError {
  try {
    // Drops undefined fields, as JSON does.
    parseConfig(type, JSON.parse(JSON.stringify({ ...LEAST[type], ...more })));
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error));
    return error;
  }
  assert.fail('it was taken');
}
