import { loadClientConfig } from '../config/client-config.ts';
import type { HealthCheck } from '../health/check-health.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { CliCommand } from './command.ts';
import { findService, type ServiceInfo } from './command-client.ts';
import type { RemoteDiagnosis } from './diagnose-remote.ts';
import { formatTable, printResult } from './output.ts';
import { runStateCommand } from './run-state-command.ts';

/** `quire doctor`. */
export function doctorCommand(): CliCommand {
  return new CliCommand('doctor')
    .description(
      'Report whether a service runs, where and in which version; then check the stores and the engine of every model id. With QUIRE_URL, check the service there and the API key. Exit code 1 when a check fails.',
    )
    .jsonOption()
    .examples('doctor', 'doctor --json')
    .action(diagnose);
}

/** Result of the state command `doctor`. */
interface Diagnosis {
  checks: HealthCheck[];
  unbound: string[];
  schemas: string[];
  warnings: string[];
}

async function diagnose(options: { json?: boolean }): Promise<void> {
  const { dataDir, url, apiKey } = await loadClientConfig();
  const service = await findService(dataDir);
  if (url !== null) {
    // Imported here: a local diagnosis sends no HTTP request.
    const { parseBaseUrl } = await import('./api-client.ts');
    const { diagnoseRemote, isSameService } = await import('./diagnose-remote.ts');
    const origin = parseBaseUrl(url);
    if (!isSameService(origin, service?.url ?? null)) return printRemote(options, await diagnoseRemote(origin, apiKey));
  }
  if (!options.json) console.log(describeService(service, dataDir));
  const needs = { needsModels: true, needsStores: true, isReadOnly: true };
  const report = (await runStateCommand('doctor', {}, needs)) as Diagnosis;
  printResult(options, { service, data_dir: dataDir, ...report }, () =>
    [
      checkTable(report.checks),
      ...(report.unbound.length > 0 ? [`No engine serves ${report.unbound.join(', ')}.`] : []),
      ...report.schemas,
      ...report.warnings.map((warning) => `Warning: ${warning}`),
    ].join('\n'),
  );
  failUnlessOk(report.checks);
}

/** Prints the diagnosis of another service than that of the data folder, which is not looked at. */
function printRemote(options: { json?: boolean }, { service, checks }: RemoteDiagnosis): void {
  printResult(options, { service, checks }, () =>
    [`Service: running at ${service.url} (QUIRE_URL), version ${service.version}`, checkTable(checks)].join('\n'),
  );
  failUnlessOk(checks);
}

function checkTable(checks: readonly HealthCheck[]): string {
  const rows = checks.map((check) => [check.ok ? 'ok' : 'FAILED', check.name, check.detail]);
  return formatTable([['', 'CHECK', 'RESULT'], ...rows]);
}

function failUnlessOk(checks: readonly HealthCheck[]): void {
  const failed = checks.filter((check) => !check.ok);
  if (failed.length > 0) throw new OperatorError(`${failed.length} of ${checks.length} checks failed.`);
}

function describeService(service: ServiceInfo | null, dataDir: string): string {
  const folder = `Data folder: ${dataDir}`;
  if (service === null) return `Service: not running (this command checks the data folder itself)\n${folder}`;
  const state = service.url === null ? 'starting' : `running at ${service.url}`;
  return `Service: ${state}, version ${service.version}, process ${service.pid}\n${folder}`;
}
