/**
 * The two steps of an online migration. `expand`: the previous version works on the changed tables, and the statement
 * holds its locks for milliseconds. `contract`: the previous version may fail, or a lock may be held for long.
 */
export type MigrationPhase = 'expand' | 'contract';

/** A statement of a migration, and why an expand migration must not contain it; null when it may. */
export interface ClassifiedStatement {
  statement: string;
  contractReason: string | null;
}

/** Comments, strings, dollar-quoted bodies and quoted identifiers, which may contain any text. */
const QUOTED = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|\$(\w*)\$[\s\S]*?\$\1\$|"(?:[^"]|"")*"/g;
const TABLE = '(?:only )?(?:if (?:not )?exists )?(?:"?public"?\\.)?"?([\\w$]+)"?';
const CREATE_TABLE = new RegExp(`^create (?:unlogged )?table ${TABLE} \\(`);
const ALTER_TABLE = new RegExp(`^alter table ${TABLE} (.+)$`);
/** The table of a statement that needs a table of its own migration. */
const ON_NEW_TABLE = [
  new RegExp(`^create (?:unique )?index .* on ${TABLE} `),
  new RegExp(`^create trigger .* on ${TABLE} `),
  new RegExp(`^insert into ${TABLE} `),
];
/** Statements without effect on the tables of the previous version. */
const NEW_OBJECT = /^(?:create (?:function|schema|sequence|type) |comment on )/;
/** Built without a lock that blocks writes. A unique index may reject rows of the previous version. */
const CONCURRENT_INDEX = /^create (unique )?index concurrently (?:if not exists )?"?([\w$]+)"? /;
const ADD_COLUMN = /^add column (?:if not exists )?"?[\w$]+"? (.*)$/;
/** PostgreSQL stores a constant default once; any other default rewrites the table. Strings are emptied before. */
const CONSTANT_DEFAULT = /\bdefault (?:''|-?[\d.]+|true|false|null|now\(\))(?:::[\w ]+(?:\[\])?)?(?= not null| null|$)/;
const COLUMN_CONSTRAINT = /\b(?:references|unique|primary|check|generated|serial|bigserial|collate|constraint)\b/;
const RELAXED_COLUMN = /^alter column "?[\w$]+"? (?:set default .*|drop not null)$/;

/** Classifies the statements of a migration. A statement of an unknown form is a contract step. */
export function classifyStatements(sql: string): ClassifiedStatement[] {
  const newTables = new Set<string>();
  return splitStatements(sql).map((statement) => {
    const created = CREATE_TABLE.exec(statement)?.[1];
    if (created !== undefined) newTables.add(created);
    return { statement, contractReason: contractReason(statement, newTables) };
  });
}

/** Returns the phase of a migration: `contract` if one of its statements is a contract step. */
export const migrationPhase = (sql: string): MigrationPhase =>
  classifyStatements(sql).some((each) => each.contractReason !== null) ? 'contract' : 'expand';

/**
 * Returns the names of the indexes that a migration creates concurrently, which no transaction may contain. Empty when
 * it creates none. Throws unless each part of such a migration is one of these statements, which can be repeated.
 */
export function concurrentIndexes(parts: readonly string[]): string[] {
  const names = parts.flatMap(splitStatements).map((statement) => CONCURRENT_INDEX.exec(statement)?.[2]);
  const indexes = names.filter((name) => name !== undefined);
  if (indexes.length > 0 && (indexes.length < names.length || indexes.length !== parts.length)) {
    throw new Error("a migration with 'create index concurrently' must have no other statements, and breakpoints");
  }
  return indexes;
}

/** Splits SQL into statements: lower case, single spaces, strings empty, no comments. */
function splitStatements(sql: string): string[] {
  const plain = sql.replace(QUOTED, (part) => {
    if (part.startsWith('"')) return part.replaceAll(/[;,()]/g, '_');
    if (part.startsWith('$')) return '$$';
    return part.startsWith("'") ? "''" : ' ';
  });
  return plain
    .split(';')
    .map((statement) => statement.toLowerCase().replaceAll(/\s+/g, ' ').trim())
    .filter((statement) => statement !== '');
}

function contractReason(statement: string, newTables: ReadonlySet<string>): string | null {
  if (CREATE_TABLE.test(statement) || NEW_OBJECT.test(statement)) return null;
  const concurrent = CONCURRENT_INDEX.exec(statement);
  if (concurrent !== null) return concurrent[1] === undefined ? null : 'a unique index may reject rows';
  for (const pattern of ON_NEW_TABLE) {
    const table = pattern.exec(statement)?.[1];
    if (table !== undefined && newTables.has(table)) return null;
  }
  const [, table, actions] = ALTER_TABLE.exec(statement) ?? [];
  if (table !== undefined && newTables.has(table)) return null;
  if (actions !== undefined)
    return (
      splitActions(actions)
        .map(actionReason)
        .find((reason) => reason !== null) ?? null
    );
  if (/^create (unique )?index/.test(statement)) return "blocks writes: use 'create index concurrently'";
  return 'not among the statements that the previous version tolerates';
}

function actionReason(action: string): string | null {
  const definition = ADD_COLUMN.exec(action)?.[1];
  if (definition === undefined) {
    return RELAXED_COLUMN.test(action) ? null : 'not among the changes of a table that the previous version tolerates';
  }
  if (COLUMN_CONSTRAINT.test(definition)) return 'a constraint of a column scans the table, or rejects rows';
  const hasDefault = /\bdefault\b/.test(definition);
  if (hasDefault && !CONSTANT_DEFAULT.test(definition)) return 'a default that is not a constant rewrites the table';
  if (!hasDefault && definition.includes('not null')) return 'the previous version writes no value: add a default';
  return null;
}

/** Splits the actions of `alter table` at commas outside parentheses. */
function splitActions(actions: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const character of actions) {
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
    if (character === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += character;
  }
  return parts.map((part) => part.trim());
}
