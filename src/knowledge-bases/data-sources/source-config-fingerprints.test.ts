import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConnectorDeps, SourceItem } from '../../connectors/connector.ts';
import { CONNECTORS } from '../../connectors/index.ts';
import { createSecrets } from '../../lib/secrets.ts';
import { openSource } from './source-config.ts';

const deps = { secrets: createSecrets('the key that tests seal secrets with') };
const { signal } = new AbortController();
const FILE = 'file-01kaj3v0b8s4x2m6n9p1q5r7t3';

/** A data source with one file, whose fingerprint is `sha256`. */
const listed = async (metadata?: object): Promise<SourceItem> => {
  const config = { file_ids: [FILE], ...(metadata && { metadata }) };
  const opened = openSource(deps, { id: 'ds_1', type: 'file_upload', config, sealedSecrets: null });
  assert.deepEqual(opened.config, config);
  const rows = [{ id: FILE, sha256: 'abc', filename: 'a.txt' }];
  const db = { sql: { select: () => ({ from: () => ({ where: async () => rows }) }) } };
  const [item] = await Array.fromAsync(opened.connector.list({ db } as unknown as ConnectorDeps, config, signal));
  return item ?? assert.fail();
};

describe('openSource', () => {
  it('changes the fingerprints of items with the metadata of the config', async () => {
    const [bare, one, same, two] = [
      await listed(),
      await listed({ a: 1 }),
      await listed({ a: 1 }),
      await listed({ a: 2 }),
    ];
    assert.equal(bare.fingerprint, 'abc');
    assert.equal(one.fingerprint, same.fingerprint);
    assert.equal(new Set([bare, one, two].map(({ fingerprint }) => fingerprint)).size, 3);
    assert.deepEqual({ ...one, fingerprint: 'abc' }, bare);
  });

  it('passes the original fingerprint to the connector', async (test) => {
    const seen: string[] = [];
    test.mock.method(CONNECTORS.file_upload, 'fetch', async (_deps: unknown, _config: unknown, item: SourceItem) => {
      seen.push(item.fingerprint);
    });
    const config = { file_ids: [FILE], metadata: { a: 1 } };
    const { connector } = openSource(deps, { id: 'ds_1', type: 'file_upload', config, sealedSecrets: null });
    await connector.fetch({} as ConnectorDeps, config, await listed({ a: 1 }), signal);
    assert.deepEqual(seen, ['abc']);
  });
});
