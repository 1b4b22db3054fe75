import type { Deps } from '../deps.ts';
import { type ApiError, contentFiltered, engineUnavailable } from '../errors.ts';
import type { Call } from '../lib/caller.ts';
import { describeError } from '../lib/operator-error.ts';
import type { ModerationNotice, PolicyStage, Screen, ScreenedOutput } from '../lib/screen.ts';
import { type Evaluation, PolicyEvaluator } from './policy-evaluator.ts';
import { selectActivePolicy } from './store.ts';

/** How long a process may apply a policy that another process has changed. */
const MAX_STALE_MS = 1_000;
/** Compiled policies kept, least recently read first out: about 1 MB each at 1,000 topics. */
const MAX_COMPILED = 200;
/** `Retry-After` while texts cannot be scored. */
const RETRY_SECONDS = 5;
/** Replaces the content of a blocked answer. */
const FILTERED_CONTENT = 'This response was removed by the content policy of your organization.';
/** Reason of a notice when a policy that only warns could not be evaluated. */
const NOT_SCREENED = 'the content could not be screened';

/** Dependencies of `PolicyScreen`. */
export type ScreenDeps = Pick<Deps, 'db' | 'scoreTexts' | 'logger' | 'now'>;

interface CachedPolicy {
  version: string;
  id: string;
  evaluator: PolicyEvaluator;
}

/** Applies the newest enabled policy of the caller's organization to the texts of its calls. */
export class PolicyScreen implements Screen {
  readonly #deps: ScreenDeps;
  /** Least recently read first. Null: the organization has no enabled policy. */
  readonly #policies = new Map<string, { readAt: number; policy: Promise<CachedPolicy | null> }>();

  constructor(deps: ScreenDeps) {
    this.#deps = deps;
  }

  async input(call: Call, texts: readonly string[]): Promise<ModerationNotice | null> {
    const screened = await this.#screen(call, 'input', texts);
    if (screened === null) return null;
    const { notice } = screened;
    if (notice?.action === 'block') throw contentFiltered(notice.reasons, notice.policyId);
    return notice;
  }

  async output(call: Call, texts: readonly string[]): Promise<ScreenedOutput> {
    const screened = await this.#screen(call, 'output', texts);
    const replacements = texts.map((_, index) =>
      screened?.evaluations[index]?.action === 'block' ? FILTERED_CONTENT : null,
    );
    return { replacements, notice: screened?.notice ?? null };
  }

  async #screen(
    { caller: { organizationId } }: Call,
    stage: PolicyStage,
    texts: readonly string[],
  ): Promise<{ evaluations: Evaluation[]; notice: ModerationNotice | null } | null> {
    const active = await this.#activePolicy(organizationId);
    if (active === null || !active.evaluator.appliesTo(stage)) return null;
    const { id, evaluator } = active;
    try {
      const evaluations = await evaluator.evaluate(this.#deps, texts, organizationId);
      return { evaluations, notice: toNotice(evaluations, stage, id) };
    } catch (error) {
      const reason = describeError(error);
      this.#deps.logger.error(
        { policyId: id, organizationId, stage, reason },
        'texts could not be scored for a policy',
      );
      if (evaluator.policy.blockOnFlag) throw notScreened(error);
      const evaluations = await evaluator.evaluateTopics(texts);
      const known = toNotice(evaluations, stage, id);
      const reasons = [...(known?.reasons ?? []), NOT_SCREENED];
      return { evaluations, notice: { flagged: known !== null, action: 'warn', stage, policyId: id, reasons } };
    }
  }

  /** Reads the policy at most once per `MAX_STALE_MS`, and compiles it only when it has changed. */
  async #activePolicy(organizationId: string): Promise<CachedPolicy | null> {
    const now = this.#deps.now();
    const cached = this.#policies.get(organizationId);
    if (cached !== undefined && now - cached.readAt < MAX_STALE_MS) return cached.policy;
    const policy = this.#read(organizationId, cached?.policy);
    this.#policies.delete(organizationId);
    this.#policies.set(organizationId, { readAt: now, policy });
    policy.catch(() => this.#policies.delete(organizationId));
    const [oldest] = this.#policies.keys();
    if (this.#policies.size > MAX_COMPILED && oldest !== undefined) this.#policies.delete(oldest);
    return policy;
  }

  async #read(
    organizationId: string,
    previous: Promise<CachedPolicy | null> | undefined,
  ): Promise<CachedPolicy | null> {
    const [row, known] = await Promise.all([
      selectActivePolicy(this.#deps.db, organizationId),
      previous?.catch(() => null) ?? null,
    ]);
    if (row === null) return null;
    const isSame = known?.id === row.id && known.version === row.version;
    const evaluator = isSame ? known.evaluator : new PolicyEvaluator(row);
    return { id: row.id, version: row.version, evaluator };
  }
}

function toNotice(evaluations: readonly Evaluation[], stage: PolicyStage, policyId: string): ModerationNotice | null {
  const flagged = evaluations.filter(({ action }) => action !== 'pass');
  if (flagged.length === 0) return null;
  const action = flagged.some((evaluation) => evaluation.action === 'block') ? 'block' : 'warn';
  const reasons = [...new Set(flagged.flatMap((evaluation) => evaluation.reasons))];
  return { flagged: true, action, stage, policyId, reasons };
}

function notScreened(cause: unknown): ApiError {
  const message = 'The content policy of your organization could not be evaluated; try again in a moment.';
  return engineUnavailable(message, RETRY_SECONDS, cause);
}
