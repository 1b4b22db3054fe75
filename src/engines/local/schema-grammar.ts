import { invalidValue } from '../../errors.ts';
import { type GrammarBuilder, literal, oneOf } from './grammar.ts';
import { integersIn, numbersIn, type Range } from './number-grammar.ts';

/** Nesting of schemas at most, references not counted: deeper ones are no output formats but attacks. */
const MAX_DEPTH = 64;
/** Repetitions at most: llama.cpp writes each of them out as a rule. */
const MAX_REPEAT = 1_000;

type Schema = Record<string, unknown>;
type JsonType = 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | 'null';

const TYPES: readonly JsonType[] = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];

/** Say nothing about what is valid. `$defs` are read where something refers to them. */
const ANNOTATIONS = new Set([
  'title',
  'description',
  'default',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
  '$comment',
  '$schema',
  '$id',
  '$anchor',
  '$defs',
  'definitions',
  'strict',
]);

const ASK_NOTHING_WHEN_FALSE = new Set(['uniqueItems', 'nullable']);

/** Keywords that act on values of one type only, and can be enforced here. */
const KEYWORDS: Readonly<Record<JsonType, readonly string[]>> = {
  object: ['properties', 'required', 'additionalProperties'],
  array: ['items', 'minItems', 'maxItems'],
  string: ['minLength', 'maxLength', 'format'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  integer: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  boolean: [],
  null: [],
};

/** Formats that a grammar can hold. Days end at 28, so that every month has them. */
const FORMATS: Readonly<Record<string, string>> = {
  date: '[0-9]{4} "-" ("0" [1-9] | "1" [0-2]) "-" ("0" [1-9] | "1" [0-9] | "2" [0-8])',
  time: '([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9] ("." [0-9]{1,6})? "Z"',
  uuid: '[0-9a-f]{8} "-" [0-9a-f]{4} "-" [0-9a-f]{4} "-" [0-9a-f]{4} "-" [0-9a-f]{12}',
};

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Compiles the schemas that belong to one document, whose `$ref`s are looked up in it. */
export class SchemaCompiler {
  readonly #builder: GrammarBuilder;
  readonly #root: unknown;
  readonly #path: string;
  readonly #references = new Map<string, string>();

  /** `path`: where the document stands in the caller's body, such as `response_format.json_schema.schema`. */
  constructor(builder: GrammarBuilder, root: unknown, path: string) {
    this.#builder = builder;
    this.#root = root;
    this.#path = path;
  }

  /**
   * The name of a rule whose sentences are values that the document accepts, though not always all of them. Throws 400
   * `invalid_value` with the dotted path of a keyword that cannot be enforced.
   */
  compile(): string {
    return this.#reference('#', this.#path);
  }

  #expression(schema: unknown, path: string, depth: number): string {
    if (depth > MAX_DEPTH) throw invalidValue(path, `is nested deeper than ${MAX_DEPTH} levels`);
    if (schema === true) return this.#builder.json('value');
    if (!isSchema(schema)) throw invalidValue(path, schema === false ? 'accepts nothing' : 'must be a JSON schema');
    if (typeof schema['$ref'] === 'string') {
      this.#allow(schema, ['$ref'], path);
      return this.#reference(schema['$ref'], `${path}.$ref`);
    }
    if ('const' in schema) return this.#oneOfValues(schema, 'const', [schema['const']], path);
    if (Array.isArray(schema['enum'])) return this.#oneOfValues(schema, 'enum', schema['enum'], path);
    const branches = this.#branches(schema);
    if (branches !== null) {
      this.#allow(schema, [branches.keyword, 'type'], path);
      const parts = branches.schemas.map((branch, i) =>
        this.#expression(withType(branch, schema['type'], path), `${path}.${branches.keyword}.${i}`, depth + 1),
      );
      return this.#rule('choice', parts.join(' | '), path);
    }
    return this.#typed(schema, path, depth);
  }

  #branches(schema: Schema): { keyword: string; schemas: unknown[] } | null {
    const { anyOf, allOf, oneOf } = schema as Record<string, unknown>;
    if (Array.isArray(anyOf) && anyOf.length > 0) return { keyword: 'anyOf', schemas: anyOf };
    if (Array.isArray(allOf) && allOf.length === 1) return { keyword: 'allOf', schemas: allOf };
    if (Array.isArray(oneOf) && oneOf.length === 1) return { keyword: 'oneOf', schemas: oneOf };
    return null;
  }

  /** Refuses every keyword that is neither allowed here nor an annotation. */
  #allow(schema: Schema, allowed: readonly string[], path: string): void {
    for (const [keyword, value] of Object.entries(schema)) {
      if (ANNOTATIONS.has(keyword) || keyword.startsWith('x-') || allowed.includes(keyword)) continue;
      if (value === undefined || (value === false && ASK_NOTHING_WHEN_FALSE.has(keyword))) continue;
      throw invalidValue(`${path}.${keyword}`, 'is not supported: what it asks for cannot be enforced');
    }
  }

  #rule(kind: string, body: string, path: string): string {
    return this.#builder.define(this.#builder.freshName(kind), body, path);
  }

  #reference(pointer: string, path: string): string {
    const known = this.#references.get(pointer);
    if (known !== undefined) return known;
    const name = this.#builder.freshName('ref');
    // Known before it is compiled, so that a schema may refer to itself.
    this.#references.set(pointer, name);
    const body = this.#expression(this.#lookUp(pointer, path), pointer === '#' ? this.#path : this.#pathOf(pointer), 0);
    return this.#builder.define(name, body, path);
  }

  #pathOf(pointer: string): string {
    return `${this.#path}.${pointer.slice(2).split('/').map(unescapePointer).join('.')}`;
  }

  #lookUp(pointer: string, path: string): unknown {
    if (pointer === '#') return this.#root;
    if (!pointer.startsWith('#/')) throw invalidValue(path, "must refer into its own schema, such as '#/$defs/name'");
    let found = this.#root;
    for (const step of pointer.slice(2).split('/').map(unescapePointer)) {
      const here: unknown = found;
      found =
        typeof here === 'object' && here !== null && Object.hasOwn(here, step) ? (here as Schema)[step] : undefined;
    }
    if (found === undefined) throw invalidValue(path, 'refers to a schema that does not exist');
    return found;
  }

  #oneOfValues(schema: Schema, keyword: string, values: readonly unknown[], path: string): string {
    this.#allow(schema, [keyword, 'type'], path);
    const types = typesOf(schema['type']);
    const fitting = values.filter((value) => types === null || types.some((type) => hasType(value, type)));
    if (fitting.length === 0) throw invalidValue(`${path}.${keyword}`, 'accepts nothing');
    const texts = fitting.map((value) => JSON.stringify(value));
    return this.#rule('one', oneOf(texts), path);
  }

  #typed(schema: Schema, path: string, depth: number): string {
    const types = typesOf(schema['type']) ?? impliedTypes(schema);
    if (types?.some((type) => !TYPES.includes(type)) === true) {
      throw invalidValue(`${path}.type`, 'must name JSON types');
    }
    const all = TYPES.flatMap((type) => KEYWORDS[type]);
    const acting = types === null ? [] : types.flatMap((type) => KEYWORDS[type]);
    // A keyword of another type says nothing about these values; one that is in no list cannot be enforced.
    this.#allow(schema, ['type', ...acting, ...all], path);
    if (types === null) return this.#builder.json('value');
    const parts = types.map((type) => this.#ofType(type, schema, path, depth));
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : this.#rule('any', parts.join(' | '), path);
  }

  #ofType(type: JsonType, schema: Schema, path: string, depth: number): string {
    if (type === 'object') return this.#object(schema, path, depth);
    if (type === 'array') return this.#array(schema, path, depth);
    if (type === 'string') return this.#string(schema, path);
    if (type === 'number' || type === 'integer') return this.#number(type, schema, path);
    return this.#builder.json(type);
  }

  #object(schema: Schema, path: string, depth: number): string {
    const properties = isSchema(schema['properties']) ? schema['properties'] : {};
    const required = Array.isArray(schema['required']) ? schema['required'].map(String) : [];
    const extra = schema['additionalProperties'];
    const ws = this.#builder.json('ws');
    const names = Object.keys(properties).filter((name) => properties[name] !== false);
    for (const name of required) {
      if (names.includes(name)) continue;
      if (extra === false || properties[name] === false)
        throw invalidValue(`${path}.required`, `asks for '${name}', which is not allowed`);
      names.push(name);
    }
    if (names.length === 0) return this.#openObject(extra, path, depth);
    const members = names.map((name) => {
      const own = Object.hasOwn(properties, name);
      const value = this.#expression(
        own ? properties[name] : (extra ?? true),
        `${path}.${own ? `properties.${name}` : 'additionalProperties'}`,
        depth + 1,
      );
      const body = `${literal(JSON.stringify(name))} ":" ${this.#builder.json('sp')} ${value}`;
      return { rule: this.#rule('member', body, path), required: required.includes(name) };
    });
    return this.#rule('object', `"{" ${ws} ${this.#members(members, path)} ${ws} "}"`, path);
  }

  /** Members in their order, commas between those that are there: one rule a member and position, so size is linear. */
  #members(members: readonly { rule: string; required: boolean }[], path: string): string {
    let afterOne = '""';
    let atStart = '""';
    for (const member of members.toReversed()) {
      const more = `"," ${this.#builder.json('ws')} ${member.rule} ${afterOne}`;
      const first = `${member.rule} ${afterOne}`;
      const nextStart = this.#rule('first', member.required ? first : `${first} | ${atStart}`, path);
      afterOne = this.#rule('more', member.required ? more : `${more} | ${afterOne}`, path);
      atStart = nextStart;
    }
    return atStart;
  }

  #openObject(extra: unknown, path: string, depth: number): string {
    const ws = this.#builder.json('ws');
    if (extra === false) return this.#rule('empty', `"{" ${ws} "}"`, path);
    if (extra === undefined || extra === true) return this.#builder.json('object');
    const value = this.#expression(extra, `${path}.additionalProperties`, depth + 1);
    const member = this.#rule(
      'member',
      `${this.#builder.json('string')} ":" ${this.#builder.json('sp')} ${value}`,
      path,
    );
    return this.#rule('map', `"{" ${ws} (${member} ("," ${ws} ${member})* ${ws})? "}"`, path);
  }

  #array(schema: Schema, path: string, depth: number): string {
    const ws = this.#builder.json('ws');
    const { least, most } = this.#bounds(schema, 'minItems', 'maxItems', path);
    if (most === 0 || schema['items'] === false) {
      if (least > 0) throw invalidValue(`${path}.minItems`, 'asks for more items than are allowed');
      return this.#rule('empty', `"[" ${ws} "]"`, path);
    }
    const item = this.#expression(schema['items'] ?? true, `${path}.items`, depth + 1);
    const rest = `("," ${ws} ${item}){${Math.max(0, least - 1)},${most === null ? '' : most - 1}}`;
    const items = `${item} ${rest} ${ws}`;
    return this.#rule('array', `"[" ${ws} ${least === 0 ? `(${items})?` : items} "]"`, path);
  }

  #string(schema: Schema, path: string): string {
    const format = schema['format'];
    if (format !== undefined) {
      const body = typeof format === 'string' ? formatBody(format) : null;
      if (body === null)
        throw invalidValue(`${path}.format`, `is not supported: '${String(format)}' cannot be enforced`);
      this.#allow(
        schema,
        ['type', 'format', ...KEYWORDS.number, ...KEYWORDS.object, ...KEYWORDS.array, 'multipleOf'],
        path,
      );
      return this.#rule('format', `"\\"" ${body} "\\""`, path);
    }
    if (schema['minLength'] === undefined && schema['maxLength'] === undefined) return this.#builder.json('string');
    const { least, most } = this.#bounds(schema, 'minLength', 'maxLength', path);
    return this.#rule('text', `"\\"" ${this.#builder.json('char')}{${least},${most ?? ''}} "\\""`, path);
  }

  #bounds(schema: Schema, low: string, high: string, path: string): { least: number; most: number | null } {
    const read = (keyword: string): number | null => {
      const bound = schema[keyword];
      if (bound === undefined) return null;
      if (typeof bound !== 'number' || !Number.isInteger(bound) || bound < 0)
        throw invalidValue(`${path}.${keyword}`, 'must be a whole number');
      if (bound > MAX_REPEAT) throw invalidValue(`${path}.${keyword}`, `is not supported beyond ${MAX_REPEAT}`);
      return bound;
    };
    const [least, most] = [read(low) ?? 0, read(high)];
    if (most !== null && least > most) throw invalidValue(`${path}.${low}`, `is larger than '${high}'`);
    return { least, most };
  }

  #number(type: 'number' | 'integer', schema: Schema, path: string): string {
    const step = schema['multipleOf'];
    if (step !== undefined && !(type === 'integer' && step === 1)) {
      throw invalidValue(`${path}.multipleOf`, 'is not supported: what it asks for cannot be enforced');
    }
    const range = rangeOf(schema, path);
    if (range.minimum === null && range.maximum === null) return this.#builder.json(type);
    const body = type === 'integer' ? integersIn(range) : numbersIn(range);
    if (body === null) throw invalidValue(path, 'has bounds between which no number can be written');
    return this.#rule(type, body, path);
  }
}

