import { readFileSync } from 'node:fs';
import { describeError, OperatorError } from './operator-error.ts';

/** Variables by name. */
type Environment = Readonly<Record<string, string | undefined>>;

/** Variable with the path of a file that holds the value of another variable: containers mount secrets as files. */
export const fileVariable = (name: string): string => `${name}_FILE`;

/**
 * The value of a variable, which may be in the file that `NAME_FILE` names, without line breaks at its end. Empty
 * variables count as unset. Throws an `OperatorError` when both are set, and when the file cannot be read or is empty.
 */
export function readVariable(environment: Environment, name: string): string | undefined {
  const value = environment[name];
  const from = fileVariable(name);
  const path = environment[from];
  if (path === undefined || path === '') return value;
  if (value !== undefined && value !== '')
    throw new OperatorError(`${name} and ${from} are both set. Unset one of them.`);
  const content = readFile(path, from).replace(/[\r\n]+$/, '');
  if (content === '') throw new OperatorError(`${from}: the file ${path} is empty. It must hold the value of ${name}.`);
  return content;
}

function readFile(path: string, from: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new OperatorError(`${from}: the file ${path} cannot be read: ${describeError(error)}`);
  }
}
