import { ModelBinding } from '../src/config/file-sections.ts';
import { PROXY_VARIABLES, SETTINGS, type Setting } from '../src/config/settings.ts';
import { fileVariable } from '../src/lib/secret-file.ts';

/** Keywords of a JSON schema that describe accepted values. */
interface Form {
  type?: string;
  enum?: readonly string[];
  items?: Form;
  properties?: Readonly<Record<string, Form>>;
  minimum?: number;
  maximum?: number;
  description?: string;
}

/** Example with every key of `models:`; the tests load it. */
const EXAMPLE = `# quire.yaml
host: 0.0.0.0
log_level: warn
cors_origins: [https://app.example.com]
models:
  # Two vLLM replicas behind an id of the catalogue; the key comes from the environment.
  general-70b:
    base_urls: [http://gpu-1:8000/v1, http://gpu-2:8000/v1]
    upstream_model: meta-llama/Llama-3.3-70B-Instruct
    api_key: \${VLLM_KEY}
    context_length: 32768
    pricing: { prompt: 0.5, completion: 0.75, unit: per_1m_tokens }
  # A GGUF on this machine, under an id of your own.
  my-mistral:
    file: ./weights/mistral-7b-instruct-q4_k_m.gguf
  # Another id for the same model, for a program that cannot be changed.
  gpt-4o-mini:
    alias: general-70b
  # The model that comes with Quire, even where QUIRE_UPSTREAM_URL is set.
  general-8b:
    engine: bundled
`;

const VARIABLE_HEADS = ['Variable', 'Default', 'Description'];
const CLIENT_VARIABLES = [
  ['`QUIRE_URL`', '`http://127.0.0.1:8080`', 'Base URL of the service, with or without `/v1`.'],
  ['`QUIRE_API_KEY`', '-', 'API key of the requests. Or `QUIRE_API_KEY_FILE`, the path of a file that holds it.'],
];

/** Renders `docs/use/configuration.md` from the declarations of the settings. */
export function configurationPage(): string {
  return [introduction(), settingsSection(), fileSection(), clientsSection()].join('\n');
}

function introduction(): string {
  return `# Configuration

Written by \`npm run generate\` from \`src/config/settings.ts\`; change that file, not this page.

Quire starts without configuration. Settings come from environment variables or a YAML file: \`quire.yaml\` in the working
directory if it exists, or the file named by \`QUIRE_CONFIG\`.

- The environment overrides the file, the file overrides the default. An empty variable counts as unset.
- An invalid value, or an unknown key of the file, stops the start with a message that names it. An unknown \`QUIRE_\` variable is
  logged as a warning.
- \`npx quire doctor\` shows the engine of every model id and whether it responds.
`;
}

function settingsSection(): string {
  return `## Settings

${table(['Variable', 'In the file', 'Accepts', 'Default', 'Description'], Object.values<Setting>(SETTINGS).map(settingRow))}

Lists are comma-separated in the environment, and may be sequences in the file. Values of settings marked _secret_ do not
appear in error messages. \`QUIRE_BOOTSTRAP_API_KEY\` is accepted only in the environment.

### Secrets in files

Each setting marked _secret_ can be in a file, as container platforms mount secrets: \`NAME_FILE\` is the path of a file with the value of
\`NAME\`. Line breaks at its end are left out. When both are set, or the file is empty or cannot be read, the start stops with a message that
names the variable. The files are read at the start.

${table(['Variable', 'Value of'], secretFileRows())}

${table(VARIABLE_HEADS, [['`QUIRE_CONFIG`', '`./quire.yaml`', 'Path of the configuration file. When it is set, the file must exist.']])}
`;
}

function fileSection(): string {
  const keys = Object.entries(ModelBinding.properties as Record<string, Form>);
  return `## The file

\`\`\`yaml
${EXAMPLE}\`\`\`

\`\${NAME}\` in a text of the file is replaced by the environment variable, or by the content of the file that \`NAME_FILE\` names, so that a
file under version control needs no secrets. An unset variable stops the start.

### \`models:\`

Binds model ids to engines, one entry per id. \`GET /v1/models\` lists the ids of the catalogue and additional ids of the file.

${table(['Key', 'Accepts', 'Description'], keys.map(bindingRow))}

- **Engine**: \`local\` with \`file\`, \`upstream\` with \`base_urls\`. Otherwise, as for ids without an entry, \`QUIRE_UPSTREAM_URL\`
  if it is set, else the bundled model.
- **Upstreams**: an \`upstream\` entry without \`base_urls\` uses those of \`QUIRE_UPSTREAM_URL\`. \`QUIRE_UPSTREAM_API_KEY\` is sent only to
  \`QUIRE_UPSTREAM_URL\`. Several base URLs are load-balanced; a failing one is ejected until it responds again.
- **Aliases** cannot refer to other aliases.
- **Files**: a relative \`file\` is resolved from the working directory.
- **Bundled by default**, even if \`QUIRE_UPSTREAM_URL\` is set, unless the own entry binds another engine:
  - \`moderation-v1\`: upstreams with \`POST /moderations\` in OpenAI's format; no \`file\`.
  - \`embed-large-en-v1.5\`: upstreams with \`POST /embeddings\`; \`context_length\` is the window of the model. Or a \`file\`.
  - \`reranker-v2-m3\`: upstreams with \`/v1/rerank\` (Cohere's format) or \`/rerank\` (Text Embeddings Inference). Or a \`file\`.
- **\`pricing\`**: credits per 1,000 or 1,000,000 tokens (\`unit\`), for prompt and completion tokens.
`;
}

function clientsSection(): string {
  return `## Proxies

${PROXY_VARIABLES.map((name) => `\`${name}\``).join(', ')} (also in lower case) apply to connections to upstreams and model downloads.

## Variables of the client commands

Commands that call a service over HTTP, such as \`quire ask\`, read:

${table(VARIABLE_HEADS, CLIENT_VARIABLES)}
`;
}

function settingRow({ env, file, schema, default: fallback, list, secret, description }: Setting): string[] {
  return [
    code(env),
    file === null ? '-' : code(file),
    `${list ? 'list of ' : ''}${describeSchema(list ? ((schema as Form).items ?? {}) : (schema as Form))}`,
    fallback === null ? '-' : code(String(fallback)),
    `${description}${secret ? ' _Secret._' : ''}`,
  ];
}

function secretFileRows(): string[][] {
  const secrets = Object.values<Setting>(SETTINGS).filter(({ secret }) => secret === true);
  return secrets.map(({ env }) => [code(fileVariable(env)), code(env)]);
}

function bindingRow([key, form]: [string, Form]): string[] {
  return [code(key), describeSchema(form), form.description ?? 'See below.'];
}

function describeSchema(form: Form): string {
  if (form.enum !== undefined) return form.enum.map(code).join(', ');
  if (form.type === 'array') return `list of ${describeSchema(form.items ?? {})}`;
  if (form.properties !== undefined) return Object.keys(form.properties).map(code).join(', ');
  if (form.type !== 'integer') return form.type === 'string' ? 'text' : (form.type ?? 'any value');
  if (form.minimum === undefined) return 'whole number';
  return `whole number, ${form.minimum} ${form.maximum === undefined ? 'or more' : `to ${form.maximum}`}`;
}

function code(text: string): string {
  return `\`${text}\``;
}

/** Aligns columns like the formatter. */
function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = heads.map((_, at) => Math.max(...[heads, ...rows].map((row) => row[at]?.length ?? 0)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  return [line(heads), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
