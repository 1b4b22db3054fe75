import type { SourceItem } from '../../connectors/connector.ts';
import { GuardedHttp } from '../../connectors/http/guarded-http.ts';
import { CONNECTORS } from '../../connectors/index.ts';
import { findRow } from '../../db/find-row.ts';
import type { Deps } from '../../deps.ts';
import { invalidValue } from '../../errors.ts';
import { IngestionError } from '../../extraction/ingestion-error.ts';
import { requireFiles } from '../../files/use-file.ts';
import { requireScope } from '../../http/auth.ts';
import type { Caller } from '../../lib/caller.ts';
import { newId } from '../../lib/ids.ts';
import { findKnowledgeBase } from '../find-knowledge-base.ts';
import type { Metadata } from '../tables.ts';
import { toAccessError } from './access-error.ts';
import { namedFiles } from './create-data-source.ts';
import type { DataSourceProbe, ProbeDataSource } from './schema.ts';
import { createConnectorStores, mergeConfig, parseConfig } from './source-config.ts';
import { selectDataSource } from './store.ts';

type ProbeDeps = Pick<Deps, 'db' | 'blobs' | 'secrets' | 'config' | 'logger' | 'now'>;

/** Time limit of a test: a caller waits for it. */
const TEST_TIMEOUT_MS = 15_000;
/** Items that are shown. */
const MAX_ITEMS = 5;

/**
 * Tests a data source without storing it: checks the credentials and lists the first items, within 15 seconds and with
 * the address rules of syncs. With `data_source_id`, missing fields and redacted secrets are taken from that data
 * source. Throws the errors of `createDataSource`, 404 naming `data_source_id`, and 400 when the service rejects the
 * credentials or cannot be reached.
 */
export async function probeDataSource(
  deps: ProbeDeps,
  caller: Caller,
  baseId: string,
  body: ProbeDataSource,
): Promise<DataSourceProbe> {
  const { organizationId } = caller;
  const { id } = await findKnowledgeBase(deps, organizationId, baseId);
  const config = await resolveConfig(deps, { organizationId, baseId: id, body });
  if (body.type === 'file_upload') {
    requireScope(caller, 'files', 'config.file_ids');
    const files = namedFiles({ type: body.type, config }, config);
    await deps.db.sql.transaction((sql) => requireFiles(sql, organizationId, files));
  }
  const http = new GuardedHttp(deps.config.allowPrivateHosts);
  const timeout = AbortSignal.timeout(TEST_TIMEOUT_MS);
  const items: SourceItem[] = [];
  try {
    const { checkAccess, list, sample = list } = CONNECTORS[body.type];
    await checkAccess?.(http, config, timeout);
    const sourceId = newId('dataSource');
    const stores = createConnectorStores(deps.db.sql, { sourceId, jobId: newId('ingestionJob') });
    const connectorDeps = { ...deps, ...stores, organizationId, sourceId, http, renderer: null };
    for await (const item of sample(connectorDeps, config, timeout)) {
      items.push(item);
      if (items.length > MAX_ITEMS) break;
    }
  } catch (error) {
    // A slow listing that has shown items is a success.
    if (!timeout.aborted || items.length === 0) throw toProbeError(error, timeout, addressField(body.type, config));
  } finally {
    await http.close();
  }
  const shown = items.slice(0, MAX_ITEMS).map(({ name, uri }) => ({ name, uri }));
  return { object: 'data_source_test', items: shown, has_more: items.length > MAX_ITEMS || timeout.aborted };
}

/** The validated config with its secrets. */
async function resolveConfig(
  deps: ProbeDeps,
  { organizationId, baseId, body }: { organizationId: string; baseId: string; body: ProbeDataSource },
): Promise<Metadata> {
  const { type, config, data_source_id: id } = body;
  if (id === undefined) return parseConfig(type, config);
  const select = () => selectDataSource(deps.db.sql, organizationId, { baseId, id });
  const row = await findRow('dataSource', id, 'data_source_id', select);
  if (row.type !== type) throw invalidValue('type', `must be '${row.type}', the type of the data source`);
  return parseConfig(type, mergeConfig(deps, row, config));
}

/** The field of a config that has the address of its service; undefined where the type implies the address. */
function addressField(type: ProbeDataSource['type'], config: Metadata): string | undefined {
  return CONNECTORS[type].secretDestinations?.find((name) => config[name] !== undefined);
}

function toProbeError(error: unknown, timeout: AbortSignal, addressField: string | undefined): unknown {
  if (!timeout.aborted) return error instanceof IngestionError ? toAccessError(error, addressField) : error;
  const param = addressField === undefined ? 'config' : `config.${addressField}`;
  return invalidValue(param, 'names a service that did not answer within 15 seconds');
}
