import { inspectIndex } from '../knowledge-bases/index-integrity/check-index.ts';
import {
  type IndexedBase,
  markDamaged,
  selectIndexedBase,
  selectIndexedBases,
} from '../knowledge-bases/index-integrity/store.ts';
import { OperatorError } from '../lib/operator-error.ts';
import type { StateCommand, StateDeps } from './state-command.ts';

/** State of one search index, a row of `quire index check`. */
export interface IndexReport {
  knowledge_base: string;
  name: string;
  chunks: number;
  state: 'complete' | 'incomplete' | 'unreadable' | 'rebuilding';
  /** Defects of the index; empty when it is complete. */
  detail: string;
}

/** Knowledge bases per query. */
const PAGE = 100;

/** Commands on search indexes that need the database. */
export const INDEX_COMMANDS: Readonly<Record<string, StateCommand>> = {
  'index check': async (deps, input) => {
    const reports: IndexReport[] = [];
    for await (const base of selectBases(deps, input['knowledgeBase'] as string | null)) {
      reports.push(await report(deps, base));
    }
    return reports;
  },
  'index rebuild': async (deps, input) => {
    const ids: string[] = [];
    for await (const { id } of selectBases(deps, input['knowledgeBase'] as string | null)) {
      await markDamaged(deps.db.sql, id);
      ids.push(id);
    }
    return ids;
  },
};

async function report(deps: StateDeps, { id, name, chunkCount, indexState }: IndexedBase): Promise<IndexReport> {
  const head = { knowledge_base: id, name, chunks: chunkCount };
  if (indexState !== 'ready') return { ...head, state: 'rebuilding', detail: '' };
  const condition = await inspectIndex(deps, id);
  if (condition.state === 'unreadable') return { ...head, state: condition.state, detail: condition.reason };
  if (condition.state === 'complete') return { ...head, state: condition.state, detail: '' };
  return { ...head, state: condition.state, detail: `${condition.documentIds.length} documents lack chunks` };
}

/** The knowledge base with this id or name, or all that have chunks. */
async function* selectBases(deps: StateDeps, idOrName: string | null): AsyncGenerator<IndexedBase, void, undefined> {
  if (idOrName === null) {
    yield* selectAllBases(deps);
    return;
  }
  const byId = await selectIndexedBase(deps.db.sql, idOrName);
  const named =
    byId === null ? (await Array.fromAsync(selectAllBases(deps))).filter(({ name }) => name === idOrName) : [];
  const [base = byId, ...more] = named;
  if (base === null) throw new OperatorError(`There is no knowledge base '${idOrName}' with chunks.`);
  if (more.length > 0)
    throw new OperatorError(
      `Several knowledge bases are named '${idOrName}': ${named.map(({ id }) => id).join(', ')}.`,
    );
  yield base;
}

async function* selectAllBases({ db }: StateDeps): AsyncGenerator<IndexedBase, void, undefined> {
  for (let after = ''; ; ) {
    const bases = await selectIndexedBases(db.sql, after, PAGE);
    const last = bases.at(-1);
    if (last === undefined) return;
    yield* bases;
    after = last.id;
  }
}
