import { newId } from '../../src/lib/ids.ts';
import { withDeadline } from '../deadline.ts';
import type { TestApi } from '../harness.ts';
import { playTurns, says } from '../response-turns.ts';
import type { SignedIn } from './open-session.ts';

/** Sends a message that a scripted model answers. Returns its id when the answer has ended. */
export async function exchange(
  api: TestApi,
  user: SignedIn,
  chatId: string,
  { text, answer, parentId = null }: { text: string; answer: string; parentId?: string | null },
): Promise<string> {
  playTurns(api.engine, says(answer));
  const path = `/v1/chats/${chatId}/messages`;
  const { json } = await user.send('POST', path, { model: 'general-8b', text, parent_id: parentId });
  await withDeadline('the answer', user.send('GET', `${path}/${json.id}?stream=true`));
  return json.id;
}

/** Adds citations of knowledge bases to a stored answer and returns them. */
export async function cite({ db }: TestApi, messageId: string, knowledgeBaseIds: readonly string[]): Promise<object[]> {
  const { rows } = await db.execute('select response from responses where id = $1', [messageId]);
  const response = JSON.parse((rows as { response: string }[])[0]?.response ?? '');
  const annotations = knowledgeBaseIds.flatMap((kb_id, index) => {
    const place = { start_index: index, end_index: index + 1 };
    const chunk = {
      ...{ kb_id, document_id: newId('document'), document_name: 'manual.md', chunk_id: newId('chunk'), score: 1 },
      ...{ page: null, slide: null, cells: null, heading_path: [], document_start_index: 0, document_end_index: 9 },
    };
    const file = { type: 'file_citation', index: 0, file_id: 'file-1', filename: 'manual.md', ...place, ...chunk };
    return [file, { type: 'url_citation', url: 'https://example.com/manual', title: 'manual.md', ...place }];
  });
  const search = { type: 'file_search_call', id: newId('fileSearchCall'), status: 'completed', queries: ['secret'] };
  response.output[0].content[0].annotations = annotations;
  response.output.unshift({ ...search, results: [] });
  await db.execute('update responses set response = $1 where id = $2', [JSON.stringify(response), messageId]);
  return annotations;
}
