import { UnsupportedSchemaError } from '../unsupported-schema-error.ts';
import type { SchemaDocument } from './document.ts';
import {
  isSchema,
  JSON_TYPES,
  type JsonType,
  type Located,
  listedValues,
  notEnforced,
  requireSupportedKeywords,
  type Schema,
  type SchemaPart,
  TYPE_KEYWORDS,
} from './keywords.ts';
import { negate } from './negate.ts';

/** Maximum cases per schema: `anyOf` within `allOf` multiplies them, and a sampler follows all open ones. */
const MAX_CASES = 64;
/** Maximum schemas examined per document. */
const MAX_WORK = 50_000;
/** Maximum branches of one `oneOf`: they are compared pairwise. */
const MAX_ONE_OF = 100;

/** Alternatives, each a set of schemas that must all hold. */
interface Choice {
  branches: readonly (readonly Located[])[];
  /** Enclosing schemas: a branch that leads back to one of them is circular. */
  from: ReadonlySet<Schema>;
}

/** Conjunction of constraints, resolved where possible. */
interface State {
  parts: Map<Schema, SchemaPart>;
  choices: Choice[];
}

/** A conjunction of parts. Empty: accepts everything. */
export type Case = readonly SchemaPart[];

/** Converts schemas to disjunctive normal form: cases without `$ref`, `allOf`, `anyOf` and the like. */
export class CaseFinder {
  readonly #document: SchemaDocument;
  readonly #possible: (one: Case) => boolean;
  readonly #choices = new Map<Schema, Omit<Choice, 'from'>[]>();
  #work = 0;

  /** `possible` returns false for a case that certainly accepts nothing. */
  constructor(document: SchemaDocument, possible: (one: Case) => boolean) {
    this.#document = document;
    this.#possible = possible;
  }

