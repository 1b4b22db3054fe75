import { OperatorError } from '../lib/operator-error.ts';
import { CliCommand } from './command.ts';
import type { IndexReport } from './index-commands.ts';
import { formatTable, printResult } from './output.ts';
import { runStateCommand } from './run-state-command.ts';

const KNOWLEDGE_BASE = ['--kb <name>', 'Name or id of one knowledge base (default: all)'] as const;

const READ_ONLY = { isReadOnly: true, needsStores: true };

interface IndexOptions {
  kb?: string;
  json?: boolean;
}

/** `quire index`. */
export function indexCommand(): CliCommand {
  const index = new CliCommand('index').description('Check and rebuild the search indexes of knowledge bases.');
  index
    .command('check')
    .summary('Compare search indexes with the database')
    .description('Compare the search index of each knowledge base with the database. Changes nothing.')
    .option(...KNOWLEDGE_BASE)
    .jsonOption()
    .examples('index check --kb Harbour')
    .action(checkIndexes);
  index
    .command('rebuild')
    .summary('Rebuild search indexes from the database')
    .description('Rebuild search indexes from the database. Searches are rejected with 503 until an index is complete.')
    .option(...KNOWLEDGE_BASE)
    .jsonOption()
    .examples('index rebuild --kb Harbour')
    .action(rebuildIndexes);
  return index;
}

async function checkIndexes({ kb, ...options }: IndexOptions): Promise<void> {
  const reports = (await runStateCommand('index check', { knowledgeBase: kb ?? null }, READ_ONLY)) as IndexReport[];
  printResult(options, reports, () =>
    reports.length === 0
      ? 'No knowledge base has chunks.'
      : formatTable([
          ['KNOWLEDGE BASE', 'NAME', 'CHUNKS', 'INDEX', 'DETAIL'],
          ...reports.map((row) => [row.knowledge_base, row.name, String(row.chunks), row.state, row.detail]),
        ]),
  );
  const broken = reports.filter(({ state }) => state === 'incomplete' || state === 'unreadable').length;
  if (broken === 0) return;
  throw new OperatorError(
    `${broken} of ${reports.length} indexes are not complete. A running service rebuilds them at its next start; 'quire index rebuild --kb NAME' does it now.`,
  );
}

async function rebuildIndexes({ kb, ...options }: IndexOptions): Promise<void> {
  const ids = (await runStateCommand('index rebuild', { knowledgeBase: kb ?? null })) as string[];
  const text = `Marked ${ids.length} for rebuild: ${ids.join(', ')}. The service rebuilds them in the background.`;
  printResult(options, ids, () => text);
}
