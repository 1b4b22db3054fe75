import { type GrammarBuilder, literalAlternatives } from './grammar.ts';
import { arrayRule } from './schema/array-rule.ts';
import { type Case, CaseFinder } from './schema/cases.ts';
import { SchemaDocument } from './schema/document.ts';
import type { Emitter, Leaf } from './schema/emitter.ts';
import { Evaluator } from './schema/evaluate.ts';
import { JSON_TYPES, type JsonType, type Located, type Schema, TYPE_KEYWORDS } from './schema/keywords.ts';
import { numberRule } from './schema/number-rule.ts';
import { objectRule } from './schema/object-rule.ts';
import { finiteValues, isPossible, possibleTypes } from './schema/possible.ts';
import { textRule } from './schema/text-rule.ts';
import { UnsupportedSchemaError } from './unsupported-schema-error.ts';

/** Maximum nesting of schemas, references included. */
const MAX_DEPTH = 150;
/** Depth of members that are examined to find out whether schemas exclude each other. */
const MAX_LOOKAHEAD = 4;

/** A rule that is or was being compiled. `name` is null while nothing refers to it, `leaves` until it is done. */
interface Entry {
  name: string | null;
  result: string | null;
  isDone: boolean;
}

/** Compiles the schemas of one document. */
export class SchemaCompiler {
  readonly #builder: GrammarBuilder;
  readonly #document: SchemaDocument;
  readonly #evaluator: Evaluator;
  readonly #cases: CaseFinder;
  readonly #emitter: Emitter;
  readonly #entries = new Map<string, Entry>();
  readonly #ids = new Map<unknown, number>();
  /** For each rule, the alternatives to satisfy it, each as the rules that it requires. */
  readonly #needs = new Map<string, (readonly string[])[]>();
  readonly #paths = new Map<string, string>();
  #depth = 0;
  #lookahead = 0;

