import { loadClientConfig } from '../config/client-config.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { suggestSimilar } from '../lib/suggest.ts';
import type { BoundModel } from '../models/administration/schema.ts';
import { DOWNLOADABLE_MODELS, estimateMemory } from '../models/downloads/downloadable-models.ts';
import { listModelFiles, type ModelFile } from '../models/downloads/model-files.ts';
import { ollamaTag } from '../models/downloads/ollama-tags.ts';
import { type AdminClient, withAdminApi } from './admin-client.ts';
import { CliCommand } from './command.ts';
import { parseSha256, parseSource, pullCommand } from './models-pull.ts';
import { pullSet } from './models-pull-set.ts';
import { parseBinding, parseModelName, removeModel, useModel } from './models-use.ts';
import { formatMegabytes, formatTable, printResult } from './output.ts';
import { NoDatabaseError } from './run-state-command.ts';

const CHOSEN_BY: Readonly<Record<BoundModel['chosen_by'], string>> = {
  configuration: 'the configuration file',
  upstream: 'a server of the console',
  environment: 'QUIRE_UPSTREAM_URL',
  command: "'quire models use'",
  'first-start': 'the first start',
  default: '-',
};

/** `quire models`. */
export function modelsCommand(): CliCommand {
  const models = new CliCommand('models').description('List, download, bind and remove models.');
  models
    .command('list')
    .summary('List model ids, models on the disk, and models to pull')
    .description(
      'List the model ids with their engines, the models on the disk, and the models that can be pulled by name.',
    )
    .jsonOption()
    .examples('models list', 'models list --json')
    .action(listModels);
  models
    .command('show')
    .summary('Show a model id, a stored model, or a model to pull')
    .description(
      'Show one model: a model id with its engine, a model on the disk, or a model that can be pulled by name.',
    )
    .argument('<name>', 'Model id, or the name of a model')
    .jsonOption()
    .examples('models show general-8b', 'models show llama-3.1-8b')
    .action(showModel);
  models
    .command('pull')
    .summary('Download a model into the data folder')
    .description('Download a model into the data folder. Resumes an interrupted pull.')
    .argument(
      '<source>',
      "A name of 'quire models list', a tag of Ollama, hf:owner/repository/file.gguf, or the URL of a GGUF",
      parseSource,
    )
    .option('--name <text>', 'Name of the model (default: the file name)')
    .option('--sha256 <digits>', 'Expected SHA-256 (default: the one that the hub states)', parseSha256)
    .jsonOption()
    .examples(
      'models pull qwen2.5-1.5b',
      'models pull llama3.1:8b',
      'models pull hf:Qwen/Qwen2.5-1.5B-Instruct-GGUF/qwen2.5-1.5b-instruct-q4_k_m.gguf',
    )
    .action(pullCommand);
  models
    .command('pull-set')
    .summary('Download and bind a chat model with models for retrieval')
    .description(
      'Download the models that suit this machine where only bundled ones serve: a chat model, an embedding model and a reranker. They are bound in one step when all are complete; knowledge bases are embedded again in the background. If a download fails, nothing is bound, and the same command resumes.',
    )
    .option('--yes', 'Do not ask')
    .jsonOption()
    .examples('models pull-set', 'models pull-set --yes')
    .action(pullSet);
  addBindingCommands(models);
  return models;
}

/** `quire models use` and `remove`. */
function addBindingCommands(models: CliCommand): void {
  models
    .command('use')
    .summary('Bind a model id to a model on the disk')
    .description(
      'Bind a model id to a model on the disk; ID=bundled removes the binding. A running service loads and checks the model first; when that fails, nothing changes.',
    )
    .argument('<id=name>', 'Model id, and the name of a model on the disk', parseBinding)
    .jsonOption()
    .examples('models use general-8b=qwen2.5-1.5b', 'models use general-8b=bundled')
    .action(useModel);
  models
    .command('remove')
    .summary('Delete a model from the disk')
    .description('Delete a model or a partial download from the disk. Fails while a model id is bound to it.')
    .argument('<name>', 'Name of the model', parseModelName)
    .jsonOption()
    .examples('models remove qwen2.5-1.5b')
    .action(removeModel);
}

async function listModels(options: { json?: boolean }): Promise<void> {
  const { dataDir } = await loadClientConfig();
  const models = await fetchBoundModels();
  const { models: stored, unfinished } = await listModelFiles(dataDir);
  const onDisk = stored.map((model) => viewStored(model, models));
  const available = DOWNLOADABLE_MODELS.map(({ approximateBytes, ...model }) => ({
    ...model,
    approximate_bytes: approximateBytes,
    on_disk: stored.some(({ name }) => name === model.name),
  }));
  printResult(options, { models, on_disk: onDisk, unfinished, available }, () =>
    [
      boundTable(models),
      diskTable(onDisk, unfinished),
      availableTable(available),
      'Download one: quire models pull NAME. Bind it: quire models use ID=NAME.',
    ].join('\n\n'),
  );
}

