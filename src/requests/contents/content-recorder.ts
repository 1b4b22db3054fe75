import type { Database } from '../../db/db.ts';
import type { LoggedCall } from '../../lib/call-log.ts';
import { GroupCommit } from '../../lib/group-commit.ts';
import { isRecord } from '../../lib/json.ts';
import type { Logger } from '../../lib/logger.ts';
import { describeError } from '../../lib/operator-error.ts';
import { ReadCache } from '../../lib/read-cache.ts';
import { TimedThread } from '../../lib/timed-thread.ts';
import { createPartitions, PREPARE_MS } from '../partitions.ts';
import type { RawContents, RedactedContents, Redaction } from './redaction-thread.ts';
import { type RecordingRow, selectRecording, selectRecordings } from './store.ts';
import { truncatePrompt } from './truncate-prompt.ts';

/** TTL of the cached recording settings: the delay until a process notices a change. */
const MAX_STALE_MS = 1_000;
const MAX_ORGANIZATIONS = 10_000;
/** Maximum characters per statement, and in memory. Above the limit in memory, contents are dropped. */
const MAX_BATCH_CHARACTERS = 2_000_000;
const MAX_PENDING_CHARACTERS = 32_000_000;
/** Maximum delay of a write, equal to the request log. */
const DELAY_MS = 200;
/** Time limit of the redaction of a batch. Only patterns with catastrophic backtracking reach it. */
const REDACTION_MS = 2_000;
/** Pause of an organization's recording after its patterns have exceeded the time limit. */
const PAUSE_MS = 60_000;

/** Routes whose contents are recorded. */
const RECORDED_ROUTES: ReadonlySet<string> = new Set([
  ...['/v1/chat/completions', '/v1/completions', '/v1/responses', '/v1/messages', '/api/chat', '/api/generate'],
]);

/**
 * Inserts the rows of organizations with recording enabled. The shared lock on the settings delays their change until
 * this statement ends, so nothing is stored after recording is disabled.
 */
const INSERT = `with rows as (select distinct on ("id") * from json_to_recordset($1::json) as row ("id" text,
      "organizationId" text, "keyId" text, "prompt" text, "answer" text, "isTruncated" boolean, "order" integer)
    order by "id", "order" desc),
  recording as materialized (select organization_id from request_recordings
    where is_enabled and organization_id in (select "organizationId" from rows) for share)
  insert into request_contents (id, organization_id, key_id, prompt, answer, is_truncated)
  select "id", "organizationId", "keyId", "prompt", "answer", "isTruncated" from rows
    join recording on organization_id = "organizationId"
  on conflict (id) do update set prompt = excluded.prompt, answer = excluded.answer, is_truncated = excluded.is_truncated`;

/** Dependencies of `ContentRecorder`. */
export interface ContentRecorderDeps {
  db: Pick<Database, 'prepare' | 'sql' | 'withLock'>;
  logger: Logger;
  now(): number;
}

interface Item {
  requestId: string;
  organizationId: string;
  keyId: string;
  contents: RawContents;
  weight: number;
  isTruncated: boolean;
}

const redactor = new TimedThread<Redaction, RedactedContents[]>(
  new URL('./redaction-thread.ts', import.meta.url),
  REDACTION_MS,
);

/** Stores redacted contents of requests for organizations with recording enabled. Requests never wait for it. */
export class ContentRecorder {
  readonly #deps: ContentRecorderDeps;
  readonly #insert: (rows: string) => Promise<unknown>;
  readonly #organizations: ReadCache<boolean>;
  readonly #items: GroupCommit<Item>;
  /** Pending lookups of recording settings. */
  readonly #lookups = new Set<Promise<void>>();
  /** End of the pause by organization, in Unix milliseconds. */
  readonly #pausedUntil = new Map<string, number>();
  #pendingCharacters = 0;
  #dropped = 0;
  #preparedUntil = 0;

