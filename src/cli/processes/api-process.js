/** Entry point of a process that serves the API of a service of several processes. Arguments: socket, name. */
import '../../boot/quick-imports.js';

// The main process decides when this one stops: a terminal sends its signals to both.
process.on('SIGINT', () => {}).on('SIGHUP', () => {});
const { runApiProcess } = await import('./run-api-process.ts');
await runApiProcess(process.argv[2], process.argv[3]);
