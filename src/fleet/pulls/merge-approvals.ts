import type { Reviews } from '../../hosting/pull-requests.ts';
import type { WatchLog } from '../../operator/watch-log.ts';
import { plural } from '../../output/plural.ts';
import type { FleetDatabase } from '../database/fleet-database.ts';
import { ruleOf } from '../fleet-file.ts';
import { decidePlan, lockCurrentPlan } from '../rows/decision-rows.ts';
import { type ClaimedPull, enterOutcome, type FinishedPull, type MergedPlan, mergedPlans } from '../rows/pull-rows.ts';
import { lockRows } from '../rows/run-rows.ts';
import type { WorkerOptions } from '../worker.ts';
import type { PullHost } from './pull-hosts.ts';

/** Milliseconds between two comparisons with the plans after a merge: soon after it, then by the interval of the source. */
const SOON = 1000;
const SOON_FOR = 120_000;
/** Milliseconds after which reviews that were too few are read again. */
const REVIEWS_AGAIN = 30_000;
/** The number of later looks at a merged request in the time since its merge, so that one that waits for days costs few requests. */
const CHECKS_PER_AGE = 20;
/** The number of characters of a problem. */
const LONGEST = 1000;

interface ApprovalOptions extends Pick<WorkerOptions, 'rules'> {
  readonly database: FleetDatabase;
  readonly log: WatchLog;
}

/** Approves plans after the merge of the request in which they were reviewed. */
export class MergeApprovals {
  readonly #options: ApprovalOptions;
  readonly #reviews = new Map<string, { readonly at: number; readonly reviews: Reviews }>();

  constructor(options: ApprovalOptions) {
    this.#options = options;
  }

  /** Approves the waiting plans that are exactly those of a merged request and that were reviewed. */
  async decide(pull: ClaimedPull, host: PullHost): Promise<FinishedPull> {
    const { database, rules } = this.#options;
    const plans = (await mergedPlans(database, pull)).filter(
      ({ address }) => ruleOf(rules, address).reviews !== undefined,
    );
    if (pull.plannedHead !== pull.head) {
      const problem =
        'The plan of its last commit was not reported before the merge, so a person approves the plan after the merge.';
      for (const { address } of plans) await enterOutcome(database, pull, { address, outcome: problem });
      return { isPlanned: false, problem, again: undefined };
    }
    const undecided = plans.filter(({ isApproved }) => !isApproved);
    for (const plan of undecided) await this.#decidePlan(pull, host, plan);
    const age = Date.now() - pull.since.getTime();
    const later = Math.max(host.interval, REVIEWS_AGAIN, age / CHECKS_PER_AGE);
    const again = undecided.length === 0 ? undefined : age < SOON_FOR ? SOON : later;
    if (again === undefined) this.#reviews.delete(keyOf(pull));
    return { isPlanned: false, problem: undefined, again };
  }

  async #decidePlan(pull: ClaimedPull, host: PullHost, merged: MergedPlan): Promise<void> {
    const { address, digest, current } = merged;
    const { database, rules, log } = this.#options;
    const outcome = (text: string, isApproved = false) =>
      enterOutcome(database, pull, { address, outcome: text, isApproved });
    if (current === undefined) {
      const text = withoutPlan(merged);
      return text === undefined ? undefined : outcome(text);
    }
    if (digest === undefined) return outcome('The request changed settings that only a person can approve.');
    if (current.digest !== digest) return outcome('The plan after the merge differs from the reviewed plan.');
    const { id, state, decidedBy } = current;
    if (state === 'rejected') return outcome(`Plan ${id} was rejected by ${decidedBy}.`);
    if (state !== 'waiting') return outcome(`Plan ${id} was approved by ${decidedBy}.`, true);
    const { approvals, objections } = await this.#reviewsOf(pull, host);
    const needed = ruleOf(rules, address).reviews ?? 1;
    if (objections.length > 0) return outcome(`Changes were requested by ${objections.join(', ')}.`);
    if (approvals.length < needed)
      return outcome(
        `The merged commit has ${approvals.length} of ${plural(needed, 'required review')}${approvals.length === 0 ? '' : `, by ${approvals.join(', ')}`}.`,
      );
    const reviewers = approvals.length === 0 ? '' : `, reviewed by ${approvals.join(', ')}`;
    const by = `${pull.source} pull request ${pull.number}${reviewers}`;
    const isApproved = await database.atomically(async (statements) => {
      await lockRows(statements, [address]);
      const open = await lockCurrentPlan(statements, address);
      // A person may have rejected it meanwhile, or a run may have replaced it.
      if (open?.id !== id || open.state !== 'waiting') return false;
      await decidePlan(statements, { address, id, by }, 'approved');
      const text = `Plan ${id} was approved by the merge${reviewers}.`;
      await enterOutcome(statements, pull, { address, outcome: text, isApproved: true });
      return true;
    });
    if (isApproved)
      log.entry('info', `approved plan ${id} of ${address}: ${by}`, { event: 'approved', workspace: address });
  }

  async #reviewsOf(pull: ClaimedPull, { pulls }: PullHost): Promise<Reviews> {
    const known = this.#reviews.get(keyOf(pull));
    if (known !== undefined && Date.now() - known.at < REVIEWS_AGAIN) return known.reviews;
    const reviews = await pulls.reviews(pull);
    this.#reviews.set(keyOf(pull), { at: Date.now(), reviews });
    return reviews;
  }
}

/** Why no plan waits after a merge; undefined while a run may still leave one. */
function withoutPlan({ run, isDecided }: MergedPlan): string | undefined {
  if (run === undefined || run.result === 'busy' || run.result === 'interrupted') return undefined;
  const { result, problem } = run;
  if (result === 'ok') return isDecided ? undefined : 'The merge left nothing to change.';
  const what = result === 'refused' ? 'was refused' : result === 'invalid' ? 'found invalid manifests' : 'failed';
  return `The run after the merge ${what}${problem === undefined ? '.' : `: ${problem.slice(0, LONGEST)}`}`;
}

function keyOf({ source, number, head }: ClaimedPull): string {
  return JSON.stringify([source, number, head]);
}
