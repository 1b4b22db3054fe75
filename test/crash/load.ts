/** Clients that send requests until the service is killed, and record what was acknowledged. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { usageRecords } from '../../src/billing/tables.ts';
import { openEmbedded } from '../../src/db/embedded/open-embedded.ts';
import { createLogger } from '../../src/lib/logger.ts';
import type { Service } from '../spawned-service.ts';

/** A response as received by the client. */
export interface ReceivedResponse {
  requestId: string;
  status: number;
  text: string;
  /** Whether the response was complete: the whole body, or `[DONE]`. */
  whole: boolean;
}

/** Chat request with a completion of `maxTokens` tokens. */
export function chatBody(model: string, stream: boolean, maxTokens: number | null = null): object {
  const messages = [{ role: 'user', content: 'Tell me of a fox.' }];
  return { model, messages, stream, ...(maxTokens !== null && { max_tokens: maxTokens }) };
}

/** Sends a chat request and reads the response until its end or failure. `onText` gets the text so far. */
export async function chat(
  service: Service,
  body: object,
  onText: (text: string) => void = () => {},
): Promise<ReceivedResponse> {
  const response: ReceivedResponse = { requestId: '', status: 0, text: '', whole: false };
  try {
    const received = await fetch(`${service.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    response.status = received.status;
    response.requestId = received.headers.get('x-request-id') ?? '';
    const isStream = received.headers.get('content-type')?.startsWith('text/event-stream');
    const decoder = new TextDecoder();
    for await (const chunk of received.body ?? []) {
      response.text += decoder.decode(chunk, { stream: true });
      onText(response.text);
    }
    response.whole = !isStream || response.text.endsWith('data: [DONE]\n\n');
  } catch {
    // The connection broke: keeps what was received.
  }
  return response;
}

/** Reads the usage rows of a data folder after its service has ended. */
export async function readUsageRows(dataDir: string) {
  const logger = createLogger('silent');
  const onGiveUp = (reason: string) => assert.fail(reason);
  const db = await openEmbedded({ folder: join(dataDir, 'postgres'), logger, onGiveUp });
  try {
    return await db.sql.select().from(usageRecords).orderBy(usageRecords.id);
  } finally {
    await db.close();
  }
}
