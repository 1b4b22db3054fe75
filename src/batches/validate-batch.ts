import { hash } from 'node:crypto';
import type { Sql } from '../db/db.ts';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import { readContent } from '../files/read-content.ts';
import { deleteFileUses, type FileRow, updateFailed, updateProcessed } from '../files/store.ts';
import { resolveModel } from '../inference/admission.ts';
import { newId } from '../lib/ids.ts';
import { restoreCaller } from '../lib/stored-caller.ts';
import { ENDPOINTS } from './endpoints.ts';
import { requireInputFile } from './input-file.ts';
import { countLines, deleteLines, insertLines, type NewLine } from './line-store.ts';
import { batchMetrics } from './metrics.ts';
import { orderKey } from './order-key.ts';
import { LineDefect, type ParsedLine, parseLine } from './parse-line.ts';
import { type BatchError, MAX_BATCH_ERRORS, MAX_BATCH_LINES, MAX_LINE_BYTES } from './schema.ts';
import { type FileLine, splitLines } from './split-lines.ts';
import { type BatchRow, lockBatch, updateBatch } from './store.ts';

/** Dependencies of a validation. */
export type ValidationDeps = Pick<Deps, 'db' | 'blobs' | 'models' | 'metrics' | 'now'>;

/** Rows of one INSERT. */
const LINES_PER_INSERT = 500;

/**
 * Validates the input file of a batch and stores where its lines are. Memory does not depend on the size of the file.
 * Starts again after a crash. Afterwards the batch is `in_progress` or `failed`, or in the state to which something
 * else has brought it.
 */
export async function validateBatch(deps: ValidationDeps, batch: BatchRow, signal: AbortSignal): Promise<void> {
  if (deps.now() >= batch.expiresAt.getTime()) return expireBatch(deps, batch);
  if (!(await whileValidating(deps, batch, (sql) => deleteLines(sql, batch.id)))) return;
  const file = await requireInputFile(deps, batch);
  const validation = new Validation(deps, batch);
  const content = await readContent(deps, file, null, signal);
  let inserted = 0;
  for await (const line of splitLines(content, MAX_LINE_BYTES)) {
    validation.add(line);
    if (validation.isEnough()) break;
    if (validation.lines.length < LINES_PER_INSERT) continue;
    const lines = validation.lines.splice(0);
    inserted += lines.length;
    if (!(await whileValidating(deps, batch, (sql) => insertLines(sql, lines)))) return;
  }
  signal.throwIfAborted();
  const errors = validation.end();
  if (errors.length > 0) return failValidation(deps, batch, file, errors);
  await whileValidating(deps, batch, async (sql) => {
    await insertLines(sql, validation.lines);
    const totalLines = inserted + validation.lines.length;
    // Another process that validates the batch has replaced lines.
    if ((await countLines(sql, batch.id)) !== totalLines) throw new Error(`${batch.id} is validated by two processes`);
    await updateProcessed(sql, batch.organizationId, [file.id]);
    const model = validation.model();
    await updateBatch(sql, batch, { status: 'in_progress', inProgressAt: new Date(deps.now()), totalLines, model });
  });
}

/** Ends a batch whose validation did not end in time because its store or the process failed repeatedly. */
async function expireBatch(deps: ValidationDeps, batch: BatchRow): Promise<void> {
  const isExpired = await whileValidating(deps, batch, async (sql) => {
    await updateBatch(sql, batch, { status: 'expired', expiredAt: new Date(deps.now()) });
    await release(sql, batch);
  });
  if (isExpired) batchMetrics(deps.metrics).ended('expired');
}

/**
 * Runs `write` in a transaction while the batch is `validating`. Returns false if it is not, as after a cancellation.
 */
function whileValidating(
  { db }: ValidationDeps,
  { id, organizationId }: BatchRow,
  write: (sql: Sql) => Promise<void>,
): Promise<boolean> {
  return db.sql.transaction(async (sql) => {
    if ((await lockBatch(sql, organizationId, id))?.status !== 'validating') return false;
    await write(sql);
    return true;
  });
}

