import { OperatorError } from '../../lib/operator-error.ts';
import { suggestSimilar } from '../../lib/suggest.ts';
import { DOWNLOADABLE_MODELS, type DownloadableModel } from './downloadable-models.ts';

/** `family:size`, as in `ollama pull`: the size may be followed by `-instruct` and a quantization. */
const TAG = /^([a-z0-9][a-z0-9._-]*):([a-z0-9][a-z0-9._-]*)$/i;
/** Sizes that Ollama pulls for a family without a tag, or with `latest`. */
const LATEST: Readonly<Record<string, string>> = {
  'llama3.1': '8b',
  'llama3.2': '3b',
  'llama3.3': '70b',
  mistral: '7b',
  qwen3: '8b',
  'qwen2.5': '7b',
  'qwen2.5-coder': '7b',
  gemma2: '9b',
  gemma3: '4b',
  smollm2: '1.7b',
  'deepseek-r1': '8b',
  'bge-large': '335m',
};
/** Tags that differ from the name of the model by more than punctuation. */
const ALIASES: Readonly<Record<string, string>> = {
  'deepseek-r1:70b': 'deepseek-r1-distill-70b',
  'bge-large:335m': 'bge-large-en-v1.5',
};

/** Whether a word has the form of an Ollama tag, or is a family that Ollama knows. */
export function isOllamaTag(word: string): boolean {
  return (TAG.test(word) && !/^(hf|https?):/i.test(word)) || word.toLowerCase() in LATEST;
}

/** Finds the model of an Ollama tag such as `llama3.1:8b`. Throws an `OperatorError` with the tags of the family. */
export function resolveOllamaTag(word: string): DownloadableModel {
  const [, family = word.toLowerCase(), tag = 'latest'] = TAG.exec(word.toLowerCase()) ?? [];
  const [, size = '', quantization = null] =
    /^(.+?)(?:-(?:instruct|it|text))?(?:-((?:i?q\d|f16|fp16|bf16).*))?$/.exec(
      tag === 'latest' ? (LATEST[family] ?? tag) : tag,
    ) ?? [];
  const model = findModel(family, size);
  if (model === null) throw unknownTag(word, family);
  if (quantization !== null && !compact(model.file).includes(compact(quantization))) {
    throw new OperatorError(
      `'${family}:${size}' is pulled as ${model.file}, not as ${quantization}. Pull another file by hf:owner/repository/file.gguf.`,
    );
  }
  return model;
}

/** The Ollama tag of a model; null when Ollama has another model or none by that name. */
export function ollamaTag({ name }: DownloadableModel): string | null {
  const alias = Object.entries(ALIASES).find(([, target]) => target === name)?.[0];
  if (alias !== undefined) return alias;
  const [, family, size] = /^(.+)-(\d[\d.]*[bm])$/.exec(name) ?? [];
  // Ollama writes the version without a hyphen: llama3.1:8b.
  return family === undefined || /distill/.test(family) ? null : `${family.replace(/^([a-z]+)-(?=\d)/, '$1')}:${size}`;
}

const compact = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, '');

function findModel(family: string, size: string): DownloadableModel | null {
  const tag = `${family}:${size}`;
  return DOWNLOADABLE_MODELS.find((model) => ollamaTag(model) === tag) ?? null;
}

function unknownTag(word: string, family: string): OperatorError {
  const tags = DOWNLOADABLE_MODELS.flatMap((model) => ollamaTag(model) ?? []);
  const familyTags = tags.filter((tag) => tag.startsWith(`${family}:`));
  const similar = suggestSimilar(word, tags);
  const suggestion =
    familyTags.length > 0 ? ` Known: ${familyTags.join(', ')}.` : similar === null ? '' : ` Did you mean '${similar}'?`;
  return new OperatorError(
    `There is no known source of '${word}'.${suggestion} Pull other models by hf:owner/repository/file.gguf or a URL.`,
  );
}
