import type { Config } from '../../config/config.ts';
import type { App } from '../../http/app.ts';
import { Configuration } from './schema.ts';
import { viewConfiguration } from './view-configuration.ts';

/** Dependencies of `configurationRoutes`. */
export interface ConfigurationDeps {
  config: Config;
  /** The configuration after reloads; absent: `config`. */
  effectiveConfig?: () => Config;
}

/** `GET /v1/admin/configuration`. */
export function configurationRoutes(app: App, { config, effectiveConfig }: ConfigurationDeps): void {
  app.get(
    '/v1/admin/configuration',
    {
      schema: {
        summary: 'Show the configuration in force',
        description:
          'Every setting with its value, default and origin: the default, the configuration file with the line, an environment variable, or the command line. Secrets are not shown. Requires the scope `admin`.',
        tags: ['Admin'],
        response: { 200: Configuration },
      },
      config: { scope: 'admin' },
    },
    async () => viewConfiguration(effectiveConfig?.() ?? config),
  );
}
