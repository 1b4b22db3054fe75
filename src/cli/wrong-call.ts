/** The command was called with words that it does not take; the process prints its help and exits with 2. */
export class WrongCall extends Error {
  override readonly name = 'WrongCall';
}