  /**
   * Returns the cases of schemas that must all hold: a value is accepted when one case accepts it. Throws for a
   * keyword that cannot be enforced.
   */
  casesOf(schemas: readonly Located[]): Case[] {
    const start: State = { parts: new Map(), choices: [] };
    const cases: Case[] = [];
    if (schemas.every((one) => this.#add(start, one, new Set()))) this.#distribute(start, cases);
    return cases;
  }

  #spend(path: string): void {
    this.#work += 1;
    if (this.#work > MAX_WORK) throw new UnsupportedSchemaError(path, 'is too large to be enforced');
  }

  /** Adds a schema to the constraints; false when nothing can satisfy them. */
  #add(state: State, { schema, path }: Located, from: ReadonlySet<Schema>): boolean {
    this.#spend(path);
    if (schema === true) return true;
    if (schema === false) return false;
    if (!isSchema(schema)) throw new UnsupportedSchemaError(path, 'must be a JSON schema');
    if (from.has(schema)) throw new UnsupportedSchemaError(path, 'refers to itself without end');
    if (state.parts.has(schema)) return true;
    requireSupportedKeywords({ schema, path });
    state.parts.set(schema, { schema, path });
    const inside = new Set([...from, schema]);
    for (const choice of this.#choicesOf({ schema, path })) state.choices.push({ ...choice, from: inside });
    return this.#allOf({ schema, path }).every((one) => this.#add(state, one, inside));
  }

  /** Schemas that a schema implies. */
  #allOf({ schema, path }: SchemaPart): Located[] {
    const all = Array.isArray(schema['allOf']) ? schema['allOf'] : [];
    const located = all.map((one, i) => ({ schema: one as unknown, path: `${path}.allOf.${i}` }));
    const reference = schema['$ref'];
    if (typeof reference === 'string') located.unshift(this.#document.resolve(reference, schema, `${path}.$ref`));
    return located;
  }

  #distribute({ parts, choices }: State, found: Case[]): void {
    const all = [...parts.values()];
    if (!this.#possible(all)) return;
    const [choice, ...rest] = choices;
    if (choice === undefined) {
      found.push(all.filter(({ schema }) => Reflect.ownKeys(schema).length > 0));
      if (found.length > MAX_CASES)
        throw new UnsupportedSchemaError(all[0]?.path ?? this.#document.root.path, 'is too large to be enforced');
      return;
    }
    for (const branch of choice.branches) {
      const next: State = { parts: new Map(parts), choices: [...rest] };
      if (branch.every((one) => this.#add(next, one, choice.from))) this.#distribute(next, found);
    }
  }

  #choicesOf(part: SchemaPart): Omit<Choice, 'from'>[] {
    const cached = this.#choices.get(part.schema);
    if (cached !== undefined) return cached;
    const { schema, path } = part;
    const combinations: Located[][][] = [];
    if (Array.isArray(schema['anyOf']))
      combinations.push(branchSchemas(schema['anyOf'], `${path}.anyOf`).map((one) => [one]));
    if (Array.isArray(schema['oneOf'])) {
      const loose = branchSchemas(schema['oneOf'], `${path}.oneOf`).map((one) => [one]);
      // While its branches are compared, a recursive `oneOf` is treated like `anyOf`, which accepts no less.
      this.#choices.set(schema, [{ branches: loose }]);
      combinations.push(this.#oneOf(schema['oneOf'], `${path}.oneOf`));
    }
    if (schema['not'] !== undefined) combinations.push(this.#exclusion(part));
    if (schema['if'] !== undefined) combinations.push(this.#conditional(part));
    combinations.push(...dependents(part));
    const choices = combinations.map((branches) => ({ branches }));
    this.#choices.set(schema, choices);
    return choices;
  }

  #negate({ schema, path }: Located): { ways: Located[]; isExact: boolean } {
    const resolve = (from: Schema): unknown =>
      this.#document.resolve(String(from['$ref']), from, `${path}.$ref`).schema;
    const { ways, isExact } = negate(schema, resolve);
    return { ways: ways.map((one) => ({ schema: one, path })), isExact };
  }

  /** Each branch minus the values that other branches accept. */
  #oneOf(schemas: readonly unknown[], path: string): Located[][] {
    const branches = branchSchemas(schemas, path);
    if (branches.length > MAX_ONE_OF) throw notEnforced(path);
    const choices = branches.map((branch) => [branch]);
    // Where a negation is inexact, a branch with nothing left cannot be distinguished.
    const inexact = new Set<number>();
    for (const [i, a] of branches.entries()) {
      for (const [j, b] of branches.entries()) {
        if (j <= i || this.casesOf([a, b]).length === 0) continue;
        const { notA, notB, isExact } = this.#apart(a, b);
        choices[i]?.push(anyOf(notB, path));
        choices[j]?.push(anyOf(notA, path));
        if (!isExact) inexact.add(i).add(j);
      }
    }
    for (const i of inexact)
      if (this.casesOf(choices[i] ?? []).length === 0) throw new UnsupportedSchemaError(path, BRANCHES_OVERLAP);
    return choices;
  }

  /** Schemas that distinguish two branches that may hold together, of which one must hold beside the other branch. */
  #apart(a: Located, b: Located): { notA: Located[]; notB: Located[]; isExact: boolean } {
    const { path } = a;
    const shared = JSON_TYPES.filter((type) => this.casesOf([a, b, { schema: { type }, path }]).length > 0);
    // Values of a type that neither branch constrains satisfy both, so none satisfies only one.
    if (shared.every((type) => [a, b].every((branch) => this.#isSilent(branch, type)))) {
      const others = [{ schema: { type: JSON_TYPES.filter((type) => !shared.includes(type)) }, path }];
      return { notA: others, notB: others, isExact: true };
    }
    const [notA, notB] = [this.#negate(a), this.#negate(b)];
    return { notA: notA.ways, notB: notB.ways, isExact: notA.isExact && notB.isExact };
  }

  #isSilent(branch: Located, type: JsonType): boolean {
    return this.casesOf([branch]).every((parts) =>
      parts.every(
        ({ schema }) =>
          listedValues(schema) === null &&
          schema['type'] === undefined &&
          TYPE_KEYWORDS[type].every((keyword) => schema[keyword] === undefined),
      ),
    );
  }

  /** `not`. An inexact negation excludes more values than the schema, so what it accepts is valid. */
  #exclusion({ schema, path }: SchemaPart): Located[][] {
    const { ways, isExact } = this.#negate({ schema: schema['not'], path: `${path}.not` });
    if (ways.length === 0 && !isExact) throw notEnforced(`${path}.not`);
    return ways.map((way) => [way]);
  }

  /** `if` and `then` hold, or `if` does not hold and `else` does. */
  #conditional({ schema, path }: SchemaPart): Located[][] {
    if (schema['then'] === undefined && schema['else'] === undefined) return [[{ schema: true, path }]];
    const not = this.#negate({ schema: schema['if'], path: `${path}.if` });
    if (!not.isExact) throw notEnforced(`${path}.if`);
    return [
      [
        { schema: schema['if'], path: `${path}.if` },
        { schema: schema['then'] ?? true, path: `${path}.then` },
      ],
      [anyOf(not.ways, `${path}.if`), { schema: schema['else'] ?? true, path: `${path}.else` }],
    ];
  }
}

const BRANCHES_OVERLAP = 'has branches that may hold together, which cannot be enforced';

const branchSchemas = (schemas: readonly unknown[], path: string): Located[] =>
  schemas.map((schema, i) => ({ schema, path: `${path}.${i}` }));

function anyOf(ways: readonly Located[], path: string): Located {
  if (ways.length === 0) return { schema: false, path };
  return ways.length === 1 && ways[0] !== undefined
    ? ways[0]
    : { schema: { anyOf: ways.map((way) => way.schema) }, path };
}

/** `dependentSchemas` and `dependentRequired`: the member is absent, or it is present and the rest holds. */
function dependents({ schema, path }: SchemaPart): Located[][][] {
  return ['dependencies', 'dependentRequired', 'dependentSchemas'].flatMap((keyword) => {
    const map = schema[keyword];
    return Object.entries(isSchema(map) ? map : {}).map(([name, dependents]) => {
      const at = `${path}.${keyword}.${name}`;
      const there = { required: [name, ...(Array.isArray(dependents) ? dependents : [])] };
      const absent = { schema: { properties: { [name]: false } }, path: at };
      return [
        [absent],
        [{ schema: there, path: at }, ...(Array.isArray(dependents) ? [] : [{ schema: dependents, path: at }])],
      ];
    });
  });
}