  constructor(deps: ContentRecorderDeps) {
    this.#deps = deps;
    this.#insert = deps.db.prepare('record_contents', INSERT);
    this.#organizations = new ReadCache({ ttlMs: MAX_STALE_MS, maxEntries: MAX_ORGANIZATIONS, now: deps.now });
    this.#items = new GroupCommit<Item>({
      write: (items) => this.#write(items),
      weight: ({ weight }) => weight,
      maxWeight: MAX_BATCH_CHARACTERS,
      delayMs: DELAY_MS,
      stopsOnFailure: false,
      onFailure: (items, error) =>
        deps.logger.warn({ requests: items.length, reason: describeError(error) }, 'request contents lost'),
    });
  }

  /** Whether an organization has recording enabled, cached for `MAX_STALE_MS`. False if the settings cannot be read. */
  isRecording(organizationId: string): boolean | Promise<boolean> {
    return this.#organizations.get(organizationId, () =>
      selectRecording(this.#deps.db.sql, organizationId).then(
        (row) => row?.isEnabled === true,
        () => false,
      ),
    );
  }

  /** Evicts the cached settings. */
  evict(): void {
    this.#organizations.evict(() => true);
  }

  /** Records a completed request, unless it has `store: false` or is private. */
  add(call: LoggedCall): void {
    const { body } = call;
    if (!RECORDED_ROUTES.has(call.route) || call.log.isPrivate || (isRecord(body) && body['store'] === false)) return;
    const isRecording = this.isRecording(call.organizationId);
    if (isRecording === true) this.#enqueue(call, body);
    if (!(isRecording instanceof Promise)) return;
    const lookup = isRecording.then((records) => {
      if (records) this.#enqueue(call, body);
      this.#lookups.delete(lookup);
    });
    this.#lookups.add(lookup);
  }

  /** Resolves when all contents are written or lost. */
  async flush(): Promise<void> {
    await Promise.all(this.#lookups);
    await this.#items.flush();
  }

  #enqueue({ requestId, organizationId, keyId, log }: LoggedCall, body: unknown): void {
    const answer = log.answer?.items ?? [];
    if (!isRecord(body) && answer.length === 0) return;
    const prompt = isRecord(body) ? truncatePrompt(body) : null;
    const weight = (prompt?.json.length ?? 0) + answer.reduce((sum, { text }) => sum + text.length, 0);
    if (this.#pendingCharacters + weight > MAX_PENDING_CHARACTERS) {
      this.#dropped += 1;
      return;
    }
    this.#pendingCharacters += weight;
    const isTruncated = prompt?.isTruncated === true || answer.some((item) => item.isTruncated === true);
    void this.#items.add({ requestId, organizationId, keyId, contents: { prompt, answer }, weight, isTruncated });
  }

  async #write(items: readonly Item[]): Promise<void> {
    const { db, logger, now } = this.#deps;
    for (const { weight } of items) this.#pendingCharacters -= weight;
    if (this.#dropped > 0) logger.warn({ requests: this.#dropped }, 'request contents dropped');
    this.#dropped = 0;
    const byOrganization = Map.groupBy(items, ({ organizationId }) => organizationId);
    const settings = await selectRecordings(db.sql, [...byOrganization.keys()]);
    const enabled = settings.filter(({ isEnabled }) => isEnabled);
    const redacted = await Promise.all(
      enabled.map((row) => this.#redact(row, byOrganization.get(row.organizationId) ?? [])),
    );
    const rows = redacted.flat();
    if (rows.length === 0) return;
    if (now() >= this.#preparedUntil) {
      await createPartitions(db, 'request_contents', now());
      this.#preparedUntil = now() + PREPARE_MS;
    }
    await this.#insert(JSON.stringify(rows.map((row, order) => ({ ...row, order }))));
  }

  async #redact({ organizationId, detectors, patterns }: RecordingRow, items: readonly Item[]): Promise<object[]> {
    const { logger, now } = this.#deps;
    if (now() < (this.#pausedUntil.get(organizationId) ?? 0)) return [];
    this.#pausedUntil.delete(organizationId);
    const contents = items.map((item) => item.contents);
    const redacted = await redactor.run(organizationId, { detectors, patterns, contents });
    if (redacted === null) {
      this.#pausedUntil.set(organizationId, now() + PAUSE_MS);
      const fields = { organizationId, requests: items.length, pauseMs: PAUSE_MS };
      logger.warn(fields, 'redaction of contents took too long, recording paused');
      return [];
    }
    return items.map(({ requestId: id, keyId, isTruncated }, index) => ({
      ...{ id, organizationId, keyId, isTruncated },
      ...redacted[index],
    }));
  }
}
