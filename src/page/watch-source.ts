import type { PlanDocument } from '../engine/plan/plan-document.ts';
import { hasNeed, lastRunOf } from '../operator/last-run.ts';
import { messageOf } from '../operator/messages.ts';
import { planAfter, statusAfter } from '../operator/plan-after.ts';
import type { RunObserver, RunReport } from '../operator/run-report.ts';
import { type ShownWorkspace, type StoredRun, shownStatus } from '../operator/shown-workspace.ts';
import type { RunStatus } from '../operator/workspace-status.ts';
import type { Watch } from '../operator/workspace-watch.ts';
import { UserError } from '../problems/user-error.ts';
import type { OpenWorkspace } from '../runs/open-workspace.ts';
import { closeInState } from '../runs/orphan-status.ts';
import { type PastRun, pastRuns } from '../runs/past-runs.ts';
import { openOrphans } from '../state/state.ts';
import { closingReasons } from '../state/state-document.ts';
import type { JsonObject } from '../values/json.ts';
import { CallComparisons } from './call-comparisons.ts';
import {
  type ActionRequest,
  type ListQuery,
  ORPHAN_NOT_FOUND,
  type Overview,
  type PageSource,
  type RunDetail,
  type WorkspaceDetail,
  type WorkspaceList,
  type WorkspaceRow,
} from './page-data.ts';
import { detailOfPastRun, detailOfStoredRun, runOfDecision, runOfReport } from './run-details.ts';
import { detailOf, MAX_RUNS, rowOf, type ShownState } from './workspace-detail.ts';

interface StateParts extends ShownState {
  readonly runs: readonly PastRun[];
}

/** Milliseconds for which the state is cached. Changes by other processes become visible after that time. */
const CACHE_MS = 60_000;

/** Reads the displayed parts of the state on request, and caches them. */
class CachedState {
  readonly #opened: () => OpenWorkspace | undefined;
  #parts: Promise<StateParts | undefined> | undefined;
  #readAt = 0;

  constructor(opened: () => OpenWorkspace | undefined) {
    this.#opened = opened;
  }

  forget(): void {
    this.#parts = undefined;
  }

  /**
   * Returns the displayed parts of the state; undefined until the manifests are loaded.
   * @throws UserError if the state cannot be read.
   */
  read(): Promise<StateParts | undefined> {
    const now = performance.now();
    if (now - this.#readAt > CACHE_MS) this.#parts = undefined;
    if (this.#parts === undefined) this.#readAt = now;
    this.#parts ??= this.#read();
    this.#parts.catch(() => this.forget());
    return this.#parts;
  }

  async #read(): Promise<StateParts | undefined> {
    const opened = this.#opened();
    if (opened === undefined) return undefined;
    const { orphans, resources } = await opened.stateWithoutWarnings();
    return { orphans, resources: Object.fromEntries(resources), runs: await pastRuns(opened.store) };
  }
}

interface WatchSourceOptions {
  readonly watch: () => Watch;
  readonly source: string;
  readonly mode: string;
  readonly intervalSeconds: number;
  /** The number of seconds to wait for the lock when closing an orphan. */
  readonly lockTimeout: number;
  now(): Date;
  redact(text: string): string;
  log(message: string): void;
}

/** The data of the page of `watch`. Runs are in memory; history and orphans are read on the first request after a run. */
export class WatchSource implements PageSource, RunObserver {
  readonly title = 'watch';
  readonly #options: WatchSourceOptions;
  /** The latest runs and decisions in this process, newest first. */
  readonly #runs: StoredRun[] = [];
  readonly #state: CachedState;
  #status: RunStatus | 'never-run' = 'never-run';
  #since: Date;
  #checkedAt: Date | undefined;
  /** The actions that remained after the last check. */
  #remaining: PlanDocument | undefined;
  /** The results of the last run. If the run did not read the platform, the missing results are from the last check. */
  #last: JsonObject = {};
  readonly #comparisons: CallComparisons;
  #version = 0;

