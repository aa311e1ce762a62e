import { HostProblem } from '../hosting/host-client.ts';
import { requestWriter } from '../output/request-text.ts';
import type { DriftFacts } from '../runs/accepted-values.ts';
import { executeProposal, proposalOf, proposeDrift } from '../runs/drift-request/propose-drift.ts';
import type { ProjectOrigin } from '../runs/drift-request/request-target.ts';
import { retryPause } from './loop.ts';
import { messageOf } from './messages.ts';
import { driftIn } from './plan-run.ts';
import type { RequestMemory, RunReport } from './run-report.ts';

/** The maximum pause that a response of a host may request. */
const MAX_PAUSE_MS = 20_000;
/** The maximum total time for which a host may delay a run. */
const TIMEOUT_MS = 60_000;
const RETRY_PAUSES = { firstRetry: 30_000, maxRetry: 3_600_000 };

/** The key if there is no drift, or none that manifests can express. */
const NO_DRIFT = 'nothing';

/** The data of a workspace without a request. With it, no request is searched for while there is no drift. */
export const NO_REQUEST: RequestMemory = { key: NO_DRIFT, kept: { is: 'none' }, failures: 0 };

interface UpdateInput extends DriftFacts {
  readonly origin: ProjectOrigin;
  /** Cancels the update. The data then remains unchanged. */
  readonly signal: AbortSignal;
}

/** Keeps the request of a workspace up to date with its drift from run to run. */
export class DriftRequest {
  #memory: RequestMemory;
  /** The drift for which the request was last created. */
  #lastProposal: (Pick<DriftFacts, 'resources'> & { readonly drift: string }) | undefined;

  constructor(memory: RequestMemory = { failures: 0 }) {
    this.#memory = memory;
  }

  async update({ triggers, ...facts }: UpdateInput & Pick<RunReport, 'triggers'>): Promise<RequestMemory> {
    const { resources } = facts;
    // Only scheduled runs respect the backoff of the host.
    const isRequested = triggers.some((trigger) => trigger !== 'interval' && trigger !== 'retry');
    const drift = JSON.stringify(driftIn(facts.drift));
    const isSame = this.#lastProposal?.resources === resources && this.#lastProposal.drift === drift;
    // Computing the edits reads all manifests again.
    if (isSame && !isRequested && this.#memory.key !== undefined) return this.#memory;
    this.#lastProposal = { resources, drift };
    this.#memory = await nextMemory(facts, this.#memory, { isRequested });
    return this.#memory;
  }
}

/** Updates the request and returns the data for the next run. A scheduled run skips a host in backoff. A failing host fails no run. */
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
  const within = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  try {
    const acceptance = await proposeDrift(facts);
    const hasNoDrift = acceptance.files.length === 0;
    if (hasNoDrift && memory.key === NO_DRIFT) return memory;
    const proposal = await proposalOf({ opened, drift, acceptance, origin, writer: requestWriter, signal: within });
    const key = hasNoDrift ? NO_DRIFT : proposal.key;
    if (key === memory.key) return memory;
    const request = await executeProposal(opened, proposal, { longestPause: MAX_PAUSE_MS, signal: within });
    // The next run rechecks a request that a person may change.
    const isSettled = request.is !== 'foreign' && request.is !== 'behind';
    return { ...(isSettled && { key }), kept: request, failures: 0 };
  } catch (error) {
    if (signal.aborted) return memory;
    const failures = memory.failures + 1;
    const failure = error instanceof HostProblem ? error.failure : undefined;
    const until = failure?.why === 'limited' ? failure.until.getTime() : 0;
    const pause = retryPause(RETRY_PAUSES, failures, Math.random());
    const retryAt = new Date(Math.max(until, now.getTime() + pause)).toISOString();
    const problem = within.aborted
      ? `the host of pull requests did not answer within ${TIMEOUT_MS / 1000} s`
      : // Removes the hint to try again, because the next run does so.
        context.redactor.redact(messageOf(until === 0 ? error : (error as Error).message, opened.selection));
    return { kept: memory.kept, failures, problem, retryAt };
  }
}
