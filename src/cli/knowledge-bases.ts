import { Option } from 'commander';
import type { ListedDataSource } from '../knowledge-bases/data-sources/schema.ts';
import type { RetrieveResponse } from '../knowledge-bases/retrieval/schema.ts';
import type { KnowledgeBase, ListedKnowledgeBase } from '../knowledge-bases/schema.ts';
import { openApiClient } from './api-client.ts';
import { CliCommand } from './command.ts';
import { requireConfirmation } from './confirm.ts';
import { evaluateCommand } from './evaluate.ts';
import { excerptAround } from './excerpt.ts';
import { requireKnowledgeBase } from './knowledge-base.ts';
import { exportCommand, importCommand } from './knowledge-base-archive.ts';
import { formatCount, formatTable, formatTime, printResult } from './output.ts';
import { parseCount, parseTokens } from './parse-values.ts';

const PATH = '/v1/knowledge-bases';
/** Longest text of a hit that is shown without `--full`. */
const MAX_HIT_CHARACTERS = 300;

/** `quire kb`. */
export function knowledgeBasesCommand(): CliCommand {
  const kb = new CliCommand('kb').description(
    "Create, list, show, search, evaluate, export, import and delete knowledge bases. 'quire ingest' creates and fills them, 'quire sources' connects services.",
  );
  kb.command('create')
    .description('Create an empty knowledge base.')
    .argument('<name>', 'Name')
    .option('--description <text>', 'Description')
    .option('--chunk-size <tokens>', 'Size of chunks (default: 512)', parseCount)
    .option('--chunk-overlap <tokens>', 'Tokens that neighbouring chunks share (default: 64)', parseTokens)
    .addOption(new Option('--chunking <type>', 'Where chunks end').choices(['recursive', 'fixed_size', 'semantic']))
    .jsonOption()
    .examples('kb create Handbook', 'kb create Logs --chunking fixed_size --chunk-size 256 --chunk-overlap 0')
    .action(createBase);
  kb.command('list').description('List the knowledge bases.').jsonOption().action(listBases);
  kb.command('show')
    .summary('Show a knowledge base and its data sources')
    .description('Show a knowledge base, its data sources and when each was synchronized.')
    .argument('<name>', 'Name or id')
    .jsonOption()
    .action(showBase);
  kb.command('search')
    .summary('Search a knowledge base')
    .description('Search a knowledge base, and print the best chunks with their documents and scores.')
    .argument('<name>', 'Name or id')
    .argument('<query...>', 'Words of the query')
    .option('--top <count>', 'Number of results', parseCount, 5)
    .option('--rerank', 'Rerank the results: slower, more precise')
    .option('--full', 'Print the chunks whole')
    .jsonOption()
    .examples('kb search Harbour night bell', 'kb search Harbour --top 3 --json "When does the ferry leave?"')
    .action(searchBase);
  kb.addCommand(evaluateCommand());
  kb.addCommand(exportCommand());
  kb.addCommand(importCommand());
  kb.command('delete')
    .summary('Delete a knowledge base with its documents')
    .description('Delete a knowledge base with its documents. Uploaded files stay.')
    .argument('<name>', 'Name or id')
    .option('--yes', 'Delete without asking')
    .jsonOption()
    .action(deleteBase);
  return kb;
}

interface CreateOptions {
  description?: string;
  chunkSize?: number;
  chunkOverlap?: number;
  chunking?: string;
  json?: boolean;
}

async function createBase(name: string, options: CreateOptions): Promise<void> {
  const { description, chunkSize, chunkOverlap, chunking } = options;
  const strategy = { type: chunking, chunk_size: chunkSize, chunk_overlap: chunkOverlap };
  const hasStrategy = Object.values(strategy).some((value) => value !== undefined);
  const body = { name, description, ...(hasStrategy && { chunking_strategy: strategy }) };
  const base = await (await openApiClient()).json<KnowledgeBase>('POST', PATH, body);
  printResult(
    options,
    base,
    () => `Created '${base.name}' (${base.id}). Fill it: quire ingest FOLDER --kb '${base.name}'`,
  );
}

async function listBases(options: { json?: boolean }): Promise<void> {
  const bases = await Array.fromAsync((await openApiClient()).list<ListedKnowledgeBase>(PATH));
  const rows = bases.map((base) => [
    base.name,
    String(base.document_count),
    String(base.chunk_count),
    base.status,
    formatTime(base.updated_at),
    base.id,
  ]);
  printResult(options, bases, () =>
    rows.length === 0
      ? 'There are no knowledge bases. Create one: quire ingest FOLDER --kb NAME, or quire kb create NAME'
      : formatTable([['NAME', 'DOCUMENTS', 'CHUNKS', 'STATUS', 'CHANGED', 'ID'], ...rows]),
  );
}

async function showBase(name: string, options: { json?: boolean }): Promise<void> {
  const api = await openApiClient();
  const { id } = await requireKnowledgeBase(api, name);
  const base = await api.json<KnowledgeBase>('GET', `${PATH}/${id}`);
  const sources = await Array.fromAsync(api.list<ListedDataSource>(`${PATH}/${id}/data-sources`));
  const { type, chunk_size, chunk_overlap } = base.chunking_strategy;
  printResult(options, { ...base, data_sources: sources }, () =>
    [
      formatTable([
        ['Name', base.name],
        ['Id', base.id],
        ['Status', base.status],
        ['Documents', String(base.document_count)],
        ['Chunks', `${base.chunk_count} (${type}, ${chunk_size} tokens, ${chunk_overlap} overlap)`],
        ['Embedding model', base.embedding_model],
        ['Created', `${formatTime(base.created_at)} UTC`],
        ['Changed', `${formatTime(base.updated_at)} UTC`],
      ]),
      '',
      sources.length === 0
        ? 'No data sources.'
        : formatTable([
            ['DATA SOURCE', 'TYPE', 'STATUS', 'SYNCHRONIZED', 'ID'],
            ...sources.map((one) => [one.name, one.type, one.status, formatTime(one.last_synced_at ?? null), one.id]),
          ]),
    ].join('\n'),
  );
}

interface SearchOptions {
  top: number;
  rerank?: boolean;
  full?: boolean;
  json?: boolean;
}

async function searchBase(name: string, words: readonly string[], { top, rerank, full, ...options }: SearchOptions) {
  const api = await openApiClient();
  const { id } = await requireKnowledgeBase(api, name);
  const query = { query: words.join(' '), top_k: top, ...(rerank && { rerank }) };
  const response = await api.json<RetrieveResponse>('POST', `${PATH}/${id}/retrieve`, query);
  const shorten = (text: string) => {
    return full ? text : excerptAround(text, query.query, MAX_HIT_CHARACTERS);
  };
  printResult(options, response, () =>
    response.results.length === 0
      ? `Nothing found in '${name}'.`
      : response.results
          .map((hit) => `${hit.document_name} (score ${hit.score.toFixed(2)})\n  ${shorten(hit.text)}`)
          .join('\n\n'),
  );
}

async function deleteBase(name: string, { yes, ...options }: { yes?: boolean; json?: boolean }): Promise<void> {
  const api = await openApiClient();
  const { id } = await requireKnowledgeBase(api, name);
  const base = await api.json<KnowledgeBase>('GET', `${PATH}/${id}`);
  const documents = formatCount(base.document_count, 'document');
  await requireConfirmation(yes, `This deletes the knowledge base '${base.name}' with ${documents}.`);
  const deleted = await api.json<{ id: string }>('DELETE', `${PATH}/${id}`);
  printResult(options, deleted, () => `Deleted '${base.name}' (${id}).`);
}
