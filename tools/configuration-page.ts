import { ModelBinding, PROXY_VARIABLES, SETTINGS, type Setting } from '../src/config-settings.ts';

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

const VARIABLE_HEADS = ['Variable', 'Default', 'What it is'];
const CLIENT_VARIABLES = [
  ['`QUIRE_URL`', '`http://127.0.0.1:8080`', 'Base URL of the service, with or without `/v1`.'],
  ['`QUIRE_API_KEY`', '-', 'The API key that they send.'],
];

/** Renders `docs/configuration.md` from the declarations of the settings. */
export function configurationPage(): string {
  return [introduction(), settingsSection(), fileSection(), clientsSection()].join('\n');
}

function introduction(): string {
  return `# Configuration

Written by \`npm run generate\` from \`src/config-settings.ts\`; change that file, not this page.

Quire starts without any configuration. What you set comes from environment variables or from a YAML file: \`quire.yaml\`
in the working directory when there is one, or the file that \`QUIRE_CONFIG\` names. The environment wins over the file,
the file over the default. An empty variable counts as unset.

A wrong value, or a key of the file that is no setting, stops the start with a sentence that names it. A variable that
begins with \`QUIRE_\` and is no setting only makes a warning in the log. \`npm run -s quire -- doctor\` shows what is
bound to what, and whether it answers.
`;
}

function settingsSection(): string {
  return `## Settings

${table(['Variable', 'In the file', 'Accepts', 'Default', 'What it is'], Object.values<Setting>(SETTINGS).map(settingRow))}

Lists are written with commas in the environment; in the file they may be sequences. The value of a setting marked
_secret_ is not repeated in error messages; \`QUIRE_BOOTSTRAP_API_KEY\` cannot stand in the file at all.

${table(VARIABLE_HEADS, [['`QUIRE_CONFIG`', '`./quire.yaml`', 'Path of the configuration file. When it is set, the file must exist.']])}
`;
}

function fileSection(): string {
  const keys = Object.entries(ModelBinding.properties as Record<string, Form>);
  return `## The file

\`\`\`yaml
${EXAMPLE}\`\`\`

\`\${NAME}\` in any text of the file is replaced by that environment variable, so that a file in version control needs no
secret; a variable that is not set stops the start.

### \`models:\`

Binds model ids to what answers for them, one entry for each id. An id of the catalogue keeps its place in
\`GET /v1/models\` whether it is bound or not; any other id is added to it.

${table(['Key', 'Accepts', 'What it is'], keys.map(bindingRow))}

Without \`engine\`, an entry with \`file\` is \`local\` and one with \`base_urls\` is \`upstream\`; otherwise, as for ids
that have no entry, \`QUIRE_UPSTREAM_URL\` answers where it is set, and else the bundled model. An \`upstream\` entry
without \`base_urls\` uses those of \`QUIRE_UPSTREAM_URL\`. \`QUIRE_UPSTREAM_API_KEY\` is sent to \`QUIRE_UPSTREAM_URL\`
only, never to the \`base_urls\` of an entry. Several base URLs of one entry are balanced by load, and one that fails is
put aside until it answers again. An \`alias\` cannot stand for another alias. A relative \`file\` is looked for from the
working directory.
\`moderation-v1\` is answered by the bundled model, also where \`QUIRE_UPSTREAM_URL\` is set, unless its own entry says
\`base_urls\` or \`engine: upstream\`: servers that answer \`POST /moderations\` as OpenAI's does. It takes no \`file\`.
\`embed-large-en-v1.5\` likewise: the bundled model, or by its own entry servers that answer \`POST /embeddings\`, whose
\`context_length\` is then the tokens that the model takes at once. \`reranker-v2-m3\` likewise: the bundled model, or by its own
entry servers that rerank at \`/v1/rerank\` (Cohere's body) or \`/rerank\` (Text Embeddings Inference).
\`pricing\` is in credits per 1,000 or 1,000,000 tokens (\`unit\`), for prompt and completion apart.
`;
}

function clientsSection(): string {
  return `## Proxies

${PROXY_VARIABLES.map((name) => `\`${name}\``).join(', ')} (or the same in lower case) hold for the connections to upstreams.

## Variables of the client commands

Commands that call a running service over HTTP, such as \`quire ask\`, read these instead:

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
