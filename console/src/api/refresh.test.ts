import '../../test/browser-globals.ts';

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { readAgain } from './refresh.ts';

describe('a query that is read again', () => {
  for (const end of ['resolve', 'reject'] as const) {
    it(`shows the change even if its first load began before the change (${end})`, async (t) => {
      const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
      t.after(() => client.clear());
      const first = Promise.withResolvers<string>();
      const responses = [first.promise, Promise.resolve('after the change')];
      const queryKey = ['chat-attachments', "it's"];
      const observer = new QueryObserver(client, { queryKey, queryFn: () => responses.shift() });
      t.after(observer.subscribe(() => {}));
      const reading = readAgain(client, queryKey.slice(0, 1));
      first[end]('before the change');
      await reading;
      assert.equal(observer.getCurrentResult().data, 'after the change');
    });
  }

  it('cancels a later load, and leaves other queries alone', async (t) => {
    const client = new QueryClient();
    t.after(() => client.clear());
    const slow = Promise.withResolvers<string>();
    const responses = [Promise.resolve('first'), slow.promise, Promise.resolve('after the change')];
    const observer = new QueryObserver(client, { queryKey: ['chats'], queryFn: () => responses.shift() });
    t.after(observer.subscribe(() => {}));
    const other = new QueryObserver(client, { queryKey: ['chat'], queryFn: () => Promise.withResolvers().promise });
    t.after(other.subscribe(() => {}));
    await client.refetchQueries({ queryKey: ['chats'] }, { cancelRefetch: false });
    void observer.refetch();
    await readAgain(client, ['chats']);
    slow.resolve('before the change');
    await slow.promise;
    assert.equal(observer.getCurrentResult().data, 'after the change');
    assert.equal(other.getCurrentResult().fetchStatus, 'fetching');
  });
});
