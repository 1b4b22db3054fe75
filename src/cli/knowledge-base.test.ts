import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ApiClient } from './api-client.ts';
import { HttpStatusError } from './client-errors.ts';
import { createKnowledgeBaseOnce } from './knowledge-base.ts';

/** A service that replays responses to idempotency keys. Creations stay unfinished while `isHeld` is true. */
function fakeService() {
  const bases = new Map<string, string>();
  const responses = new Map<string, string>();
  const state = { bases, isHeld: false, conflicts: 0 };
  const send: ApiClient['send'] = async (_method, _path, body, { idempotencyKey = '' } = {}) => {
    const first = responses.get(idempotencyKey);
    if (first !== undefined && state.isHeld) {
      state.conflicts += 1;
      state.isHeld = false;
      throw new HttpStatusError(409, 'The first request with this Idempotency-Key is still running.');
    }
    const id = first ?? `kb_${responses.size}`;
    responses.set(idempotencyKey, id);
    if (first === undefined) bases.set(id, (body as { name: string }).name);
    return Response.json({ id }, { headers: first === undefined ? {} : { 'idempotent-replayed': 'true' } });
  };
  const json = async (_method: string, path: string) => {
    const name = bases.get(path.split('/').at(-1) ?? '');
    if (name === undefined) throw new HttpStatusError(404, 'not found');
    return { name };
  };
  return { state, api: { send, json } as unknown as ApiClient };
}

describe('createKnowledgeBaseOnce', () => {
  it('creates one knowledge base of a name, and waits for a concurrent creation', async () => {
    const { state, api } = fakeService();
    assert.deepEqual(await createKnowledgeBaseOnce(api, 'Town'), { id: 'kb_0', isNew: true });
    state.isHeld = true;
    assert.deepEqual(await createKnowledgeBaseOnce(api, 'Town'), { id: 'kb_0', isNew: false });
    assert.equal(state.conflicts, 1);
    assert.deepEqual(await createKnowledgeBaseOnce(api, 'Other'), { id: 'kb_1', isNew: true });
  });

  it('creates another one when the first was deleted or renamed', async () => {
    const { state, api } = fakeService();
    await createKnowledgeBaseOnce(api, 'Town');
    state.bases.delete('kb_0');
    assert.deepEqual(await createKnowledgeBaseOnce(api, 'Town'), { id: 'kb_1', isNew: true });
    state.bases.set('kb_1', 'City');
    assert.deepEqual(await createKnowledgeBaseOnce(api, 'Town'), { id: 'kb_2', isNew: true });
    assert.deepEqual(await createKnowledgeBaseOnce(api, 'Town'), { id: 'kb_2', isNew: false });
  });
});
