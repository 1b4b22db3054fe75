import { OperatorError } from '../../lib/operator-error.ts';
import { suggestSimilar } from '../../lib/suggest.ts';
import { DOWNLOADABLE_MODELS } from './downloadable-models.ts';
import { isOllamaTag, resolveOllamaTag } from './ollama-tags.ts';

/** Names of model files, without `.gguf`. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
const HUB_FORM = /^hf:([\w.-]+)\/([\w.-]+)(?:@([\w.-]+))?\/(.+)$/;
/** The branch that is downloaded unless a revision is given. */
const MAIN_REVISION = 'main';

/** Where a model is downloaded from. */
export interface ModelSource {
  /** Name of the model file. */
  name: string;
  url: URL;
  /** The source as an operator can type it: the `hf:` form, or the URL without secrets. */
  from: string;
}

/** Whether a word has one of the forms of a source: a name, an Ollama tag, `hf:owner/repo/file`, or a URL. */
export function isSourceForm(word: string): boolean {
  return (
    /^https?:\/\/[^/]/.test(word) ||
    HUB_FORM.test(word) ||
    isOllamaTag(word) ||
    (!word.startsWith('hf:') && NAME.test(word))
  );
}

/** Whether a model file may have this name. */
export function isModelName(name: string): boolean {
  return NAME.test(name) && !name.endsWith('.gguf');
}

/**
 * Parses the source of a pull: a name of `DOWNLOADABLE_MODELS`, an Ollama tag, `hf:owner/repo/file`
 * (`hf:owner/repo@revision/file`), or a URL. `name` overrides the name of the model file. Throws an `OperatorError` for
 * an unknown name.
 */
export function parseModelSource(word: string, hubUrl: string, name?: string): ModelSource {
  if (/^https?:\/\//.test(word)) return withName(urlSource(word), name);
  if (word.startsWith('hf:')) return withName(hubSource(word, hubUrl), name);
  const named = DOWNLOADABLE_MODELS.find((candidate) => candidate.name === word.toLowerCase());
  if (named === undefined && !isOllamaTag(word)) throw unknownName(word);
  const model = named ?? resolveOllamaTag(word);
  return withName({ ...hubSource(`hf:${model.repo}/${model.file}`, hubUrl), name: model.name }, name);
}

function unknownName(word: string): OperatorError {
  const similar = suggestSimilar(
    word,
    DOWNLOADABLE_MODELS.map(({ name }) => name),
  );
  const suggestion = similar === null ? '' : ` Did you mean '${similar}'?`;
  return new OperatorError(
    `Unknown model '${word}'.${suggestion} 'quire models list' shows the known names; pull others by hf:owner/repo/file or a URL.`,
  );
}

function withName(source: ModelSource, name: string | undefined): ModelSource {
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
  // Signed URLs carry secrets in their query, which must not reach the card of the model.
  shown.username = '';
  shown.password = '';
  shown.search = '';
  shown.hash = '';
  return { name: stem(decodeURIComponent(url.pathname)), url, from: shown.href };
}

function stem(path: string): string {
  return (path.split('/').pop() ?? '').replace(/\.gguf$/i, '');
}
