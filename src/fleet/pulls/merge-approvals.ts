import type { Reviews } from '../../hosting/pull-requests.ts';
import type { WatchLog } from '../../operator/watch-log.ts';
import { plural } from '../../output/plural.ts';
import type { FleetDatabase } from '../database/fleet-database.ts';
import { ruleOf } from '../fleet-file.ts';
import { decidePlan, lockCurrentPlan } from '../rows/decision-rows.ts';
import { type ClaimedPull, type FinishedPull, type MergedPlan, mergedPlans, storeOutcome } from '../rows/pull-rows.ts';
import { lockRows } from '../rows/run-rows.ts';
import type { WorkerOptions } from '../worker.ts';
import type { PullHost } from './pull-hosts.ts';

/** Milliseconds between two checks of a merged request in the first phase after the merge, and the duration of that phase. */
const FIRST_INTERVAL_MS = 1000;
const FIRST_PHASE_MS = 120_000;
/** Milliseconds for which reviews are cached. */
const REVIEWS_MAX_AGE_MS = 30_000;
/** After the first phase, the interval is at least the time since the merge divided by this number, so that old merges cost little. */
const CHECKS_PER_AGE = 20;
/** The maximum number of characters of a problem. */
const MAX_PROBLEM_LENGTH = 1000;

interface ApprovalOptions extends Pick<WorkerOptions, 'rules'> {
  readonly database: FleetDatabase;
  readonly log: WatchLog;
}

/** Approves plans after the merge of the pull request in which they were reviewed. */
export class MergeApprovals {
  readonly #options: ApprovalOptions;
  readonly #reviews = new Map<string, { readonly until: number; readonly reviews: Reviews }>();

  constructor(options: ApprovalOptions) {
    this.#options = options;
  }

  /** Approves the pending plans that are equal to the reviewed plans of a merged request. */
  async decide(pull: ClaimedPull, host: PullHost): Promise<FinishedPull> {
    const { database, rules } = this.#options;
    const plans = (await mergedPlans(database, pull)).filter(
      ({ address }) => ruleOf(rules, address).reviews !== undefined,
    );
    if (pull.plannedHead !== pull.head) {
      const problem =
        'The plan of the last commit was not reported before the merge, so a person must approve the plan after the merge.';
      for (const { address } of plans) await storeOutcome(database, pull, { address, outcome: problem });
      return { isPlanned: false, problem, retryAfter: undefined };
    }
    const undecided = plans.filter(({ isApproved }) => !isApproved);
    for (const plan of undecided) await this.#decidePlan(pull, host, plan);
    const { age } = pull;
    const later = Math.max(host.interval, REVIEWS_MAX_AGE_MS, age / CHECKS_PER_AGE);
    const retryAfter = undecided.length === 0 ? undefined : age < FIRST_PHASE_MS ? FIRST_INTERVAL_MS : later;
    return { isPlanned: false, problem: undefined, retryAfter };
  }

  async #decidePlan(pull: ClaimedPull, host: PullHost, merged: MergedPlan): Promise<void> {
    const { address, digest, current } = merged;
    const { database, rules, log } = this.#options;
    const outcome = (text: string, isApproved = false) =>
      storeOutcome(database, pull, { address, outcome: text, isApproved });
    if (current === undefined) {
      const text = missingPlanReason(merged);
      return text === undefined ? undefined : outcome(text);
    }
    if (digest === undefined) return outcome('The request changed settings that only a person can approve.');
    if (current.digest !== digest) return outcome('The plan after the merge differs from the reviewed plan.');
    const { id, state, decidedBy } = current;
    if (state === 'rejected') return outcome(`Plan ${id} was rejected by ${decidedBy}.`);
    if (state !== 'waiting') return outcome(`Plan ${id} was approved by ${decidedBy}.`, true);
    const { approvals, objections } = await this.#reviewsOf(pull, host);
    const required = ruleOf(rules, address).reviews ?? 1;
    if (objections.length > 0) return outcome(`Changes were requested by ${objections.join(', ')}.`);
    if (approvals.length < required)
      return outcome(
        `The merged commit has ${approvals.length} of ${plural(required, 'required review')}${approvals.length === 0 ? '' : `, by ${approvals.join(', ')}`}.`,
      );
    const reviewers = approvals.length === 0 ? '' : `, reviewed by ${approvals.join(', ')}`;
    const by = `${pull.source} pull request ${pull.number}${reviewers}`;
    const isApproved = await database.atomically(async (statements) => {
      await lockRows(statements, [address]);
      const open = await lockCurrentPlan(statements, address);
      // The plan may have been rejected or replaced in the meantime.
      if (open?.id !== id || open.state !== 'waiting') return false;
      await decidePlan(statements, { address, id, by }, 'approved');
      const text = `Plan ${id} was approved by the merge${reviewers}.`;
      await storeOutcome(statements, pull, { address, outcome: text, isApproved: true });
      return true;
    });
    if (isApproved)
      log.entry('info', `approved plan ${id} of ${address}: ${by}`, { event: 'approved', workspace: address });
  }

  async #reviewsOf(pull: ClaimedPull, { pulls }: PullHost): Promise<Reviews> {
    const now = performance.now();
    // Another process may decide the request, so no event ends the need for an entry.
    for (const [key, { until }] of this.#reviews) if (until <= now) this.#reviews.delete(key);
    const key = JSON.stringify([pull.source, pull.number, pull.head]);
    const cached = this.#reviews.get(key);
    if (cached !== undefined) return cached.reviews;
    const reviews = await pulls.reviews(pull);
    this.#reviews.set(key, { until: now + REVIEWS_MAX_AGE_MS, reviews });
    return reviews;
  }
}

/** Returns the reason why there is no pending plan after a merge; undefined while a run may still create a plan. */
function missingPlanReason({ run, isDecided }: MergedPlan): string | undefined {
  if (run === undefined || run.result === 'busy' || run.result === 'interrupted') return undefined;
  const { result, problem } = run;
  if (result === 'ok') return isDecided ? undefined : 'The merge left nothing to change.';
  const predicate = result === 'refused' ? 'was refused' : result === 'invalid' ? 'found invalid manifests' : 'failed';
  return `The run after the merge ${predicate}${problem === undefined ? '.' : `: ${problem.slice(0, MAX_PROBLEM_LENGTH)}`}`;
}
