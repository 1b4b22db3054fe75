import { createHash } from 'node:crypto';
import type { FactoredGrammar } from '@quire/json-schema-grammar';
import type { ErrorFacts } from '../../../errors.ts';
import type { GrammarSource } from './request-grammar.ts';

/** Maximum bytes of cached grammars. Clients send the same few schemas again and again. */
const MAX_CACHED_BYTES = 64 * 1024 * 1024;
/** Bytes of an entry without its grammar. */
const ENTRY_BYTES = 1_024;

/** Result of a deterministic compilation: a grammar, or the error for a schema that cannot be enforced. */
export type CachedResult = { grammar: FactoredGrammar } | { rejection: ErrorFacts };

interface Entry {
  result: CachedResult;
  bytes: number;
  /** The organization that had it compiled. */
  scope: string;
}

/**
 * Compiled grammars and rejected schemas, by source. All organizations share the entries. When the cache is full, the
 * organization with the most bytes loses its least recently used entry, so that none evicts another's grammars.
 */
export class GrammarCache {
  readonly #maxBytes: number;
  /** Least recently used first. */
  readonly #entries = new Map<string, Entry>();
  readonly #bytesByScope = new Map<string, number>();
  #bytes = 0;

  constructor(maxBytes = MAX_CACHED_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** Returns the result of a compilation; undefined if it is not cached. */
  get(key: string): CachedResult | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.result;
  }

  /** Caches the result of a compilation for `scope`. */
  set(key: string, result: CachedResult, scope: string): void {
    this.#drop(key);
    const bytes = ENTRY_BYTES + ('grammar' in result ? grammarBytes(result.grammar) : 0);
    this.#entries.set(key, { result, bytes, scope });
    this.#count(scope, bytes);
    while (this.#bytes > this.#maxBytes) this.#evict();
  }

  #evict(): void {
    const [[largest] = []] = [...this.#bytesByScope].sort(([, a], [, b]) => b - a);
    for (const [key, { scope }] of this.#entries) {
      if (scope !== largest) continue;
      this.#drop(key);
      return;
    }
  }

  #drop(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#count(entry.scope, -entry.bytes);
  }

  #count(scope: string, bytes: number): void {
    this.#bytes += bytes;
    const left = (this.#bytesByScope.get(scope) ?? 0) + bytes;
    if (left === 0) this.#bytesByScope.delete(scope);
    else this.#bytesByScope.set(scope, left);
  }
}

/** Returns the cache key of a grammar. */
export function grammarKey(source: GrammarSource): string {
  return createHash('sha256').update(JSON.stringify(source)).digest('base64');
}

function grammarBytes({ text, elements }: FactoredGrammar): number {
  const { code, alternatives, rules } = elements;
  return text.length + code.byteLength + alternatives.byteLength + rules.byteLength;
}
