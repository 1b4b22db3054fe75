import { posix } from 'node:path';
import type { Source } from './source.ts';

const DECLARATION = /export const (\w+) = defineMessages\(\{\n([\s\S]*?)\n\}\);/g;
const NAME = /^ {2}'?([\w-]+)'?:/gm;

/**
 * Finds texts of the console that no file shows, as `path hook.name`. A text is shown by `.name` of a variable that the
 * hook fills. Where a variable is indexed or passed on (`texts[status]`, `labels={texts}`), the name must occur in a
 * file that imports the texts.
 */
export function findUnusedMessages(sources: readonly Source[]): string[] {
  return sources
    .filter(({ path }) => posix.basename(path) === 'messages.ts')
    .flatMap(({ path, text }) => {
      const isUser = (source: Source) =>
        [...source.text.matchAll(/from '(.+\/messages\.ts)'/g)].some(
          ([, specifier = '']) => posix.join(posix.dirname(source.path), specifier) === path,
        );
      const code = sources
        .filter(isUser)
        .map((source) => source.text)
        .join('\n');
      return [...text.matchAll(DECLARATION)].flatMap(([, hook = '', body = '']) =>
        [...body.matchAll(NAME)]
          .map(([, name = '']) => name)
          .filter((name) => !isShown(code, hook, name))
          .map((name) => `${path} ${hook}.${name}`),
      );
    });
}

function isShown(code: string, hook: string, name: string): boolean {
  const variables = [...code.matchAll(new RegExp(`const (\\w+) = ${hook}\\(\\)`, 'g'))].map(([, variable]) => variable);
  if (variables.some((variable) => new RegExp(`\\b${variable}\\.${name}\\b`).test(code))) return true;
  return (
    variables.some((variable) => code.includes(`${variable}[`) || code.includes(`={${variable}}`)) &&
    new RegExp(`\\b${name}\\b`).test(code)
  );
}
