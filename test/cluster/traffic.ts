/** Callers of a cluster, which record what was acknowledged to them. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { addKey } from '../../src/accounts/add-key.ts';
import { selectOrganizationByName, updateApiKey } from '../../src/accounts/store.ts';
import type { Database } from '../../src/db/db.ts';
import { chat, chatBody } from '../crash/load.ts';
import { encodeForm, sendForm } from '../forms.ts';
import type { Service } from '../spawned-service.ts';

/** Lines of an ingested file: each is a document with a word of its own. */
export const LINES = 40;
/** Ingested files. */
const BASES = 30;
/** Pauses of the callers between two requests. */
const PAUSE_MS = 1_000;
/** Pause between two requests with a revoked key. */
const REVOCATION_POLL_MS = 50;

// biome-ignore lint/suspicious/noExplicitAny: what is asserted on is whatever came over the wire.
export type Json = any;

/** Acknowledged and attempted operations. */
export interface Promised {
  /** Hash by file id. */
  files: Map<string, string>;
  /** Names of all started uploads. */
  names: Set<string>;
  /** Completed chat requests with the usage in their responses. */
  chats: { requestId: string; usage: { prompt_tokens: number; completion_tokens: number } }[];
  /** Knowledge bases with one data source, and the number in the words of its documents. */
  bases: { id: string; number: number }[];
  /** Milliseconds from each revocation of a key until every process rejected it. */
  revocations: number[];
}

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

export const pick = <T>(from: readonly T[]): T => from[Math.floor(Math.random() * from.length)] as T;

/** Sends JSON. Returns null when the connection broke: the process was killed. */
export async function send(service: Service, method: string, path: string, body?: object) {
  try {
    const response = await fetch(service.url + path, {
      method,
      headers: { authorization: `Bearer ${service.key}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: (await response.json()) as Json };
  } catch {
    return null;
  }
}

/** The callers of the API processes. Each runs until `isOver`. */
export class Traffic {
  readonly promised: Promised = { files: new Map(), names: new Set(), chats: [], bases: [], revocations: [] };
  /** Number of responses by kind of request and status; status 0: the connection broke. */
  readonly responses: Record<string, number> = {};
  readonly #apis: readonly Service[];
  readonly #db: Database | null;
  readonly #isOver: () => boolean;

  /** `db`: where keys are created and revoked; null where its schema may be of another version. */
  constructor(apis: readonly Service[], db: Database | null, isOver: () => boolean) {
    this.#apis = apis;
    this.#db = db;
    this.#isOver = isOver;
  }

  /** Runs all callers. */
  async run(): Promise<void> {
    await Promise.all([
      this.#ingest(),
      this.#db && this.#revokeKeys(this.#db),
      ...[1, 2].map(() => this.#uploadFiles()),
      ...[1, 2, 3].map(() => this.#sendChats()),
    ]);
  }

  #count(request: string, status: number): void {
    const name = `${request} ${status}`;
    this.responses[name] = (this.responses[name] ?? 0) + 1;
  }

  /** Sends JSON, and counts the response. */
  async #send(request: string, path: string, body: object) {
    const response = await send(pick(this.#apis), 'POST', path, body);
    this.#count(request, response?.status ?? 0);
    return response;
  }

  /**
   * Uploads a file, and again under its idempotency key when the connection broke. Returns its id; null when that was
   * not acknowledged.
   */
  async #upload(name: string, content: Uint8Array): Promise<string | null> {
    const parts = [
      { name: 'purpose', content: 'knowledge-base' },
      { name: 'file', filename: name, content },
    ];
    for (let tries = 0; tries < 2; tries += 1) {
      const service = pick(this.#apis);
      const sending = { key: service.key, headers: { 'idempotency-key': name } };
      const sent = await sendForm(`${service.url}/v1/files`, encodeForm(parts), sending).catch(() => null);
      this.#count('upload', sent?.status ?? 0);
      if (sent !== null) return sent.status === 200 ? sent.json.id : null;
    }
    return null;
  }

  async #uploadFiles(): Promise<void> {
    while (!this.#isOver()) {
      const bytes = Buffer.concat([Buffer.from('%PDF-'), randomBytes(1 + Math.floor(Math.random() * 50_000))]);
      const name = `${randomBytes(8).toString('hex')}.pdf`;
      this.promised.names.add(name);
      const id = await this.#upload(name, bytes);
      if (id !== null) this.promised.files.set(id, sha256(bytes));
      await pause(PAUSE_MS / 4);
    }
  }

  async #sendChats(): Promise<void> {
    while (!this.#isOver()) {
      const isStream = Math.random() < 0.5;
      const body = {
        ...chatBody('general-8b', isStream, 5),
        ...(isStream && { stream_options: { include_usage: true } }),
      };
      const { status, whole, requestId, text } = await chat(pick(this.#apis), body);
      this.#count(isStream ? 'streamed chat' : 'chat', status);
      // The last event before `[DONE]` has the usage; or an error, which is no completion.
      const last = isStream ? text.split('\n\n').at(-3)?.replace('data: ', '') : text;
      const usage = status === 200 && whole ? JSON.parse(last ?? '').usage : undefined;
      if (usage !== undefined) this.promised.chats.push({ requestId, usage });
      await pause(PAUSE_MS / 4);
    }
  }

  /** Uploads all files first, so that jobs start during the outages, too. */
  async #ingest(): Promise<void> {
    const files: { id: string; number: number }[] = [];
    for (let number = 0; number < BASES && !this.#isOver(); number += 1) {
      const lines = Array.from({ length: LINES }, (_, line) =>
        JSON.stringify({ text: `This line is about word${number}x${line}y and nothing else.` }),
      );
      const id = await this.#upload(`${number}.jsonl`, Buffer.from(lines.join('\n')));
      if (id !== null) files.push({ id, number });
    }
    for (const { id, number } of files) {
      if (this.#isOver()) return;
      const base = await this.#send('knowledge base', '/v1/knowledge-bases', { name: `Base ${number}` });
      if (base?.status === 200) {
        const source = { type: 'file_upload', config: { file_ids: [id] } };
        const path = `/v1/knowledge-bases/${base.json.id}/data-sources`;
        const created = await this.#send('data source', path, source);
        if (created?.status === 200) this.promised.bases.push({ id: base.json.id, number });
      }
      await pause(2 * PAUSE_MS);
    }
  }

  /** Creates keys, uses them in every service, revokes them, and uses them again. */
  async #revokeKeys({ sql }: Database): Promise<void> {
    const requestStatus = (service: Service, key: string) =>
      fetch(`${service.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } }).then(
        ({ status }) => status,
        () => null,
      );
    while (!this.#isOver()) {
      const organizationId = (await selectOrganizationByName(sql, 'default'))?.id ?? '';
      const properties = { organizationId, name: 'revoked', models: null, limits: null, budget: null, expiresAt: null };
      const { row, secret: key } = await addKey(sql, { ...properties, scopes: ['inference'] });
      // 503: a process that waits for its stores.
      for (const api of this.#apis) assert.ok([200, 503, null].includes(await requestStatus(api, key)));
      await sql.transaction((transaction) => updateApiKey(transaction, row.id, { revokedAt: new Date() }));
      const revokedAt = performance.now();
      for (const api of this.#apis) {
        // A process that accepts a revoked key for ever keeps the test from its end.
        while ((await requestStatus(api, key)) === 200) await pause(REVOCATION_POLL_MS);
      }
      this.promised.revocations.push(Math.round(performance.now() - revokedAt));
      await pause(PAUSE_MS);
    }
  }
}
