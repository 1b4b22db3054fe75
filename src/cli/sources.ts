import { readFileSync } from 'node:fs';
import { InvalidArgumentError, Option } from 'commander';
import { DATA_SOURCE_TYPES } from '../connectors/source-types.ts';
import type { DataSource, ListedDataSource } from '../knowledge-bases/data-sources/schema.ts';
import { isRecord, parseJson } from '../lib/json.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { type ApiClient, openApiClient } from './api-client.ts';
import { CliCommand } from './command.ts';
import { requireConfirmation } from './confirm.ts';
import { requireKnowledgeBase } from './knowledge-base.ts';
import { formatCount, formatTable, formatTime, printResult } from './output.ts';

/** `quire sources`. */
export function sourcesCommand(): CliCommand {
  const sources = new CliCommand('sources').description(
    'Connect a knowledge base with web sites, object stores and wikis, whose documents it then follows.',
  );
  sources
    .command('list')
    .description('List the data sources of a knowledge base.')
    .argument('<kb>', 'Name or id of the knowledge base')
    .jsonOption()
    .action(listSources);
  sources
    .command('add')
    .summary('Add a data source and synchronize it')
    .description('Add a data source. Its first synchronization starts at once.')
    .argument('<kb>', 'Name or id of the knowledge base')
    .addOption(new Option('--type <type>', 'Kind of service').choices([...DATA_SOURCE_TYPES]).makeOptionMandatory())
    .requiredOption(
      '--config <json>',
      'Configuration as JSON, or @FILE to read it, such as one with credentials',
      parseConfig,
    )
    .option('--name <text>', 'Display name')
    .jsonOption()
    .examples(
      `sources add Manual --type web_crawl --config '{"urls": ["https://docs.example.com/"]}'`,
      'sources add Wiki --type confluence --name Engineering --config @confluence.json',
    )
    .action(addSource);
  sources
    .command('sync')
    .summary('Synchronize a data source now')
    .description('Synchronize a data source now. A synchronization that runs already is shown instead.')
    .argument('<kb>', 'Name or id of the knowledge base')
    .argument('<source>', 'Name or id of the data source')
    .jsonOption()
    .action(syncSource);
  sources
    .command('delete')
    .summary('Delete a data source with its documents')
    .description('Delete a data source and the documents that came from it.')
    .argument('<kb>', 'Name or id of the knowledge base')
    .argument('<source>', 'Name or id of the data source')
    .option('--yes', 'Delete without asking')
    .jsonOption()
    .action(deleteSource);
  return sources;
}

/** Parses a configuration, which `@FILE` reads from a file: credentials stay out of the history of the shell. */
function parseConfig(text: string): Record<string, unknown> {
  const config = parseJson(text.startsWith('@') ? readConfigFile(text.slice(1)) : text);
  if (!isRecord(config)) throw new InvalidArgumentError('Expected a JSON object.');
  return config;
}

function readConfigFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new InvalidArgumentError(`The file cannot be read: ${(error as Error).message}.`);
  }
}

const sourcesPath = (knowledgeBaseId: string): string => `/v1/knowledge-bases/${knowledgeBaseId}/data-sources`;

async function listSources(kb: string, options: { json?: boolean }): Promise<void> {
  const api = await openApiClient();
  const { id, name } = await requireKnowledgeBase(api, kb);
  const sources = await Array.fromAsync(api.list<ListedDataSource>(sourcesPath(id)));
  printResult(options, sources, () =>
    sources.length === 0
      ? `'${name}' has no data sources. Add one: quire sources add '${name}' --type TYPE --config JSON`
      : formatTable([
          ['NAME', 'TYPE', 'STATUS', 'DOCUMENTS', 'SYNCHRONIZED', 'ID'],
          ...sources.map((one) => [
            one.name,
            one.type,
            one.status,
            String(one.document_count),
            formatTime(one.last_synced_at ?? null),
            one.id,
          ]),
        ]),
  );
}

interface AddOptions {
  type: string;
  config: Record<string, unknown>;
  name?: string;
  json?: boolean;
}

async function addSource(kb: string, { type, config, name, ...options }: AddOptions): Promise<void> {
  const api = await openApiClient();
  const base = await requireKnowledgeBase(api, kb);
  const source = await api.json<DataSource>('POST', sourcesPath(base.id), { type, config, ...(name && { name }) });
  printResult(
    options,
    source,
    () => `Added '${source.name}' (${source.id}). See its state: quire sources list '${base.name}'`,
  );
}

async function syncSource(kb: string, source: string, options: { json?: boolean }): Promise<void> {
  const api = await openApiClient();
  const base = await requireKnowledgeBase(api, kb);
  const { id, name } = await requireSource(api, base, source);
  const job = await api.json<{ id: string; status: string }>('POST', `${sourcesPath(base.id)}/${id}/sync`);
  printResult(options, job, () => `Synchronizing '${name}': job ${job.id}, ${job.status}.`);
}

async function deleteSource(kb: string, source: string, { yes, ...options }: { yes?: boolean; json?: boolean }) {
  const api = await openApiClient();
  const base = await requireKnowledgeBase(api, kb);
  const { id, name, document_count } = await requireSource(api, base, source);
  const documents = formatCount(document_count, 'document');
  await requireConfirmation(yes, `This deletes the data source '${name}' with ${documents} of '${base.name}'.`);
  const deleted = await api.json<{ id: string }>('DELETE', `${sourcesPath(base.id)}/${id}`);
  printResult(options, deleted, () => `Deleted '${name}' (${id}).`);
}

/** Finds a data source by id or name. Throws an `OperatorError` when none matches, or several have the name. */
async function requireSource(
  api: ApiClient,
  base: { id: string; name: string },
  idOrName: string,
): Promise<ListedDataSource> {
  const sources = await Array.fromAsync(api.list<ListedDataSource>(sourcesPath(base.id)));
  const matches = sources.filter(({ id, name }) => id === idOrName || name === idOrName);
  if (matches.length > 1) throw new OperatorError(`Several data sources are named '${idOrName}': use the id instead.`);
  if (matches[0] !== undefined) return matches[0];
  throw new OperatorError(`'${base.name}' has no data source '${idOrName}'. 'quire sources list' shows all.`);
}
