import { loadConfig } from '../config.ts';
import type { Check } from '../health/check-all.ts';
import { OperatorError } from '../lib/operator-error.ts';
import type { CommandSpec } from './command-spec.ts';
import { JSON_OPTION, print, table } from './output.ts';
import { withState } from './with-state.ts';

/** `quire doctor`. */
export const doctor: CommandSpec = {
  summary: 'Show what is bound to what and whether it answers. Exit code 1 when something does not.',
  words: [],
  options: { ...JSON_OPTION },
  action: async (input) => {
    const config = loadConfig();
    const found = (await withState(config, 'doctor', {})) as {
      checks: Check[];
      unbound: string[];
      warnings: string[];
    };
    const rows = found.checks.map((check) => [check.ok ? 'ok' : 'FAILED', check.name, check.detail]);
    print(input, { data_dir: config.dataDir, ...found }, () =>
      [
        `Data folder: ${config.dataDir}`,
        table([['', 'WHAT', 'ANSWERED BY'], ...rows]),
        ...(found.unbound.length > 0 ? [`Nothing serves ${found.unbound.join(', ')} in this version.`] : []),
        ...found.warnings.map((warning) => `Warning: ${warning}`),
      ].join('\n'),
    );
    const failed = found.checks.filter((check) => !check.ok);
    if (failed.length > 0) throw new OperatorError(`${failed.length} of ${found.checks.length} checks failed.`);
  },
};
