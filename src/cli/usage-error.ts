/** Invalid arguments of a command. The process prints the help of the command and exits with code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