async function showModel(name: string, options: { json?: boolean }): Promise<void> {
  const { dataDir } = await loadClientConfig();
  const bound = await fetchBoundModels();
  const { models: stored } = await listModelFiles(dataDir);
  const id = bound.find((model) => model.id === name);
  const file = stored.find((model) => model.name === name);
  const available = DOWNLOADABLE_MODELS.find((model) => model.name === name);
  if (id !== undefined) return printResult(options, id, () => formatTable(describeBound(id)));
  if (file !== undefined) {
    const model = viewStored(file, bound);
    return printResult(options, model, () => formatTable(describeStored(model)));
  }
  if (available !== undefined) return printResult(options, available, () => formatTable(describeAvailable(available)));
  const names = [
    ...bound,
    ...stored.map((model) => ({ id: model.name })),
    ...DOWNLOADABLE_MODELS.map((model) => ({ id: model.name })),
  ];
  const similar = suggestSimilar(
    name,
    names.map((one) => one.id),
  );
  const suggestion = similar === null ? '' : ` Did you mean '${similar}'?`;
  throw new OperatorError(`There is no model '${name}'.${suggestion} 'quire models list' shows all.`);
}

function describeBound({ id, backend, context_length, capabilities, chosen_by, stored_model }: BoundModel): string[][] {
  const can = Object.entries(capabilities).flatMap(([name, has]) => (has ? name.replaceAll('_', ' ') : []));
  return [
    ['Model id', id],
    ['Served by', backend.model === '' ? 'nothing yet' : `${backend.engine} ${backend.model}`],
    ['State', backend.ready ? 'ready' : 'not ready'],
    ['Parameters', backend.parameters === null ? '-' : backend.parameters.toLocaleString('en-US')],
    ['Context', `${context_length.toLocaleString('en-US')} tokens`],
    ['Capabilities', can.join(', ') || '-'],
    ['Model on the disk', stored_model ?? '-'],
    ['Chosen by', CHOSEN_BY[chosen_by]],
  ];
}

function describeStored(model: DiskModel): string[][] {
  return [
    ['Name', model.name],
    ['File', model.path],
    ['Size', formatMegabytes(model.bytes)],
    ['For', model.use ?? '-'],
    ['Architecture', model.architecture ?? '-'],
    ['Bound to', model.bound_to.join(', ') || `nothing; quire models use ID=${model.name}`],
  ];
}

function describeAvailable(model: (typeof DOWNLOADABLE_MODELS)[number]): string[][] {
  return [
    ['Name', `${model.name} (not on the disk; quire models pull ${model.name})`],
    ['Source', `hf:${model.repo}/${model.file}`],
    ['Ollama tag', ollamaTag(model) ?? '-'],
    ['Size', formatMegabytes(model.approximateBytes)],
    ['Memory', `about ${formatMegabytes(estimateMemory(model))}`],
    ['Parameters', `${model.billions} billion`],
    ['Context', `${model.contextTokens.toLocaleString('en-US')} tokens`],
    ['Licence', model.licence],
    ['For', model.suits.join(', ')],
    ['What to expect', model.note],
  ];
}

/** The model ids with their bindings; none before the first start. */
async function fetchBoundModels(): Promise<BoundModel[]> {
  const needs = { needsModels: true, isReadOnly: true };
  const list = (api: AdminClient) => api.send<{ data: BoundModel[] }>({ method: 'GET', path: '/v1/admin/models' });
  try {
    return (await withAdminApi(list, needs)).data;
  } catch (error) {
    if (error instanceof NoDatabaseError) return [];
    throw error;
  }
}

type DiskModel = ReturnType<typeof viewStored>;

function viewStored({ name, path, bytes, card }: ModelFile, models: readonly BoundModel[]) {
  const boundTo = models.filter((model) => model.stored_model === name).map(({ id }) => id);
  const note = DOWNLOADABLE_MODELS.find((model) => model.name === name)?.note ?? null;
  return { name, path, bytes, bound_to: boundTo, note, ...card };
}

function boundTable(models: readonly BoundModel[]): string {
  if (models.length === 0) return 'No service has been started yet: no model ids are bound.';
  const rows = models.map(({ id, context_length, backend, chosen_by }) => [
    id,
    backend.model === '' ? 'nothing yet' : `${backend.engine} ${backend.model}`,
    String(context_length),
    backend.ready ? 'ready' : 'not ready',
    CHOSEN_BY[chosen_by],
  ]);
  return formatTable([['MODEL', 'SERVED BY', 'CONTEXT', 'STATE', 'CHOSEN BY'], ...rows]);
}

function diskTable(models: readonly DiskModel[], unfinished: readonly { name: string; bytes: number }[]): string {
  if (models.length + unfinished.length === 0) return 'No models are on the disk.';
  const complete = models.map(({ name, bytes, use, architecture, bound_to }) => {
    return [name, formatMegabytes(bytes), use ?? '-', architecture ?? '-', bound_to.join(', ') || '-'];
  });
  const partial = unfinished.map(({ name, bytes }) => [
    name,
    formatMegabytes(bytes),
    'partial download; pull it again to resume',
  ]);
  return formatTable([['ON THE DISK', 'SIZE', 'FOR', 'ARCHITECTURE', 'BOUND TO'], ...complete, ...partial]);
}

function availableTable(
  models: readonly {
    name: string;
    approximate_bytes: number;
    licence: string;
    suits: readonly string[];
    note: string;
  }[],
): string {
  const rows = models.map(({ name, approximate_bytes, licence, suits, note }) => [
    name,
    formatMegabytes(approximate_bytes),
    licence,
    suits[0] ?? '-',
    note,
  ]);
  return formatTable([['TO PULL', 'SIZE', 'LICENCE', 'FOR', 'WHAT TO EXPECT'], ...rows]);
}
