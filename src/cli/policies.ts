import { InvalidArgumentError, Option } from 'commander';
import { MODERATION_CATEGORIES } from '../engines/moderation-engine.ts';
import type { GuardrailPolicy, PolicyTest } from '../guardrails/schema.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { type ApiClient, openApiClient } from './api-client.ts';
import { CliCommand } from './command.ts';
import { requireConfirmation } from './confirm.ts';
import { formatTable, formatTime, printResult } from './output.ts';
import { collectValues } from './parse-values.ts';

const PATH = '/v1/guardrail-policies';

/** `quire policies`. */
export function policiesCommand(): CliCommand {
  const policies = new CliCommand('policies').description(
    'Manage guardrail policies. The newest enabled one screens the calls of the organization.',
  );
  policies.command('list').description('List the policies, newest first.').jsonOption().action(listPolicies);
  policies
    .command('create')
    .summary('Create a policy')
    .description('Create a policy. It applies at once unless --disabled is set.')
    .argument('<name>', 'Name')
    .option('--block <topic>', 'Topic that blocks a call; repeatable', collectValues)
    .option('--warn <topic>', 'Topic that passes with a warning; repeatable', collectValues)
    .option('--threshold <category=score>', 'Score from which a category flags, 0 to 1; repeatable', collectThreshold)
    .addOption(
      new Option('--apply-to <what>', 'What is screened').choices(['input', 'output', 'both']).default('input'),
    )
    .option('--warn-only', 'Flagged content passes with a warning')
    .option('--disabled', 'Create the policy without applying it')
    .jsonOption()
    .examples(
      'policies create Support --block "legal advice" --warn layoffs --apply-to both',
      'policies create Strict --threshold violence=0.3 --threshold hate=0.3',
    )
    .action(createPolicy);
  policies
    .command('test')
    .summary('Screen a text with a policy, without any effect')
    .description('Screen a text with a policy, enabled or not, and print what it would do.')
    .argument('<policy>', 'Name or id')
    .argument('<text...>', 'Words of the text')
    .jsonOption()
    .action(testPolicy);
  for (const [verb, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const) {
    policies
      .command(verb)
      .description(`${enabled ? 'Enable' : 'Disable'} a policy.`)
      .argument('<policy>', 'Name or id')
      .jsonOption()
      .action((policy: string, options: { json?: boolean }) => setEnabled(policy, enabled, options));
  }
  policies
    .command('delete')
    .description('Delete a policy.')
    .argument('<policy>', 'Name or id')
    .option('--yes', 'Delete without asking')
    .jsonOption()
    .action(deletePolicy);
  return policies;
}

function collectThreshold(text: string, earlier: Record<string, number> = {}): Record<string, number> {
  const [category = '', score = ''] = text.split('=');
  const value = score.trim() === '' ? Number.NaN : Number(score);
  if (!(MODERATION_CATEGORIES as readonly string[]).includes(category) || !(value >= 0 && value <= 1)) {
    throw new InvalidArgumentError(
      `Expected CATEGORY=SCORE with a score of 0 to 1; categories: ${MODERATION_CATEGORIES.join(', ')}.`,
    );
  }
  return { ...earlier, [category]: value };
}

async function listPolicies(options: { json?: boolean }): Promise<void> {
  const policies = await Array.fromAsync((await openApiClient()).list<GuardrailPolicy>(PATH, { order: 'desc' }));
  printResult(options, policies, () =>
    policies.length === 0
      ? "There are no policies: nothing is screened. 'quire policies create' creates one."
      : formatTable([
          ['NAME', 'ENABLED', 'FLAGGED', 'APPLIES TO', 'TOPICS', 'CREATED', 'ID'],
          ...policies.map((policy) => [
            policy.name,
            policy.enabled ? 'yes' : 'no',
            policy.block_on_flag ? 'blocked' : 'warning',
            policy.apply_to.join(', '),
            String(policy.topic_deny_list.length),
            formatTime(policy.created_at),
            policy.id,
          ]),
        ]),
  );
}

interface CreateOptions {
  block?: string[];
  warn?: string[];
  threshold?: Record<string, number>;
  applyTo: string;
  warnOnly?: boolean;
  disabled?: boolean;
  json?: boolean;
}

async function createPolicy(name: string, options: CreateOptions): Promise<void> {
  const toRules = (topics: readonly string[] = [], action: string) => topics.map((topic) => ({ topic, action }));
  const body = {
    name,
    enabled: options.disabled !== true,
    block_on_flag: options.warnOnly !== true,
    topic_deny_list: [...toRules(options.block, 'block'), ...toRules(options.warn, 'warn')],
    apply_to: [options.applyTo],
    ...(options.threshold && { thresholds: options.threshold }),
  };
  const policy = await (await openApiClient()).json<GuardrailPolicy>('POST', PATH, body);
  printResult(
    options,
    policy,
    () => `Created '${policy.name}' (${policy.id}), ${policy.enabled ? 'enabled' : 'disabled'}.`,
  );
}

async function testPolicy(policy: string, words: readonly string[], options: { json?: boolean }): Promise<void> {
  const api = await openApiClient();
  const { id } = await requirePolicy(api, policy);
  const test = await api.json<PolicyTest>('POST', `${PATH}/${id}/test`, { input: words.join(' ') });
  printResult(options, test, () =>
    test.results
      .map(({ action, reasons }) => (reasons.length === 0 ? action : `${action}: ${reasons.join(', ')}`))
      .join('\n'),
  );
}

async function setEnabled(policy: string, enabled: boolean, options: { json?: boolean }): Promise<void> {
  const api = await openApiClient();
  const { id, name } = await requirePolicy(api, policy);
  const changed = await api.json<GuardrailPolicy>('PUT', `${PATH}/${id}`, { enabled });
  printResult(options, changed, () => `${enabled ? 'Enabled' : 'Disabled'} '${name}' (${id}).`);
}

async function deletePolicy(policy: string, { yes, ...options }: { yes?: boolean; json?: boolean }): Promise<void> {
  const api = await openApiClient();
  const { id, name, enabled } = await requirePolicy(api, policy);
  await requireConfirmation(yes, `This deletes the ${enabled ? 'enabled' : 'disabled'} policy '${name}'.`);
  const deleted = await api.json<{ id: string }>('DELETE', `${PATH}/${id}`);
  printResult(options, deleted, () => `Deleted '${name}' (${id}).`);
}

/** Finds a policy by id or name. Throws an `OperatorError` when none matches, or several have the name. */
async function requirePolicy(api: ApiClient, idOrName: string): Promise<GuardrailPolicy> {
  const policies = await Array.fromAsync(api.list<GuardrailPolicy>(PATH));
  const matches = policies.filter(({ id, name }) => id === idOrName || name === idOrName);
  if (matches.length > 1) throw new OperatorError(`Several policies are named '${idOrName}': use the id instead.`);
  if (matches[0] !== undefined) return matches[0];
  throw new OperatorError(`There is no policy '${idOrName}'. 'quire policies list' shows all.`);
}
