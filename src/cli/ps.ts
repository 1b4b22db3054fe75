import { loadClientConfig } from '../config/client-config.ts';
import type { EngineStatus, EngineStatusList, ProcessStatus } from '../health/engine-schema.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { CliCommand } from './command.ts';
import { sendCommand } from './command-client.ts';
import { formatMegabytes, formatTable, printResult } from './output.ts';

/** `quire ps`. */
export function psCommand(): CliCommand {
  return new CliCommand('ps')
    .description(
      'Show the engines and processes of a running service: the model ids that each engine serves, its slots and its memory.',
    )
    .jsonOption()
    .examples('ps', 'ps --json')
    .action(async (options: { json?: boolean }) => {
      const { dataDir } = await loadClientConfig();
      const reply = await sendCommand(dataDir, { command: 'ps', input: {} });
      if (reply === null)
        throw new OperatorError(`No service runs on the data folder ${dataDir}. 'quire serve' starts one.`);
      const running = reply.result as EngineStatusList;
      const { service, processes, data: engines } = running;
      printResult(options, { service, ...(processes !== undefined && { processes }), engines }, () =>
        renderRunning(running),
      );
    });
}

function renderRunning({ service, processes, data }: EngineStatusList): string {
  const rows = data.map((one) => [
    one.name || '-',
    one.engine,
    one.state,
    slotText(one),
    memoryText(one),
    one.models.join(', '),
  ]);
  return [
    formatTable([['NAME', 'ENGINE', 'STATE', 'SLOTS', 'MEMORY', 'SERVES'], ...rows]),
    '',
    processes === undefined
      ? `Service process ${service.pid}: ${formatMegabytes(service.memory_bytes)}.`
      : renderProcesses(processes),
  ].join('\n');
}

function renderProcesses(processes: readonly ProcessStatus[]): string {
  const rows = processes.map(({ name, pid, state, restarts, memory_bytes: bytes }) => [
    name,
    pid === null ? '-' : String(pid),
    state,
    String(restarts),
    bytes === null ? '-' : formatMegabytes(bytes),
  ]);
  return formatTable([['PROCESS', 'PID', 'STATE', 'RESTARTS', 'MEMORY'], ...rows]);
}

function slotText({ slots }: EngineStatus): string {
  if (slots === null || slots.allocated === 0) return '-';
  const waiting = slots.waiting > 0 ? `, ${slots.waiting} waiting` : '';
  return `${slots.running} of ${slots.allocated} busy${waiting}`;
}

function memoryText({ memory_bytes, engine, state }: EngineStatus): string {
  if (memory_bytes !== null) return formatMegabytes(memory_bytes);
  if (state !== 'ready' || engine === 'upstream') return '-';
  return 'in the service';
}