async function failValidation(
  deps: ValidationDeps,
  batch: BatchRow,
  file: FileRow,
  errors: BatchError[],
): Promise<void> {
  const [first] = errors;
  const where = first?.line == null ? '' : `Line ${first.line}: `;
  const isFailed = await whileValidating(deps, batch, async (sql) => {
    await updateBatch(sql, batch, { status: 'failed', errors, failedAt: new Date(deps.now()) });
    await release(sql, batch);
    await updateFailed(sql, batch.organizationId, file.id, `${where}${first?.message ?? ''}`);
  });
  if (isFailed) batchMetrics(deps.metrics).ended('failed');
}

/** Releases the input file of a batch that has no results. */
async function release(sql: Sql, { id }: BatchRow): Promise<void> {
  await deleteLines(sql, id);
  await deleteFileUses(sql, id);
}

/** Collects the lines and the errors of an input file. */
class Validation {
  /** Valid lines that are not yet inserted. */
  readonly lines: NewLine[] = [];
  readonly #deps: ValidationDeps;
  readonly #batch: BatchRow;
  readonly #errors: BatchError[] = [];
  /** Hashes: custom ids may be long. */
  readonly #customIds = new Set<string>();
  /** The models of the lines, and whether each is unknown. */
  readonly #unknownModels = new Map<string, boolean>();
  #count = 0;

  constructor(deps: ValidationDeps, batch: BatchRow) {
    this.#deps = deps;
    this.#batch = batch;
  }

  /** Whether further lines would change nothing: the batch has failed, and its list of errors is full. */
  isEnough(): boolean {
    return this.#errors.length >= MAX_BATCH_ERRORS || this.#count > MAX_BATCH_LINES;
  }

  /** The model of all lines; null if they name several. */
  model(): string | null {
    const [model = null, ...others] = this.#unknownModels.keys();
    return others.length === 0 ? model : null;
  }

  add(line: FileLine): void {
    this.#count += 1;
    try {
      if (this.#count > MAX_BATCH_LINES) {
        throw new LineDefect('too_many_requests_in_batch', `A batch has at most ${MAX_BATCH_LINES} requests.`);
      }
      const parsed = parseLine(line, this.#batch.endpoint);
      this.#requireNewCustomId(parsed);
      this.#requireModel(parsed);
      // Lines of a rejected file are not stored.
      if (this.#errors.length === 0) this.lines.push(this.#toRow(line, parsed));
    } catch (error) {
      if (!(error instanceof LineDefect)) throw error;
      const { code, message, param } = error;
      this.#errors.push({ code, message, param, line: line.number });
    }
  }

  /** Returns all errors. */
  end(): BatchError[] {
    if (this.#count > 0) return this.#errors;
    return [{ code: 'empty_file', message: 'The file has no requests.', param: null, line: null }];
  }

  #requireNewCustomId({ customId }: ParsedLine): void {
    const key = hash('sha1', customId, 'base64');
    if (this.#customIds.has(key)) {
      throw new LineDefect('duplicate_custom_id', 'An earlier line has the same custom_id.', 'custom_id');
    }
    this.#customIds.add(key);
  }

  #requireModel({ body: { model } }: ParsedLine): void {
    // The endpoint rejects a body without a model; that fails the line, not the batch.
    if (typeof model !== 'string') return;
    const isUnknown = this.#unknownModels.get(model) ?? this.#isUnknownModel(model);
    this.#unknownModels.set(model, isUnknown);
    if (isUnknown) {
      const message = `There is no model '${model.slice(0, 100).toWellFormed()}' for ${this.#batch.endpoint}.`;
      throw new LineDefect('model_not_found', message.replaceAll('\0', ''), 'body.model');
    }
  }

  #isUnknownModel(model: string): boolean {
    try {
      resolveModel(this.#deps, restoreCaller(this.#batch.caller), {
        kind: ENDPOINTS[this.#batch.endpoint].kind,
        model,
      });
      return false;
    } catch (error) {
      return error instanceof ApiError && error.code === 'model_not_found';
    }
  }

  #toRow({ number, start, bytes }: FileLine, { customId, body }: ParsedLine): NewLine {
    const endpoint = ENDPOINTS[this.#batch.endpoint];
    return {
      batchId: this.#batch.id,
      line: number,
      id: newId('batchLine'),
      customId,
      start,
      bytes,
      weight: bytes + endpoint.responseBytes(body),
      orderKey: orderKey(endpoint.promptText(body)),
    };
  }
}
