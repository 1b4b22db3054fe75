/** Callers who ask without a pause until the service is gone, and remember what they were promised. */
import { join } from 'node:path';
import { usageRecords } from '../../src/billing/tables.ts';
import { openPglite } from '../../src/db/pglite.ts';
import type { Service } from '../spawned-service.ts';

/** An answer as a caller got it. */
export interface Got {
  requestId: string;
  status: number;
  text: string;
  /** Whether it came to its end: the whole body, or `[DONE]`. */
  whole: boolean;
}

/** A chat whose answer is as long as `maxTokens` allows. */
export function chatBody(model: string, stream: boolean, maxTokens: number | null = null): object {
  const messages = [{ role: 'user', content: 'Tell me of a fox.' }];
  return { model, messages, stream, ...(maxTokens !== null && { max_tokens: maxTokens }) };
}

/** Sends one chat and reads what comes, however it ends. `read` hears of the text so far. */
export async function chat(service: Service, body: object, read: (text: string) => void = () => {}): Promise<Got> {
  const got: Got = { requestId: '', status: 0, text: '', whole: false };
  try {
    const answer = await fetch(`${service.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    got.status = answer.status;
    got.requestId = answer.headers.get('x-request-id') ?? '';
    const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream');
    const decoder = new TextDecoder();
    for await (const piece of answer.body ?? []) {
      got.text += decoder.decode(piece, { stream: true });
      read(got.text);
    }
    got.whole = !isStream || got.text.endsWith('data: [DONE]\n\n');
  } catch {
    // The connection broke: what is left is what came before.
  }
  return got;
}

/** The usage rows of a folder whose service has ended. */
export async function usageOf(dataDir: string) {
  const db = await openPglite(join(dataDir, 'db'));
  try {
    return await db.sql.select().from(usageRecords).orderBy(usageRecords.id);
  } finally {
    await db.close();
  }
}
