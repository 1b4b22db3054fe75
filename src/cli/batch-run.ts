import { OperatorError } from '../lib/operator-error.ts';
import { openApiClient } from './api-client.ts';
import type { BatchRunResult } from './batch/run-batch-file.ts';
import { CliCommand } from './command.ts';
import { runInterruptible } from './interrupted.ts';
import { formatCount, printResult } from './output.ts';
import { StatusLine } from './status-line.ts';

/** Maximum number of validation errors that are listed. */
const MAX_LISTED_ERRORS = 20;

/** `quire batch`. */
export function batchCommand(): CliCommand {
  const batch = new CliCommand('batch').description('Run files of requests as batches.');
  batch
    .command('run')
    .summary('Run the requests of a JSONL file')
    .description(
      'Run the requests of a JSONL file as a batch and write the results beside it. Ctrl-C leaves the batch running; the same command watches it again.',
    )
    .argument('<file>', 'JSONL file with one request per line')
    .requiredOption(
      '--endpoint <path>',
      'Endpoint of the requests: /v1/chat/completions, /v1/completions or /v1/embeddings',
    )
    .jsonOption()
    .examples('batch run requests.jsonl --endpoint /v1/chat/completions')
    .action(runBatch);
  return batch;
}

async function runBatch(path: string, { endpoint, ...options }: { endpoint: string; json?: boolean }): Promise<void> {
  const api = await openApiClient();
  const { runBatchFile } = await import('./batch/run-batch-file.ts');
  const line = new StatusLine(process.stderr);
  const result = await runInterruptible((signal) => runBatchFile(api, { path, endpoint }, line, signal)).finally(() =>
    line.end(),
  );
  printResult(options, result, () => formatSummary(result));
  requireSuccess(result);
}

function formatSummary({ batch, output_path, error_path }: BatchRunResult): string {
  const { completed, total } = batch.request_counts;
  const errors = batch.errors?.data ?? [];
  const more = errors.length - MAX_LISTED_ERRORS;
  return [
    `Batch ${batch.id}: ${batch.status}, ${completed.toLocaleString('en-US')} of ${formatCount(total, 'request')} completed.`,
    ...(output_path === null ? [] : [`Results: ${output_path}`]),
    ...(error_path === null ? [] : [`Failed requests: ${error_path}`]),
    ...errors
      .slice(0, MAX_LISTED_ERRORS)
      .map(({ line, code, message }) => `${line === null ? 'File' : `Line ${line}`}: ${code}: ${message}`),
    ...(more > 0 ? [`${formatCount(more, 'more error')}.`] : []),
  ].join('\n');
}

/** Throws unless every request has completed, so that the exit code says so. */
function requireSuccess({ batch }: BatchRunResult): void {
  if (batch.status === 'failed') throw new OperatorError('The input file is not valid.');
  const { failed } = batch.request_counts;
  if (failed > 0) throw new OperatorError(`${formatCount(failed, 'request')} failed.`);
  if (batch.status !== 'completed') throw new OperatorError(`The batch is ${batch.status}.`);
}
