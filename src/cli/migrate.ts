import { loadOpenAiAccount } from '../config/client-config.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { openApiClient } from './api-client.ts';
import { CliCommand } from './command.ts';
import { runInterruptible } from './interrupted.ts';
import type { ImportedStore } from './migrate/import-stores.ts';
import { formatCount, printResult } from './output.ts';
import { StatusLine } from './status-line.ts';

/** `quire migrate`. */
export function migrateCommand(): CliCommand {
  const group = new CliCommand('migrate').description('Import documents from another service.');
  group
    .command('openai')
    .description(
      'Import vector stores and their files from an account of OpenAI: that of OPENAI_API_KEY. May be repeated: files that are here are not read again.',
    )
    .argument('[stores...]', 'Ids of the vector stores (default: all)')
    .jsonOption()
    .examples('migrate openai', 'migrate openai vs_abc123')
    .action(migrateOpenAi);
  return group;
}

async function migrateOpenAi(ids: readonly string[], options: { json?: boolean }) {
  const source = loadOpenAiAccount();
  if (source.apiKey === null) throw new OperatorError('Set OPENAI_API_KEY to a key of the account to import from.');
  const { apiKey, baseUrl } = source;
  const api = await openApiClient();
  const [{ OpenAiAccount }, { importStores }] = await Promise.all([
    import('./migrate/openai-account.ts'),
    import('./migrate/import-stores.ts'),
  ]);
  const line = new StatusLine(process.stderr);
  const stores = await runInterruptible((signal) =>
    importStores({ account: new OpenAiAccount({ apiKey, baseUrl }, signal), api, signal }, ids, line),
  ).finally(() => line.end());
  printResult(options, { stores }, () => stores.map(formatStore).join('\n') || 'The account has no vector stores.');
  const failed = stores.reduce((sum, store) => sum + store.failed.length, 0);
  if (failed > 0) throw new OperatorError(`${formatCount(failed, 'file')} could not be imported.`);
}

function formatStore({ name, id, from, skipped, originals, texts, present, failed }: ImportedStore): string {
  if (skipped !== null) return `Skipped '${name}' (${from}): ${skipped}.`;
  const counts = [
    ...(originals > 0 ? [`${formatCount(originals, 'file')} imported`] : []),
    ...(texts > 0 ? [`${formatCount(texts, 'file')} imported as text`] : []),
    ...(present > 0 ? [`${present} imported before`] : []),
    ...(failed.length > 0 ? [`${failed.length} failed`] : []),
  ];
  return [
    `'${name}' is ${id}: ${counts.join(', ') || 'no files'}.`,
    ...failed.map(({ file, message }) => `Failed: ${file}: ${message}`),
  ].join('\n');
}
