import { holdMessage, messageOf, planWords } from '../operator/messages.ts';
import { planAfter } from '../operator/plan-after.ts';
import type { RunObserver, RunReport } from '../operator/run-report.ts';
import { requestSummary } from '../operator/run-summary.ts';
import type { Watch } from '../operator/watch.ts';
import { UserError } from '../problems/user-error.ts';
import { recordClosed } from '../runs/orphans.ts';
import { type PastRun, pastRuns } from '../runs/past-runs.ts';
import { openOrphans } from '../state/state.ts';
import { closingReasons, type Orphan } from '../state/state-document.ts';
import { CallComparisons } from './call-comparisons.ts';
import {
  type ActionRequest,
  type ListQuery,
  type Overview,
  type PageSource,
  type RunDetail,
  STALE_AFTER_INTERVALS,
  type Standing,
  type WorkspaceDetail,
  type WorkspaceList,
  type WorkspaceRow,
} from './page-data.ts';
import { problemsOf, requestFacts, resourcesOf, standingAfter, summaryOf } from './report-standing.ts';
import { decision, detailOfPastRun, detailOfReport, pauseText } from './run-details.ts';
import { lasting } from './views/parts.ts';

export interface WatchSourceOptions {
  readonly watch: () => Watch;
  /** Of the manifests. */
  readonly source: string;
  readonly mode: string;
  readonly intervalSeconds: number;
  /** Seconds that closing an orphan waits for the lock. */
  readonly lockTimeout: number;
  now(): Date;
  /** Strikes out secrets. */
  redact(text: string): string;
  log(message: string): void;
}

/** Runs of this process that are remembered. */
const MOST_RUNS = 50;

const STATE_MILLISECONDS = 60_000;

interface StateParts {
  readonly orphans: readonly Orphan[];
  readonly runs: readonly PastRun[];
}

/** The page of a watch, from memory. History and orphans are read when somebody looks after a run. */
export class WatchSource implements PageSource, RunObserver {
  readonly title = 'watch';
  readonly #options: WatchSourceOptions;
  readonly #own: RunDetail[] = [];
  #lastRead: RunReport | undefined;
  #labels: readonly string[] = [];
  #standing: { readonly word: Standing; readonly since: Date } | undefined;
  readonly #comparisons: CallComparisons;
  #version = 0;
  #state: Promise<StateParts> | undefined;
  #stateAt = 0;