  constructor(options: WatchSourceOptions) {
    this.#options = options;
    this.#since = options.now();
    this.#state = new CachedState(() => options.watch().opened);
    this.#comparisons = new CallComparisons({
      now: () => options.now(),
      redact: (text) => options.redact(text),
      textOf: (error) => this.#textOf(error),
      onChange: () => {
        this.#version += 1;
      },
    });
  }

  began(): void {
    this.#version += 1;
  }

  finished(report: RunReport): void {
    this.#state.forget();
    const run = runOfReport(report, (text) => this.#options.redact(text));
    const isChecked = report.plan !== undefined;
    this.#last = isChecked ? run.summary : { ...this.#last, ...run.summary };
    if (isChecked) {
      this.#checkedAt = report.startedAt;
      this.#remaining = planAfter(report);
    }
    const status = statusAfter(report);
    if (status !== undefined && status !== this.#status) this.#since = report.startedAt;
    this.#status = status ?? this.#status;
    this.#addRun(run);
  }

  only(): string | undefined {
    return this.#options.watch().opened?.workspace.name;
  }

  async version(): Promise<string> {
    return `${this.#version}${this.#shown().isOld ? '-stale' : ''}`;
  }

  async overview(): Promise<Overview> {
    const row = this.#row();
    return {
      counts: new Map([[row.status, 1]]),
      attention:
        row.status === 'in-sync' || row.status === 'never-run'
          ? []
          : [{ filter: { status: row.status }, rows: [row], found: 1, isTruncated: false }],
      stale: [],
      broken: [],
      trends: [],
      freezes: [],
      facts: [],
    };
  }

  async workspaces({ status, needs, source, label, q = '', after = '' }: ListQuery): Promise<WorkspaceList> {
    const row = this.#row();
    const last = lastRunOf(this.#last);
    const isFound =
      (status === undefined || row.status === status) &&
      (needs === undefined || hasNeed(needs, last, row.status)) &&
      (source === undefined || row.source === source) &&
      (label === undefined || last.labels.includes(label)) &&
      row.address.toLowerCase().includes(q.toLowerCase()) &&
      row.address > after;
    const rows = isFound ? [row] : [];
    return { rows, found: rows.length, total: 1, sources: [row.source] };
  }

  async workspace(address: string, requestedResource?: string): Promise<WorkspaceDetail | undefined> {
    if (!this.#isOwn(address)) return undefined;
    const { watch, source } = this.#options;
    const { status, opened } = watch();
    const state = await this.#state.read().catch((error: unknown) => this.#textOf(error));
    const isRead = state !== undefined && typeof state !== 'string';
    const detail = detailOf({
      shown: { ...this.#shown(), address },
      state: isRead ? state : undefined,
      running: status.running,
      remaining: this.#remaining,
      saved: undefined,
      selection: opened?.selection,
      storedRuns: this.#runs,
      pastRuns: isRead ? state.runs : [],
      requestedResource,
      stateProblem: typeof state === 'string' ? state : undefined,
      impacts: this.#comparisons.comparisons,
    });
    const { lastOk } = status;
    return {
      ...detail,
      source,
      facts: [
        ...detail.facts,
        ['Manifests', source],
        ...(lastOk === undefined ? [] : [['Last success', lastOk.startedAt] as const]),
      ],
    };
  }

  async run(address: string, id: string): Promise<RunDetail | undefined> {
    if (!this.#isOwn(address)) return undefined;
    const storedRun = this.#runs.find((run) => run.id === id);
    const reading = this.#state.read();
    const { runs: past = [] } = (await (storedRun === undefined ? reading : reading.catch(() => undefined))) ?? {};
    if (storedRun !== undefined) return detailOfStoredRun(storedRun, { past });
    const pastRun = past.find(({ run }) => run === id);
    return pastRun && detailOfPastRun(pastRun);
  }

  async act({ action, subject, reason, by }: ActionRequest): Promise<void> {
    const { watch, log, now, mode } = this.#options;
    if (action === 'close-orphan') return this.#closeOrphan({ subject, reason, by });
    if (action === 'compare-calls') return this.#compareCalls(subject ?? '', by);
    const { paused } = watch().status;
    if ((paused === undefined) === (action === 'resume'))
      throw new UserError(paused === undefined ? 'Runs are not paused.' : `Runs are paused by ${paused.by}.`);
    const summary: JsonObject = action === 'pause' && reason !== undefined ? { because: reason } : {};
    const decision = { startedAt: now(), askedBy: by, mode, summary };
    switch (action) {
      case 'run':
        watch().trigger('request', by);
        break;
      case 'pause':
        watch().pause(by, reason ?? null);
        this.#addRun(runOfDecision({ ...decision, result: 'paused' }));
        break;
      case 'resume':
        watch().resume(by);
        this.#addRun(runOfDecision({ ...decision, result: 'resumed' }));
        break;
      default:
        throw new UserError('Only a fleet has plans to approve or reject.');
    }
    log(`${by}: ${action}${reason === undefined ? '' : ` (${reason})`}`);
  }

  /** Accepts any address until the manifests are loaded, because the name of the workspace is unknown until then. */
  #isOwn(address: string): boolean {
    return address === (this.only() ?? address);
  }

  async #closeOrphan({ subject, reason, by }: Omit<ActionRequest, 'action' | 'address'>): Promise<void> {
    const { watch, log, lockTimeout, now } = this.#options;
    const closingReason = closingReasons.find((each) => each === reason);
    const { opened } = watch();
    const orphan = openOrphans((await this.#state.read()) ?? { orphans: [] }).find(({ id }) => id === subject);
    if (opened === undefined || orphan === undefined || closingReason === undefined) throw orphanGone();
    const closed = { because: closingReason, since: now().toISOString() };
    const closedOrphans = await closeInState(opened, [{ ...orphan, closed }], { lockTimeout, askedBy: by });
    this.#state.forget();
    this.#version += 1;
    if (closedOrphans.length === 0) throw orphanGone();
    log(`${by}: close-orphan ${orphan.address} ${orphan.id} (${closingReason})`);
  }

  async #compareCalls(address: string, by: string): Promise<void> {
    const { watch, log } = this.#options;
    const { opened } = watch();
    if (opened === undefined) throw new UserError('The manifests are not loaded yet.');
    await this.#comparisons.begin(opened, address, by);
    log(`${by}: compare-calls ${address}`);
  }

  #addRun(run: StoredRun): void {
    this.#version += 1;
    this.#runs.unshift(run);
    this.#runs.length = Math.min(this.#runs.length, MAX_RUNS);
  }

  #row(): WorkspaceRow {
    return { ...rowOf(this.#shown()), source: this.#options.source };
  }

  #shown(): ShownWorkspace {
    const { watch, now, mode, intervalSeconds } = this.#options;
    const { status, opened } = watch();
    const { last, lastOk, failures, secondsUntilNext = 0 } = status;
    const paused = status.paused ? { ...status.paused, at: status.paused.at.toISOString() } : null;
    const [since, checkedAt, vanishedAt] = [this.#since, this.#checkedAt, null];
    const facts = { status: this.#status, since, checkedAt, paused, vanishedAt, intervalSeconds };
    return {
      address: this.only() ?? 'workspace',
      ...shownStatus(facts, now()),
      mode,
      intervalSeconds,
      workspaceId: opened?.workspace.workspaceId ?? null,
      baseUrl: opened?.workspace.baseUrl ?? null,
      checkedAt: checkedAt?.toISOString() ?? null,
      dueAt: new Date(now().getTime() + secondsUntilNext * 1000).toISOString(),
      asked: null,
      failures,
      paused,
      vanishedAt,
      commit: last?.commit ?? lastOk?.commit ?? null,
      problem: null,
      plan: null,
      rejected: null,
      last: this.#last,
    };
  }

  #textOf(error: unknown): string {
    return this.#options.redact(messageOf(error));
  }
}

function orphanGone(): UserError {
  return new UserError(ORPHAN_NOT_FOUND);
}