const unescapePointer = (step: string): string => decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');

function formatBody(format: string): string | null {
  if (format === 'date-time') return `${FORMATS['date']} "T" ${FORMATS['time']}`;
  return Object.hasOwn(FORMATS, format) ? (FORMATS[format] ?? null) : null;
}

function typesOf(type: unknown): JsonType[] | null {
  if (type === undefined) return null;
  return (Array.isArray(type) ? type : [type]) as JsonType[];
}

/** A branch of `anyOf` also has the type that stands beside it. */
function withType(branch: unknown, type: unknown, path: string): unknown {
  if (type === undefined || !isSchema(branch)) return branch;
  if (branch['type'] === undefined && branch['$ref'] === undefined) return { ...branch, type };
  const outer = typesOf(type) ?? [];
  const inner = typesOf(branch['type']);
  if (inner?.every((one) => outer.includes(one)) === true) return branch;
  throw invalidValue(`${path}.type`, 'is not supported beside branches of other types');
}

/** The type that a schema without one speaks of. Values of other types would be valid too; they are not made. */
function impliedTypes(schema: Schema): JsonType[] | null {
  const order: JsonType[] = ['object', 'array', 'string', 'number'];
  const found = order.filter((type) => KEYWORDS[type].some((keyword) => keyword in schema));
  return found[0] === undefined ? null : [found[0]];
}

function hasType(value: unknown, type: JsonType): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'object') return isSchema(value);
  return typeof value === type;
}

/** The tighter of the two bounds on each side. */
function rangeOf(schema: Schema, path: string): Range {
  const read = (keyword: string): number | null => {
    const bound = schema[keyword];
    if (bound === undefined) return null;
    if (typeof bound !== 'number' || !Number.isFinite(bound))
      throw invalidValue(`${path}.${keyword}`, 'must be a number');
    return bound;
  };
  const [low, high] = [read('minimum'), read('maximum')];
  const [above, below] = [read('exclusiveMinimum'), read('exclusiveMaximum')];
  const aboveMinimum = above !== null && (low === null || above >= low);
  const belowMaximum = below !== null && (high === null || below <= high);
  return {
    minimum: aboveMinimum ? above : low,
    maximum: belowMaximum ? below : high,
    aboveMinimum,
    belowMaximum,
  };
}
