import { streamText } from './content.ts';
import type { Extraction, ReaderInput } from './extracted-document.ts';
import { invalidFile } from './limits.ts';
import { MAX_RECORD_BYTES, readRecord } from './read-jsonl.ts';

/** The key before the array of `{"data": [...]}`. */
const DATA_KEY = /"data"\s*:\s*$/;
/** Maximum characters before that array. */
const MAX_ENVELOPE_CHARACTERS = 4_096;

/**
 * Reads JSON: each object of an array is a document as in JSONL, and its part is the index, from 0. The array is the
 * whole file or in its field `data`. A file of one object is one document; one of several objects has one for each.
 */
export async function* readJson(input: ReaderInput): AsyncGenerator<Extraction> {
  for await (const { index, json } of splitRecords(streamText(input))) {
    yield readRecord(json, { part: `${index}`, name: `Element ${index}` }, input.textFields);
  }
}

interface JsonRecord {
  index: number;
  /** Null above MAX_RECORD_BYTES. */
  json: string | null;
}

/** Splits a JSON text into the elements of its array, or its objects, holding one of them in memory at a time. */
async function* splitRecords(stream: AsyncIterable<string>): AsyncGenerator<JsonRecord> {
  const splitter = new RecordSplitter();
  for await (const text of stream) yield* splitter.push(text);
  yield* splitter.end();
}

/** Follows strings and nesting only; the elements are parsed as a whole. */
class RecordSplitter {
  #depth = 0;
  /** Nesting at which records begin: 0 until an array is found. */
  #recordDepth = 0;
  #isString = false;
  #isEscaped = false;
  #isEnded = false;
  #pieces: string[] = [];
  #length = 0;
  #index = 0;

  *push(text: string): Generator<JsonRecord> {
    let from = 0;
    const take = (end: number) => {
      this.#take(text.slice(from, end));
      from = end;
    };
    for (let at = 0; at < text.length; at++) {
      const character = text[at];
      if (this.#isString) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (character === '\\') this.#isEscaped = true;
        else if (character === '"') this.#isString = false;
      } else if (character === '"') this.#isString = true;
      else if (character === '{' || character === '[') {
        this.#depth += 1;
        if (character === '{' || this.#depth > 2 || this.#recordDepth > 0) continue;
        take(at);
        if (!this.#isArrayOfRecords()) continue;
        this.#recordDepth = this.#depth;
        this.#clear();
        from = at + 1;
      } else if (character === '}' || character === ']') {
        this.#depth -= 1;
        const isArrayEnd = this.#depth < this.#recordDepth;
        if (this.#depth > this.#recordDepth || (isArrayEnd && this.#isEnded)) continue;
        take(isArrayEnd ? at : at + 1);
        yield* this.#takeRecord();
        this.#isEnded ||= isArrayEnd;
        if (isArrayEnd) from = at + 1;
      } else if (character === ',' && this.#depth === this.#recordDepth) {
        take(at);
        from = at + 1;
        yield* this.#takeRecord();
      }
    }
    take(text.length);
  }

  *end(): Generator<JsonRecord> {
    if (this.#depth !== 0 || this.#isString) throw invalidFile('The JSON is damaged: its brackets are not balanced.');
    yield* this.#takeRecord();
    if (this.#index === 0 && !this.#isEnded) throw invalidFile('The file contains no JSON object.');
  }

  #isArrayOfRecords(): boolean {
    if (this.#depth === 1) return true;
    return this.#length <= MAX_ENVELOPE_CHARACTERS && DATA_KEY.test(this.#pieces.join(''));
  }

  #take(piece: string): void {
    if (this.#isEnded || piece === '') return;
    this.#length += piece.length;
    if (this.#length > MAX_RECORD_BYTES) this.#pieces = [];
    else this.#pieces.push(piece);
  }

  #clear(): void {
    this.#pieces = [];
    this.#length = 0;
  }

  *#takeRecord(): Generator<JsonRecord> {
    const json = this.#length > MAX_RECORD_BYTES ? null : this.#pieces.join('').trim();
    this.#clear();
    if (json === '') return;
    yield { index: this.#index, json };
    this.#index += 1;
  }
}
