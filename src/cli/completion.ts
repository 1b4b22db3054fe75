import { Argument, type Command } from 'commander';
import { CliCommand } from './command.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

type Shell = (typeof SHELLS)[number];

/** What may follow the words of a command. */
export interface CompletionEntry {
  /** Words before, without options: `keys create`; empty for `quire` itself. */
  path: string;
  /** Names with their summaries. */
  commands: readonly (readonly [string, string])[];
  /** Long options with their descriptions. */
  options: readonly (readonly [string, string])[];
}

/** `quire completion`. `loadProgram`: the whole command line, whose module imports this one. */
export function completionCommand(loadProgram: () => Promise<Command>): CliCommand {
  return new CliCommand('completion')
    .summary('Print a completion script for bash, zsh or fish')
    .description('Print a script that completes commands and options of quire in a shell.')
    .addArgument(new Argument('<shell>', 'Shell of the script').choices(SHELLS))
    .examples(
      'completion bash > ~/.local/share/bash-completion/completions/quire',
      'completion zsh > ~/.zfunc/_quire',
      'completion fish > ~/.config/fish/completions/quire.fish',
    )
    .action(async (shell: Shell) => console.log(renderCompletion(shell, listCompletions(await loadProgram()))));
}

/** Lists the completions of a command and of all commands below it. */
export function listCompletions(command: Command, path = ''): CompletionEntry[] {
  const describe = (text: string) => text.replace(/\s+/g, ' ').replace(/\.$/, '');
  const commands = command.commands.map(
    (each) => [each.name(), describe(each.summary() || each.description())] as const,
  );
  const visible = command.createHelp().visibleOptions(command);
  const options = visible.flatMap(({ long, description }) =>
    long == null ? [] : [[long, describe(description)] as const],
  );
  const below = command.commands.flatMap((each) => listCompletions(each, `${path} ${each.name()}`.trim()));
  return [{ path, commands, options }, ...below];
}

/** Renders the completion script of a shell. Arguments that are not commands or options are completed as files. */
export function renderCompletion(shell: Shell, entries: readonly CompletionEntry[]): string {
  if (shell === 'fish') return renderFish(entries);
  const cases = entries.map(({ path, commands, options }) => {
    const words = [...commands, ...options].map(([name]) => name);
    return `    '${path}') words='${words.join(' ')}' ;;`;
  });
  const paths = entries.filter(({ path }) => path !== '').map(({ path }) => `    '${path}') path="$next" ;;`);
  const bash = `# Completion of quire for bash; zsh runs it through bashcompinit.
_quire() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path='' next words=''
  local i
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="\${path:+$path }\${COMP_WORDS[i]}"
    case "$next" in
${paths.join('\n')}
    esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _quire quire`;
  return shell === 'bash' ? bash : `#compdef quire\nautoload -U +X bashcompinit && bashcompinit\n${bash}`;
}

/** fish tests the words before the cursor: every word of the path, and none of the commands below. */
function renderFish(entries: readonly CompletionEntry[]): string {
  const quote = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`;
  const lines = entries.flatMap(({ path, commands, options }) => {
    const seen = path
      .split(' ')
      .filter(Boolean)
      .map((word) => `__fish_seen_subcommand_from ${word}`);
    const names = commands.map(([name]) => name).join(' ');
    const isNext = names === '' ? [] : [`not __fish_seen_subcommand_from ${names}`];
    const condition = [...seen, ...isNext].join('; and ');
    const complete = `complete -c quire${condition === '' ? '' : ` -n ${quote(condition)}`}`;
    return [
      ...commands.map(([name, summary]) => `${complete} -f -a ${name} -d ${quote(summary)}`),
      ...options.map(([long, description]) => `${complete} -l ${long.slice(2)} -d ${quote(description)}`),
    ];
  });
  return ['# Completion of quire for fish.', ...lines].join('\n');
}
