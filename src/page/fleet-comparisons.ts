import type { FleetControl } from '../fleet/control.ts';
import type { FleetDatabase } from '../fleet/database/fleet-database.ts';
import { type ComparisonRequest, claimComparison, storeComparison } from '../fleet/rows/comparison-rows.ts';
import type { MemberRuns } from '../fleet/run-member.ts';
import { isExpected, messageOf } from '../operator/messages.ts';
import { originOf } from '../platform/base-url.ts';
import { UserError } from '../problems/user-error.ts';
import { type OpenWorkspace, openWorkspace } from '../runs/open-workspace.ts';
import { versionedRecord } from '../runs/versioned-record.ts';
import { Redactor } from '../values/redactor.ts';
import { callsHtml } from './call-comparisons.ts';
import { durationText } from './views/parts.ts';

interface ComparisonOptions extends Pick<MemberRuns, 'sources' | 'context' | 'shared'> {
  readonly database: FleetDatabase;
  readonly control: Pick<FleetControl, 'project'>;
  /** The maximum duration of a comparison in milliseconds. */
  readonly timeoutMs: number;
  onError(error: unknown): void;
}

/**
 * Compares the calls of versions in the background, within the request limit of this process and with one comparison per platform at a
 * time. Stores the results in the database, where all processes read them.
 */
export class FleetComparisons {
  readonly #options: ComparisonOptions;
  readonly #stop = new AbortController();
  readonly #running = new Set<Promise<void>>();

  constructor(options: ComparisonOptions) {
    this.#options = options;
  }

  /**
   * Starts a comparison.
   * @throws UserError if it cannot start now.
   */
  async begin(request: ComparisonRequest): Promise<void> {
    const { database, context, timeoutMs, onError } = this.#options;
    const redactor = new Redactor();
    const textOfError = (error: unknown): string => redactor.redact(messageOf(error, { member: request.address }));
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      const opened = await this.#open(request.address, redactor, AbortSignal.any([this.#stop.signal, timeout]));
      const record = versionedRecord(request.resource, await opened.stateWithoutWarnings());
      const baseUrl = originOf(opened.workspace.baseUrl);
      const claim = await claimComparison(database, { ...request, baseUrl, timeout: timeoutMs });
      const redact = (text: string): string => redactor.redact(text);
      const reading = callsHtml(opened, record, { now: context.now(), redact }).then(
        (html) => ({ html }),
        (error: unknown) => ({
          problem: this.#stop.signal.aborted
            ? 'The process that read the calls was stopped.'
            : timeout.aborted
              ? `Reading the calls took longer than ${durationText(timeoutMs / 1000)}.`
              : textOfError(error),
        }),
      );
      const done = reading.then((result) => storeComparison(database, { ...request, claim }, result));
      const running = done.catch(onError).finally(() => this.#running.delete(running));
      this.#running.add(running);
    } catch (error) {
      if (!isExpected(error)) throw error;
      throw new UserError(textOfError(error), { cause: error });
    }
  }

  async close(): Promise<void> {
    this.#stop.abort('stopping');
    await Promise.all(this.#running);
  }

  /** Opens the workspace with its own redactor, so that its secrets are not shared with other workspaces. */
  async #open(address: string, redactor: Redactor, signal: AbortSignal): Promise<OpenWorkspace> {
    const { control, sources, context, shared } = this.#options;
    const project = await control.project(address);
    const { folder } = await sources.checkout(project, signal);
    const options = {
      ...context,
      shared,
      redactor,
      selection: { member: address },
      projectFolder: folder,
      local: sources.local(project.source, project.project),
      workspace: project.workspace,
      interrupts: { stop: signal, requests: signal },
    };
    const opened = await openWorkspace(options, { requireKey: true });
    // Load the secrets of the project, so that they are redacted from transcripts and error messages.
    await opened.declared('lenient');
    return opened;
  }
}
