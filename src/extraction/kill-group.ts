/**
 * Kills a reader process by its id, with the program that it may run for OCR: both are in the process group that the
 * reader leads.
 */
export function killGroup(pid: number): void {
  for (const target of process.platform === 'win32' ? [pid] : [-pid, pid]) {
    try {
      process.kill(target, 'SIGKILL');
    } catch {
      // It has ended; on the first target, it leads no group.
    }
  }
}