  /** `path`: path of the document, such as `response_format.json_schema.schema`. */
  constructor(builder: GrammarBuilder, root: unknown, path: string) {
    this.#builder = builder;
    this.#document = new SchemaDocument({ schema: root, path });
    this.#evaluator = new Evaluator(this.#document);
    this.#cases = new CaseFinder(this.#document, (parts) =>
      isPossible(parts, this.#evaluator, (schemas) => this.#mayAll(schemas)),
    );
    this.#emitter = {
      builder,
      evaluator: this.#evaluator,
      ruleOf: (schemas, at) => this.#ruleOf(schemas, at),
      casesOf: (schemas) => this.#cases.casesOf(schemas),
    };
  }

  /**
   * Returns the name of a rule whose texts are values that the document accepts, though not always all of them. Throws
   * an `UnsupportedSchemaError` with the dotted path of a keyword that cannot be enforced.
   */
  compile(): string {
    const { root } = this.#document;
    const rule = this.#ruleOf([root], root.path);
    if (rule === null) throw new UnsupportedSchemaError(root.path, 'accepts nothing');
    this.#checkEnds();
    return rule;
  }

  #mayAll(schemas: readonly Located[]): boolean {
    if (this.#lookahead >= MAX_LOOKAHEAD) return true;
    this.#lookahead += 1;
    try {
      return this.#cases.casesOf(schemas).length > 0;
    } finally {
      this.#lookahead -= 1;
    }
  }

  #keyOf(schemas: readonly Located[]): string {
    const ids = schemas.map(({ schema }) => {
      const id = this.#ids.get(schema);
      if (id !== undefined) return id;
      this.#ids.set(schema, this.#ids.size);
      return this.#ids.size - 1;
    });
    return [...new Set(ids)].join();
  }

  #ruleOf(schemas: readonly Located[], path: string): string | null {
    const asking = schemas.filter(({ schema }) => schema !== true);
    if (asking.length === 0) return this.#builder.json('value');
    const key = this.#keyOf(asking);
    const cachedEntry = this.#entries.get(key);
    if (cachedEntry?.isDone === true) return cachedEntry.result;
    if (cachedEntry !== undefined) {
      cachedEntry.name ??= this.#builder.freshName('ref');
      return cachedEntry.name;
    }
    const entry: Entry = { name: null, result: null, isDone: false };
    this.#entries.set(key, entry);
    if (this.#depth >= MAX_DEPTH) throw new UnsupportedSchemaError(path, `is nested deeper than ${MAX_DEPTH} levels`);
    this.#depth += 1;
    const leaves = new Map<string, Leaf>();
    for (const one of this.#cases.casesOf(asking)) for (const leaf of this.#leavesOf(one)) leaves.set(leaf.rule, leaf);
    this.#depth -= 1;
    entry.isDone = true;
    entry.result = this.#join([...leaves.values()], entry.name, path);
    return entry.result;
  }

  /** One rule for several alternatives, flattened: a sampler follows nested choices one by one. */
  #join(leaves: readonly Leaf[], name: string | null, path: string): string | null {
    for (const { rule, needs } of leaves) {
      const cached = this.#needs.get(rule);
      // Appended in place: thousands of schemas may share a rule.
      if (cached === undefined) this.#needs.set(rule, [needs]);
      else cached.push(needs);
    }
    if (leaves.length === 0 && name !== null) throw new UnsupportedSchemaError(path, 'accepts nothing');
    if (leaves.length === 0) return null;
    const only = leaves[0]?.rule;
    const body = leaves.map((leaf) => leaf.rule).join(' | ');
    const rule =
      name !== null
        ? this.#builder.define(name, body, path)
        : leaves.length === 1 && only !== undefined
          ? only
          : this.#builder.intern('choice', body, path);
    if (rule !== only)
      this.#needs.set(
        rule,
        leaves.map((leaf) => [leaf.rule]),
      );
    this.#paths.set(rule, path);
    return rule;
  }

  #leavesOf(parts: Case): Leaf[] {
    if (parts.length === 0) return [{ rule: this.#builder.json('value'), needs: [] }];
    const path = parts[0]?.path ?? '';
    const values = finiteValues(parts, this.#evaluator);
    if (values !== null) {
      const texts = values.map((value) => JSON.stringify(value));
      return texts.length === 0
        ? []
        : [{ rule: this.#builder.intern('one', literalAlternatives(texts), path), needs: [] }];
    }
    const left = possibleTypes(parts);
    const acted = JSON_TYPES.filter((type) => parts.some(({ schema }) => actsOn(schema, type)));
    // A schema with keywords of one type and no `type` means that type. Valid values of other types are not generated.
    const meant = left.length === JSON_TYPES.length && acted.length > 0 ? acted : left;
    return meant.flatMap((type) => this.#leafOf(type, parts) ?? []);
  }

  #leafOf(type: JsonType, parts: Case): Leaf | null {
    if (type === 'object') return objectRule(this.#emitter, parts);
    if (type === 'array') return arrayRule(this.#emitter, parts);
    if (type === 'string') return textRule(this.#emitter, parts);
    if (type === 'number') return numberRule(this.#emitter, parts);
    const values = (type === 'null' ? [null] : [true, false]).filter((value) =>
      parts.every(({ schema }) => this.#evaluator.ownAccepts(schema, value)),
    );
    if (values.length === 0) return null;
    if (type === 'null' || values.length === 2) return { rule: this.#builder.json(type), needs: [] };
    return {
      rule: this.#builder.intern('one', literalAlternatives(values.map(String)), parts[0]?.path ?? ''),
      needs: [],
    };
  }

  /** Rejects a schema whose values are infinite: each contains another one. */
  #checkEnds(): void {
    const ends = new Set<string>();
    for (let before = -1; before < ends.size; ) {
      before = ends.size;
      for (const [rule, ways] of this.#needs) {
        if (ways.some((way) => way.every((need) => ends.has(need) || !this.#needs.has(need)))) ends.add(rule);
      }
    }
    for (const [rule, path] of this.#paths) {
      if (!ends.has(rule) && this.#needs.has(rule))
        throw new UnsupportedSchemaError(path, 'accepts only values without end');
    }
  }
}

const actsOn = (schema: Schema, type: JsonType): boolean =>
  TYPE_KEYWORDS[type].some((keyword) => schema[keyword] !== undefined);
