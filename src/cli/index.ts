import { loadConfig } from '../config.ts';
import { OperatorError } from '../lib/operator-error.ts';
import type { CommandSpec, OptionSpec } from './command-spec.ts';
import type { IndexReport } from './index-commands.ts';
import { formatTable, JSON_OPTION, printResult } from './output.ts';
import { runStateCommand } from './run-state-command.ts';

const KNOWLEDGE_BASE = {
  kb: { type: 'text', help: 'Id of one knowledge base (default: all).' },
} as const satisfies Record<string, OptionSpec>;

/** `quire index check`. */
export const indexCheckCommand: CommandSpec = {
  summary: 'Compare the search index of each knowledge base with the database. Changes nothing.',
  words: [],
  options: { ...KNOWLEDGE_BASE, ...JSON_OPTION },
  action: async (input) => {
    const knowledgeBase = input.options['kb'] ?? null;
    const reports = (await runStateCommand(loadConfig(), 'index check', { knowledgeBase })) as IndexReport[];
    printResult(input, reports, () =>
      reports.length === 0
        ? 'No knowledge base has chunks.'
        : formatTable([
            ['KNOWLEDGE BASE', 'NAME', 'CHUNKS', 'INDEX', 'DETAIL'],
            ...reports.map((row) => [row.knowledge_base, row.name, String(row.chunks), row.state, row.detail]),
          ]),
    );
    const broken = reports.filter(({ state }) => state === 'incomplete' || state === 'unreadable').length;
    if (broken > 0) {
      throw new OperatorError(
        `${broken} of ${reports.length} indexes are not complete. A running service rebuilds them at its next start; 'quire index rebuild --kb ID' does it now.`,
      );
    }
  },
};

/** `quire index rebuild`. */
export const indexRebuildCommand: CommandSpec = {
  summary: 'Rebuild search indexes from the database. Searches are rejected with 503 until an index is complete.',
  words: [],
  options: { ...KNOWLEDGE_BASE, ...JSON_OPTION },
  action: async (input) => {
    const knowledgeBase = input.options['kb'] ?? null;
    const ids = (await runStateCommand(loadConfig(), 'index rebuild', { knowledgeBase })) as string[];
    printResult(
      input,
      ids,
      () => `Marked ${ids.length} for rebuild: ${ids.join(', ')}. The service rebuilds them in the background.`,
    );
  },
};
