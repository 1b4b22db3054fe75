/** Defaults of the settings by which commands find a service. In a file without imports, which every command loads. */
export const CLIENT_DEFAULTS = { host: '127.0.0.1', port: 8080, dataDir: './quire-data' } as const;

/** Name of the configuration file in the working directory. */
export const CONFIG_FILE = 'quire.yaml';
