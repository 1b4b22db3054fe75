import { VERSION } from '../lib/version.ts';
import { CliCommand, rejectBlankValues } from './command.ts';
import { exitWhenPipeCloses } from './output.ts';

/** A command or group of commands in `quire --help`. Its module is imported when called, for fast starts. */
interface CommandEntry {
  name: string;
  summary: string;
  load(): Promise<CliCommand>;
}

const COMMANDS: Readonly<Record<string, readonly CommandEntry[]>> = {
  'Service:': [
    {
      name: 'serve',
      summary: 'Run the service: the API and the background work in one process',
      load: async () => (await import('./serve.ts')).serveCommand(),
    },
    {
      name: 'api',
      summary: 'Run the API only',
      load: async () => (await import('./serve.ts')).apiCommand(),
    },
    {
      name: 'worker',
      summary: 'Run background work only',
      load: async () => (await import('./serve.ts')).workerCommand(),
    },
    {
      name: 'doctor',
      summary: 'Check the stores and the engine of every model id',
      load: async () => (await import('./doctor.ts')).doctorCommand(),
    },
    {
      name: 'ps',
      summary: 'Show the engines of a running service, their slots and memory',
      load: async () => (await import('./ps.ts')).psCommand(),
    },
  ],
  'Questions and documents:': [
    {
      name: 'chat',
      summary: 'Chat with a model in the terminal',
      load: async () => (await import('./chat.ts')).chatCommand(),
    },
    {
      name: 'ask',
      summary: 'Ask a model, with or without a knowledge base',
      load: async () => (await import('./ask.ts')).askCommand(),
    },
    {
      name: 'ingest',
      summary: 'Synchronize a knowledge base with a folder',
      load: async () => (await import('./ingest.ts')).ingestCommand(),
    },
    {
      name: 'kb',
      summary: 'Create, list, show, search, evaluate, export, import and delete knowledge bases',
      load: async () => (await import('./knowledge-bases.ts')).knowledgeBasesCommand(),
    },
    {
      name: 'sources',
      summary: 'Connect a knowledge base with web sites, stores and wikis',
      load: async () => (await import('./sources.ts')).sourcesCommand(),
    },
    {
      name: 'migrate',
      summary: 'Import vector stores from an account of OpenAI',
      load: async () => (await import('./migrate.ts')).migrateCommand(),
    },
    {
      name: 'mcp',
      summary: 'Serve the knowledge bases to a desktop client over stdio',
      load: async () => (await import('./mcp.ts')).mcpCommand(),
    },
    {
      name: 'batch',
      summary: 'Run a file of requests as a batch',
      load: async () => (await import('./batch-run.ts')).batchCommand(),
    },
  ],
  'Models:': [
    {
      name: 'models',
      summary: 'List, show, download, bind and remove models',
      load: async () => (await import('./models.ts')).modelsCommand(),
    },
  ],
  'Administration:': [
    {
      name: 'keys',
      summary: 'Manage API keys',
      load: async () => (await import('./keys.ts')).keysCommand(),
    },
    {
      name: 'orgs',
      summary: 'Manage organizations and their credits',
      load: async () => (await import('./orgs.ts')).orgsCommand(),
    },
    {
      name: 'users',
      summary: 'List the users of the console, and reset a lost password',
      load: async () => (await import('./users.ts')).usersCommand(),
    },
    {
      name: 'policies',
      summary: 'Manage guardrail policies',
      load: async () => (await import('./policies.ts')).policiesCommand(),
    },
    {
      name: 'usage',
      summary: 'Show calls, tokens and cost',
      load: async () => (await import('./usage.ts')).usageCommand(),
    },
    {
      name: 'index',
      summary: 'Check and rebuild search indexes',
      load: async () => (await import('./index.ts')).indexCommand(),
    },
    {
      name: 'backup',
      summary: 'Back up the embedded database and uploaded files, and restore them',
      load: async () => (await import('./backup.ts')).backupCommand(),
    },
    {
      name: 'restore',
      summary: 'Restore a backup to a point in time',
      load: async () => (await import('./restore.ts')).restoreCommand(),
    },
    {
      name: 'db',
      summary: 'Migrate the database',
      load: async () => (await import('./db.ts')).dbCommand(),
    },
  ],
  'This terminal:': [
    {
      name: 'login',
      summary: 'Store the address and an API key for later commands',
      load: async () => (await import('./login.ts')).loginCommand(),
    },
    {
      name: 'logout',
      summary: 'Delete the stored login',
      load: async () => (await import('./login.ts')).logoutCommand(),
    },
    {
      name: 'completion',
      summary: 'Print a completion script for bash, zsh or fish',
      load: async () => (await import('./completion.ts')).completionCommand(() => createProgram(null)),
    },
  ],
};

/** Commands that outlive the terminal that started them. */
const LONG_RUNNING: ReadonlySet<string> = new Set(['serve', 'api', 'worker']);

const FOOTER = `
Environment:
  QUIRE_URL         Address of the service (default: the service of the data folder, then http://127.0.0.1:8080)
  QUIRE_API_KEY     API key of the commands that call the API ('quire login' stores both)
  QUIRE_DATA_DIR    Data folder (default: ./quire-data)
  All settings: docs/use/configuration.md

Use 'quire <command> --help' for the options and examples of a command. Manual: docs/use/cli.md`;

/**
 * Creates the command line. `words`: its arguments; only the module of the command that they name is loaded. Null: all
 * are loaded.
 */
export async function createProgram(words: readonly string[] | null): Promise<CliCommand> {
  const program = new CliCommand('quire')
    .description('Language-model inference, retrieval and knowledge bases in one service.')
    .version(VERSION, '-v, --version', 'Print the version')
    .addHelpText('after', FOOTER)
    .hook('preAction', (_program, command) => {
      rejectBlankValues(command);
      if (!LONG_RUNNING.has(command.name())) exitWhenPipeCloses();
    });
  for (const [group, entries] of Object.entries(COMMANDS)) {
    for (const { name, summary, load } of entries) {
      const command = words === null || words[0] === name ? await load() : new CliCommand(name);
      program.addCommand(command.summary(summary).helpGroup(group));
    }
  }
  return program;
}

/**
 * Runs the command that `args` (the words after `quire`) name. Throws a `UsageError` for invalid arguments, Commander's
 * `CommanderError` after help or the version has been printed, and the error of a failed command.
 */
export async function runProgram(args: readonly string[]): Promise<void> {
  // `quire help keys create` is `quire keys create --help`.
  const words = args[0] === 'help' ? [...args.slice(1), '--help'] : args;
  const program = await createProgram(words);
  await program.parseAsync(words, { from: 'user' });
}
