import { OperatorError } from '../../lib/operator-error.ts';
import { DOWNLOADABLE_MODELS } from './downloadable-models.ts';

/** A model in the store is a file of this name and `.gguf`. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
const HUB_FORM = /^hf:([\w.-]+)\/([\w.-]+)(?:@([\w.-]+))?\/(.+)$/;
/** The version of a repository that is fetched unless another is named. */
const MAIN_REVISION = 'main';

/** Where a model comes from. */
export interface ModelSource {
  /** Its name in the store. */
  name: string;
  url: URL;
  /** As the operator can write it again: a catalogue's `hf:` form, or the URL without secrets. */
  from: string;
}

/** Whether a word has one of the forms of a source: a name, `hf:owner/repo/file`, or a URL. */
export function isSourceForm(word: string): boolean {
  return /^https?:\/\/[^/]/.test(word) || HUB_FORM.test(word) || (!word.startsWith('hf:') && NAME.test(word));
}

/** Whether a model in the store may have this name. */
export function isModelName(name: string): boolean {
  return NAME.test(name) && !name.endsWith('.gguf');
}

/**
 * The source that a word names: a name of the open catalogue, `hf:owner/repo/file` (`hf:owner/repo@revision/file`) on the
 * hub, or a URL. `name` replaces the name in the store. Throws a `OperatorError` for a name that is not known.
 */
export function parseModelSource(word: string, hubUrl: string, name?: string): ModelSource {
  if (/^https?:\/\//.test(word)) return named(urlSource(word), name);
  if (word.startsWith('hf:')) return named(hubSource(word, hubUrl), name);
  const model = DOWNLOADABLE_MODELS.find((candidate) => candidate.name === word.toLowerCase());
  if (model === undefined) {
    throw new OperatorError(
      `No model is known as '${word}'. 'quire models list' shows those that are; others by hf:owner/repo/file or a URL.`,
    );
  }
  return named({ ...hubSource(`hf:${model.repo}/${model.file}`, hubUrl), name: model.name }, name);
}

function named(source: ModelSource, name: string | undefined): ModelSource {
  const chosen = name ?? source.name;
  if (isModelName(chosen)) return { ...source, name: chosen };
  throw new OperatorError(
    `A model cannot have the name '${chosen}'; choose one with --name, of letters, digits, '.', '_', '-'.`,
  );
}

function hubSource(word: string, hubUrl: string): ModelSource {
  const [, owner = '', repo = '', revision = MAIN_REVISION, file = ''] = HUB_FORM.exec(word) ?? [];
  const path = [owner, repo, 'resolve', revision, ...file.split('/')].map(encodeURIComponent).join('/');
  if (owner === '' || !file.endsWith('.gguf')) {
    throw new OperatorError(`'${word}' names no GGUF file; write hf:owner/repository/file.gguf.`);
  }
  return { name: stem(file), url: new URL(`${hubUrl.replace(/\/+$/, '')}/${path}`), from: word };
}

function urlSource(word: string): ModelSource {
  const url = new URL(word);
  const shown = new URL(url);
  // Signed URLs carry secrets in their query; the card of a model is no place for them.
  shown.username = '';
  shown.password = '';
  shown.search = '';
  shown.hash = '';
  return { name: stem(decodeURIComponent(url.pathname)), url, from: shown.href };
}

function stem(path: string): string {
  return (path.split('/').pop() ?? '').replace(/\.gguf$/i, '');
}
