import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { initdbArguments, SERVER_SETTINGS, serverArguments } from './settings.ts';

describe('the settings of the embedded server', () => {
  it('are passed on the command line, with the folder', () => {
    const [flag, folder, ...settings] = serverArguments('/srv/a b', { platform: 'linux' });
    assert.deepEqual([flag, folder], ['-D', '/srv/a b']);
    for (const word of ['listen_addresses=', 'fsync=on', 'recovery_init_sync_method=syncfs']) {
      assert.equal(settings[settings.indexOf(word) - 1], '-c', word);
    }
    assert.ok(serverArguments('/x', { platform: 'darwin' }).includes('recovery_init_sync_method=fsync'));
    assert.ok(initdbArguments('/x', 'darwin').includes('--sync-method=fsync'));
  });

  it('keep every acknowledged commit, open no port, and need no shared memory file system', () => {
    const { fsync, synchronous_commit, full_page_writes, listen_addresses, dynamic_shared_memory_type } =
      SERVER_SETTINGS;
    assert.deepEqual([fsync, synchronous_commit, full_page_writes], ['on', 'on', 'on']);
    assert.equal(listen_addresses, '');
    assert.equal(dynamic_shared_memory_type, 'mmap');
    assert.ok(initdbArguments('/x').includes('--data-checksums'));
  });
});