  constructor(options: WatchSourceOptions) {
    this.#options = options;
    this.#comparisons = new CallComparisons({
      now: () => options.now(),
      redact: (text) => options.redact(text),
      textOf: (error) => this.#textOf(error),
      changed: () => {
        this.#version += 1;
      },
    });
  }

  began(): void {
    this.#version += 1;
  }

  finished(report: RunReport): void {
    this.#state = undefined;
    this.#labels = report.labels ?? this.#labels;
    if (report.plan !== undefined) this.#lastRead = report;
    const word = standingAfter(report);
    if (this.#standing?.word !== word) this.#standing = { word, since: report.startedAt };
    this.#keep(detailOfReport(report, (text) => this.#options.redact(text)));
  }

  only(): string | undefined {
    return this.#options.watch().opened?.workspace.name;
  }

  async version(): Promise<string> {
    return `${this.#version}${this.#isStale() ? '-stale' : ''}`;
  }

  async overview(): Promise<Overview> {
    const row = this.#row();
    return {
      counts: new Map([[row.standing, 1]]),
      attention: row.standing === 'in-sync' || row.standing === 'never-run' ? [] : [row],
      stale: [],
      broken: [],
      facts: [],
    };
  }

  async workspaces({ status, label, q = '' }: ListQuery): Promise<WorkspaceList> {
    const row = this.#row();
    const isFound =
      (status === undefined || row.standing === status) &&
      (label === undefined || this.#labels.includes(label)) &&
      row.address.includes(q);
    const total = this.only() === undefined ? 0 : 1;
    const rows = isFound && total > 0 ? [row] : [];
    return { rows, found: rows.length, total, sources: [row.source] };
  }

  async workspace(address: string): Promise<WorkspaceDetail | undefined> {
    if (address !== this.only()) return undefined;
    const { watch, now, intervalSeconds } = this.#options;
    const { status, opened } = watch();
    const { last, lastOk, secondsUntilNext, paused } = status;
    const read = this.#lastRead;
    const parts = await this.#stateParts().catch((error: unknown) => this.#textOf(error));
    const { orphans, runs } = typeof parts === 'string' ? { orphans: [], runs: [] } : parts;
    const flag = opened?.workspaceFlag ?? '';
    const commit = last?.commit ?? lastOk?.commit;
    return {
      ...this.#row(),
      facts: [
        ['Workspace', opened?.workspace.workspaceId ?? ''],
        ['Platform', opened?.workspace.baseUrl ?? ''],
        ['Manifests', this.#options.source],
        ...(commit === undefined ? [] : [['Commit', commit] as const]),
        ...(this.#labels.length === 0
          ? []
          : [['Labels', this.#options.redact(this.#labels.join(', '))] as const]),
        ...requestFacts(read?.request && requestSummary(read.request)),
        ['Interval', lasting(intervalSeconds)],
        ...(paused === undefined ? [] : [['Paused by', pauseText(paused)] as const]),
        ...(lastOk === undefined || lastOk === read ? [] : [['Last success', lastOk.startedAt] as const]),
      ],
      running: status.running,
      nextRun:
        secondsUntilNext === undefined ? undefined : new Date(now().getTime() + secondsUntilNext * 1000),
      problems: problemsOf(last, flag, (text) => this.#options.redact(text)),
      held:
        read?.hold === undefined
          ? undefined
          : this.#options.redact(holdMessage(read.hold, planWords(read), flag)),
      resources: resourcesOf(read),
      plan: read && planAfter(read),
      waiting: undefined,
      workspaceFlag: flag,
      orphans: openOrphans({ orphans }),
      runs: this.#runs(runs),
      stateProblem: typeof parts === 'string' ? parts : undefined,
      actions: [
        ...(paused === undefined ? (['run', 'pause'] as const) : (['resume'] as const)),
        'close-orphan',
        'compare-calls',
      ],
      impacts: this.#comparisons.shown,
    };
  }

  async run(address: string, id: string): Promise<RunDetail | undefined> {
    if (address !== this.only()) return undefined;
    const own = this.#own.find((run) => run.id === id);
    if (own !== undefined) return own;
    const { runs } = await this.#stateParts();
    const past = runs.find(({ run }) => run === id);
    return past && detailOfPastRun(past);
  }

  async act({ action, of, because, by }: ActionRequest): Promise<void> {
    const { watch, log, now } = this.#options;
    if (action === 'close-orphan') return this.#closeOrphan({ of, because, by });
    if (action === 'compare-calls') return this.#compareCalls(of ?? '', by);
    const { paused } = watch().status;
    if ((paused === undefined) === (action === 'resume'))
      throw new UserError(paused === undefined ? 'Runs are not paused.' : `Runs are paused by ${paused.by}.`);
    switch (action) {
      case 'run':
        watch().trigger('request', by);
        break;
      case 'pause':
        watch().pause(by, because ?? null);
        this.#keep(decision('paused', { at: now(), by, because }));
        break;
      case 'resume':
        watch().resume(by);
        this.#keep(decision('resumed', { at: now(), by }));
        break;
      default:
        throw new UserError('watch cannot do this');
    }
    log(`${by}: ${action}${because === undefined ? '' : ` (${because})`}`);
  }

  async #closeOrphan({ of, because, by }: Omit<ActionRequest, 'action' | 'address'>): Promise<void> {
    const { watch, log, lockTimeout, now } = this.#options;
    const reason = closingReasons.find((each) => each === because);
    const { opened } = watch();
    const orphan = openOrphans(await this.#stateParts()).find(({ id }) => id === of);
    if (opened === undefined || orphan === undefined || reason === undefined) throw gone();
    const closed = { because: reason, since: now().toISOString() };
    const done = await recordClosed(opened, [{ ...orphan, closed }], { lockTimeout, askedBy: by });
    this.#state = undefined;
    this.#version += 1;
    if (done.length === 0) throw gone();
    log(`${by}: close-orphan ${orphan.address} ${orphan.id} (${reason})`);
  }

  async #compareCalls(address: string, by: string): Promise<void> {
    const { watch, log } = this.#options;
    const { opened } = watch();
    if (opened === undefined) throw new UserError('There are no manifests yet.');
    await this.#comparisons.begin(opened, address);
    log(`${by}: compare-calls ${address}`);
  }

  #keep(run: RunDetail): void {
    this.#version += 1;
    this.#own.unshift(run);
    this.#own.length = Math.min(this.#own.length, MOST_RUNS);
  }

  #row(): WorkspaceRow {
    const { watch, source, mode } = this.#options;
    const { last, paused } = watch().status;
    const known = this.#standing ?? { word: 'never-run', since: undefined };
    const { word, since } = paused === undefined ? known : ({ word: 'paused', since: paused.at } as const);
    const isStale = this.#isStale() && word !== 'failed' && word !== 'invalid' && word !== 'paused';
    return {
      address: this.only() ?? 'workspace',
      standing: isStale ? 'stale' : word,
      since,
      checkedAt: this.#lastRead?.startedAt,
      summary: this.#options.redact(paused === undefined ? summaryOf(last) : `paused by ${paused.by}`),
      source,
      mode,
    };
  }

  #isStale(): boolean {
    const read = this.#lastRead;
    if (read === undefined) return false;
    const age = this.#options.now().getTime() - read.startedAt.getTime();
    return age > STALE_AFTER_INTERVALS * this.#options.intervalSeconds * 1000;
  }

  /** Those of this process, and from the state those of others: one that took the lock is in both. */
  #runs(past: readonly PastRun[]): RunDetail[] {
    const others = past.map(detailOfPastRun);
    const isKept = (own: RunDetail) => !past.some((run) => isSameRun(run, own));
    return [...this.#own.filter(isKept), ...others]
      .sort((a, b) => b.began.getTime() - a.began.getTime())
      .slice(0, MOST_RUNS);
  }

  /** What others write is seen a minute later. */
  #stateParts(): Promise<StateParts> {
    const now = performance.now();
    if (now - this.#stateAt > STATE_MILLISECONDS) this.#state = undefined;
    if (this.#state === undefined) this.#stateAt = now;
    this.#state ??= this.#readState();
    this.#state.catch(() => {
      this.#state = undefined;
    });
    return this.#state;
  }

  async #readState(): Promise<StateParts> {
    const { opened } = this.#options.watch();
    if (opened === undefined) return { orphans: [], runs: [] };
    const [{ orphans }, runs] = [await opened.stateAhead(), await pastRuns(opened.store)];
    return { orphans, runs };
  }

  #textOf(error: unknown): string {
    return this.#options.redact(messageOf(error));
  }
}

function gone(): UserError {
  return new UserError('This orphan is not on the list any more.');
}

function isSameRun({ command, began }: PastRun, own: RunDetail): boolean {
  const at = Date.parse(began);
  const ended = own.began.getTime() + (own.seconds ?? 0) * 1000;
  return command === 'watch' && at >= own.began.getTime() && at <= ended;
}
