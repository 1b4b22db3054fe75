import type { Deps } from '../deps.ts';
import { type ApiError, contentFiltered, engineUnavailable } from '../errors.ts';
import { describeError } from '../lib/operator-error.ts';
import { ReadCache } from '../lib/read-cache.ts';
import type { ModerationNotice, PolicyStage, Screen, ScreenedOutput, ScreenSubject } from '../lib/screen.ts';
import { recordBlock } from './blocks.ts';
import { type Evaluation, PolicyEvaluator } from './policy-evaluator.ts';
import { selectActivePolicy } from './store.ts';

/** How long a process may apply a policy that another process has changed. */
const MAX_STALE_MS = 1_000;
/** Cached policies: about 1 MB each at 1,000 topics. */
const MAX_POLICIES = 200;
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
  /** By organization. Null: the organization has no enabled policy. */
  readonly #policies: ReadCache<CachedPolicy | null>;

  constructor(deps: ScreenDeps) {
    this.#deps = deps;
    this.#policies = new ReadCache({ ttlMs: MAX_STALE_MS, maxEntries: MAX_POLICIES, now: deps.now });
  }

  async input(subject: ScreenSubject, texts: readonly string[]): Promise<ModerationNotice | null> {
    const screened = await this.#screen(subject, 'input', texts);
    if (screened === null) return null;
    const { notice } = screened;
    if (notice?.action === 'block') {
      await recordBlock(this.#deps, subject, notice);
      throw contentFiltered(notice.reasons, notice.policyId);
    }
    return notice;
  }

  async output(subject: ScreenSubject, texts: readonly string[]): Promise<ScreenedOutput> {
    const screened = await this.#screen(subject, 'output', texts);
    if (screened?.notice?.action === 'block') await recordBlock(this.#deps, subject, screened.notice);
    const replacements = texts.map((_, index) =>
      screened?.evaluations[index]?.action === 'block' ? FILTERED_CONTENT : null,
    );
    return { replacements, notice: screened?.notice ?? null };
  }

  async #screen(
    { call }: ScreenSubject,
    stage: PolicyStage,
    texts: readonly string[],
  ): Promise<{ evaluations: Evaluation[]; notice: ModerationNotice | null } | null> {
    const { organizationId } = call.caller;
    const cached = this.#policies.get(organizationId, (previous) => this.#read(organizationId, previous));
    const active = cached instanceof Promise ? await cached : cached;
    if (active === null || !active.evaluator.appliesTo(stage)) return null;
    const { id, evaluator } = active;
    const startedAt = Date.now();
    const screened = (evaluations: Evaluation[], notice: ModerationNotice | null) => {
      call.log?.addScreening(stage, screeningResult(notice), startedAt);
      return { evaluations, notice };
    };
    try {
      const evaluations = await evaluator.evaluate(this.#deps, texts, organizationId);
      return screened(evaluations, toNotice(evaluations, stage, id));
    } catch (error) {
      const reason = describeError(error);
      this.#deps.logger.error(
        { policyId: id, organizationId, stage, reason },
        'texts could not be scored for a policy',
      );
      if (evaluator.policy.blockOnFlag) throw notScreened(error);
      const evaluations = await evaluator.evaluateTopics(texts, organizationId);
      const ofTopics = toNotice(evaluations, stage, id);
      const reasons = [...(ofTopics?.reasons ?? []), NOT_SCREENED];
      return screened(evaluations, { flagged: ofTopics !== null, action: 'warn', stage, policyId: id, reasons });
    }
  }

  /** Compiles a policy only when it has changed. */
  async #read(organizationId: string, previous: CachedPolicy | null | undefined): Promise<CachedPolicy | null> {
    const row = await selectActivePolicy(this.#deps.db, organizationId);
    if (row === null) return null;
    const isSame = previous?.id === row.id && previous.version === row.version;
    const evaluator = isSame ? previous.evaluator : new PolicyEvaluator(row);
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

function screeningResult(notice: ModerationNotice | null): 'passed' | 'flagged' | 'blocked' {
  if (notice === null) return 'passed';
  return notice.action === 'block' ? 'blocked' : 'flagged';
}

function notScreened(cause: unknown): ApiError {
  const message = 'The content policy of your organization could not be evaluated; try again in a moment.';
  return engineUnavailable(message, RETRY_SECONDS, cause);
}
