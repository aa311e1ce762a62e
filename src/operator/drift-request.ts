import { HostProblem } from '../hosting/host-client.ts';
import { requestWriter } from '../output/request-text.ts';
import type { DriftFacts } from '../runs/accepted-values.ts';
import { executeProposal, proposalOf, proposeDrift } from '../runs/drift-request/propose-drift.ts';
import type { ProjectOrigin } from '../runs/drift-request/request-target.ts';
import { retryPause } from './loop.ts';
import { messageOf } from './messages.ts';
import { driftIn } from './plan-run.ts';
import type { RequestMemory, RunReport } from './run-report.ts';

/** The maximum pause that a response from the host may request. */
const MAX_PAUSE_MS = 20_000;
/** The maximum total time for which the host may delay a run. */
const TIMEOUT_MS = 60_000;
const RETRY_PAUSES = { firstRetry: 30_000, maxRetry: 3_600_000 };

/** The key if there is no drift, or if manifests cannot express the drift. */
const NO_DRIFT = 'nothing';

/** The data of a workspace without a request. The host is then not searched for a request until drift occurs. */
export const NO_REQUEST: RequestMemory = { key: NO_DRIFT, kept: { is: 'none' }, failures: 0 };

interface UpdateInput extends DriftFacts {
  readonly origin: ProjectOrigin;
  /** Aborting this signal cancels the update and leaves the data unchanged. */
  readonly signal: AbortSignal;
}

/** Updates the drift request of a workspace after each run. */
export class DriftRequest {
  #memory: RequestMemory;
  /** The resources and the drift of the last update. */
  #lastProposal: (Pick<DriftFacts, 'resources'> & { readonly drift: string }) | undefined;

  constructor(memory: RequestMemory = { failures: 0 }) {
    this.#memory = memory;
  }

  async update({ triggers, ...facts }: UpdateInput & Pick<RunReport, 'triggers'>): Promise<RequestMemory> {
    const { resources } = facts;
    // Only scheduled runs respect the backoff after a failed request to the host.
    const isRequested = triggers.some((trigger) => trigger !== 'interval' && trigger !== 'retry');
    const drift = JSON.stringify(driftIn(facts.drift));
    const isSame = this.#lastProposal?.resources === resources && this.#lastProposal.drift === drift;
    // If nothing changed, do not compute the edits again, because that reads all manifests.
    if (isSame && !isRequested && this.#memory.key !== undefined) return this.#memory;
    this.#lastProposal = { resources, drift };
    this.#memory = await nextMemory(facts, this.#memory, { isRequested });
    return this.#memory;
  }
}

/** Updates the request. A scheduled run does not contact the host during a backoff. An error of the host does not fail the run. */
async function nextMemory(
  { origin, signal, ...facts }: UpdateInput,
  memory: RequestMemory,
  { isRequested }: { readonly isRequested: boolean },
): Promise<RequestMemory> {
  const { opened, drift } = facts;
  const { context } = opened;
  const now = context.now();
  const isInBackoff = memory.retryAt !== undefined && Date.parse(memory.retryAt) > now.getTime();
  if (signal.aborted || (isInBackoff && !isRequested)) return memory;
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  try {
    const acceptance = await proposeDrift(facts);
    const hasNoDrift = acceptance.files.length === 0;
    if (hasNoDrift && memory.key === NO_DRIFT) return memory;
    const proposal = await proposalOf({ opened, drift, acceptance, origin, writer: requestWriter, signal: deadline });
    const key = hasNoDrift ? NO_DRIFT : proposal.key;
    if (key === memory.key) return memory;
    const request = await executeProposal(opened, proposal, { maxPauseMs: MAX_PAUSE_MS, signal: deadline });
    // A person may change a `foreign` or `behind` request, so the next run checks it again.
    const isSettled = request.is !== 'foreign' && request.is !== 'behind';
    return { ...(isSettled && { key }), kept: request, failures: 0 };
  } catch (error) {
    if (signal.aborted) return memory;
    const failures = memory.failures + 1;
    const failure = error instanceof HostProblem ? error.failure : undefined;
    const until = failure?.reason === 'limited' ? failure.until.getTime() : 0;
    const pause = retryPause(RETRY_PAUSES, failures, Math.random());
    const retryAt = new Date(Math.max(until, now.getTime() + pause)).toISOString();
    const problem = deadline.aborted
      ? `the pull request host did not respond within ${TIMEOUT_MS / 1000} s`
      : // Omit the hint to try again later, because the next run tries again.
        context.redactor.redact(messageOf(until === 0 ? error : (error as Error).message, opened.selection));
    return { kept: memory.kept, failures, problem, retryAt };
  }
}
