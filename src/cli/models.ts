import type { BoundModel } from '../admin/models/schema.ts';
import { loadConfig } from '../config.ts';
import { DOWNLOADABLE_MODELS } from '../models/downloads/downloadable-models.ts';
import { listModelFiles, type ModelFile } from '../models/downloads/model-files.ts';
import { withAdminApi } from './admin-client.ts';
import type { CommandSpec } from './command-spec.ts';
import { formatMegabytes, formatTable, JSON_OPTION, printResult } from './output.ts';

const CHOSEN_BY: Readonly<Record<BoundModel['chosen_by'], string>> = {
  configuration: 'the configuration file',
  environment: 'QUIRE_UPSTREAM_URL',
  command: "'quire models use'",
  'first-start': 'the first start',
  default: '-',
};

/** `quire models list`. */
export const modelsListCommand: CommandSpec = {
  summary: 'List the model ids with their engines, the models on the disk, and the models that can be pulled by name.',
  words: [],
  options: { ...JSON_OPTION },
  action: async (input) => {
    const config = loadConfig();
    const { data: models } = await withAdminApi(
      (api) => api.send<{ data: BoundModel[] }>({ method: 'GET', path: '/v1/admin/models' }),
      { needsModels: true },
    );
    const { models: stored, unfinished } = await listModelFiles(config.dataDir);
    const onDisk = stored.map((model) => viewStored(model, models));
    const available = DOWNLOADABLE_MODELS.map(({ approximateBytes, ...model }) => ({
      ...model,
      approximate_bytes: approximateBytes,
      on_disk: stored.some(({ name }) => name === model.name),
    }));
    printResult(input, { models, on_disk: onDisk, unfinished, available }, () =>
      [
        boundTable(models),
        diskTable(onDisk, unfinished),
        availableTable(available),
        'Download one: quire models pull NAME. Bind it: quire models use ID=NAME.',
      ].join('\n\n'),
    );
  },
};

type DiskModel = ReturnType<typeof viewStored>;

function viewStored({ name, path, bytes, card }: ModelFile, models: readonly BoundModel[]) {
  const boundTo = models.filter((model) => model.stored_model === name).map(({ id }) => id);
  const note = DOWNLOADABLE_MODELS.find((model) => model.name === name)?.note ?? null;
  return { name, path, bytes, bound_to: boundTo, note, ...card };
}

function boundTable(models: readonly BoundModel[]): string {
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
