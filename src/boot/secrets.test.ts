import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { SECRETS_KEY_FILE } from '../data-folder/entries.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { DecryptionError } from '../lib/secrets.ts';
import { openSecrets, secretsWarning } from './secrets.ts';

const SET = 'set by the operator, 32 characters';

describe('the key of secrets', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quire-secrets-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const at = (name: string, secretsKey: string | null = null) => ({ dataDir: join(folder, name), secretsKey });

  it('is made once, in a file that only its user may read, and used again', async () => {
    const sealed = (await openSecrets(at('made'))).seal('text', 'ds_1');
    assert.equal((await openSecrets(at('made'))).open(sealed, 'ds_1'), 'text');
    assert.deepEqual(readdirSync(join(folder, 'made')), [SECRETS_KEY_FILE]);
    assert.equal(statSync(join(folder, 'made', SECRETS_KEY_FILE)).mode & 0o777, 0o600);
    assert.match(readFileSync(join(folder, 'made', SECRETS_KEY_FILE), 'utf8'), /^[0-9a-f]{64}\n$/);
    const other = await openSecrets(at('other'));
    assert.throws(() => other.open(sealed, 'ds_1'), DecryptionError);
  });

  it('of the environment wins over the file, opens what the file has sealed, and makes no file', async () => {
    const byFile = (await openSecrets(at('both'))).seal('text', 'ds_1');
    const both = await openSecrets(at('both', SET));
    assert.equal(both.open(byFile, 'ds_1'), 'text');
    const alone = await openSecrets(at('alone', SET));
    assert.equal(alone.open(both.seal('new', 'ds_1'), 'ds_1'), 'new');
    assert.throws(() => statSync(join(folder, 'alone')), /ENOENT/);
  });

  it('stops the start, and says which file, where the file holds no key', async () => {
    await openSecrets(at('broken'));
    writeFileSync(join(folder, 'broken', SECRETS_KEY_FILE), 'short');
    await assert.rejects(openSecrets(at('broken')), (error: unknown) => {
      assert.ok(error instanceof OperatorError);
      assert.match(error.message, /broken.secrets\.key holds no key/);
      return true;
    });
  });

  it('is warned of where it lies beside what it seals', () => {
    assert.match(secretsWarning(at('made')) ?? '', /secrets\.key.*QUIRE_SECRETS_KEY/);
    assert.equal(secretsWarning(at('made', SET)), null);
  });
});
