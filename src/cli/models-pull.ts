import { loadConfig } from '../config.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { isSourceForm, parseModelSource } from '../models/downloads/model-source.ts';
import type { PulledModel } from '../models/downloads/pull-model.ts';
import { type CommandSpec, UsageError } from './command-spec.ts';
import { formatMegabytes, JSON_OPTION, printResult } from './output.ts';
import { ProgressLine } from './progress-line.ts';

const HASH_SOURCE = {
  operator: 'as given',
  hub: 'as stated by the hub',
  nobody: 'not verified: compare it with the published one',
} as const;

/** `quire models pull`. */
export const modelsPullCommand: CommandSpec = {
  summary:
    "Download a model into the data folder: a name of 'quire models list', hf:owner/repository/file.gguf, or the URL of a GGUF. Resumes an interrupted pull.",
  words: ['source'],
  options: {
    name: { type: 'text', help: 'Name of the model (default: the file name).' },
    sha256: { type: 'text', help: 'Expected SHA-256 (default: the one that the hub states).' },
    ...JSON_OPTION,
  },
  action: async (input) => {
    const [word = ''] = input.words;
    const { name, sha256 = null } = input.options;
    if (!isSourceForm(word))
      throw new UsageError(`'${word}' is not a model name, hf:owner/repository/file.gguf or a URL.`);
    if (sha256 !== null && !/^[0-9a-f]{64}$/i.test(sha256))
      throw new UsageError('A SHA-256 has 64 hexadecimal digits.');
    const config = loadConfig();
    const source = parseModelSource(word, config.hubUrl, name);
    const stop = new AbortController();
    process.once('SIGINT', () =>
      stop.abort(new OperatorError('Stopped. The received part is kept: the same pull resumes it.')),
    );
    const line = new ProgressLine(process.stderr);
    const { pullModel } = await import('../models/downloads/pull-model.ts');
    try {
      const options = {
        sha256: sha256?.toLowerCase() ?? null,
        onProgress: (transferred: Parameters<ProgressLine['show']>[0]) => line.show(transferred),
        onRetry: (reason: string, pauseMs: number) =>
          line.printLine(`${reason}; retrying in ${Math.ceil(pauseMs / 1000)} s`),
      };
      const pulled = await pullModel({ config }, source, options, stop.signal);
      line.end();
      const { name: called, path, bytes, card, isNew } = pulled;
      printResult(input, { name: called, path, bytes, is_new: isNew, ...card }, () => describePull(pulled));
    } finally {
      line.end();
    }
  },
};

function describePull({ name, bytes, card, isNew }: PulledModel): string {
  const parameters =
    card === null ? '' : `, ${card.architecture}, ${(card.parameters / 1e9).toFixed(2)} billion parameters`;
  const id =
    card?.use === 'embedding' ? 'embed-large-en-v1.5' : card?.use === 'rerank' ? 'reranker-v2-m3' : 'general-8b';
  return [
    `${name} is on the disk${isNew ? '' : ' already'}: ${formatMegabytes(bytes)}${parameters}.`,
    ...(card === null ? [] : [`SHA-256 ${card.sha256} (${HASH_SOURCE[card.sha256_from]})`]),
    `Bind it: quire models use ${id}=${name}`,
  ].join('\n');
}
