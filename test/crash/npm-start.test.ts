import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { withDeadline } from '../deadline.ts';
import { isRunning, killProcesses, startService } from '../spawned-service.ts';

const STOP_SECONDS = 60;

/** The processes below one: those of npm are the service, and a shell where npm has one. */
function listDescendants(pid: number): number[] {
  const rows = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
  const pids = [pid];
  // The list is sorted by age, apart from reused ids.
  for (const row of rows) {
    const [child, parent] = row.trim().split(/\s+/).map(Number);
    if (child !== undefined && pids.includes(parent ?? 0)) pids.push(child);
  }
  return pids.slice(1);
}

describe('a service that npm has started', () => {
  const commands: { npm: string[]; signals: NodeJS.Signals[] }[] = [
    { npm: ['start'], signals: ['SIGTERM', 'SIGINT'] },
    { npm: ['run', '--silent', 'quire', '--', 'serve'], signals: ['SIGTERM', 'SIGINT'] },
    // The shell of `npx` ignores SIGINT while its command runs. The Ctrl-C of a terminal reaches the service itself.
    { npm: ['exec', '--', 'quire', 'serve'], signals: ['SIGTERM'] },
  ];
  for (const { npm, signals } of commands) {
    for (const signal of signals) {
      it(`stops in order when 'npm ${npm.join(' ')}' gets ${signal}`, async () => {
        const service = await startService({ npm });
        const pids = listDescendants(service.pid);
        try {
          assert.ok(pids.length > 0);
          service.signal(signal);
          await withDeadline('the end of npm and the service', service.ended, STOP_SECONDS);
          assert.deepEqual(pids.filter(isRunning), []);
          assert.match(service.stderr(), /shutting down/);
        } finally {
          killProcesses([service.pid, ...pids]);
        }
      });
    }
  }
});
