import { loadConfig } from '../config.ts';
import type { HealthCheck } from '../health/check-health.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { CliCommand } from './command.ts';
import { formatTable, printResult } from './output.ts';
import { runStateCommand } from './run-state-command.ts';

/** `quire doctor`. */
export function doctorCommand(): CliCommand {
  return new CliCommand('doctor')
    .description('Check the stores and the engine of every model id. Exit code 1 when a check fails.')
    .jsonOption()
    .action(diagnose);
}

async function diagnose(options: { json?: boolean }): Promise<void> {
  const config = loadConfig();
  const report = (await runStateCommand(config, 'doctor', {})) as {
    checks: HealthCheck[];
    unbound: string[];
    schemas: string[];
    warnings: string[];
  };
  const rows = report.checks.map((check) => [check.ok ? 'ok' : 'FAILED', check.name, check.detail]);
  printResult(options, { data_dir: config.dataDir, ...report }, () =>
    [
      `Data folder: ${config.dataDir}`,
      formatTable([['', 'CHECK', 'RESULT'], ...rows]),
      ...(report.unbound.length > 0 ? [`No engine serves ${report.unbound.join(', ')}.`] : []),
      ...report.schemas,
      ...report.warnings.map((warning) => `Warning: ${warning}`),
    ].join('\n'),
  );
  const failed = report.checks.filter((check) => !check.ok);
  if (failed.length > 0) throw new OperatorError(`${failed.length} of ${report.checks.length} checks failed.`);
}
