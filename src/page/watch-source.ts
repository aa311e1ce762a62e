import { dashboardOf } from '../engine/plan/dashboard-links.ts';
import { holdMessage, messageOf, planWords } from '../operator/messages.ts';
import { isDoubtful, isForPerson, planAfter, statusAfter } from '../operator/plan-after.ts';
import type { RunObserver, RunReport } from '../operator/run-report.ts';
import { requestSummary } from '../operator/run-summary.ts';
import { type Need, STALE_INTERVALS, type WorkspaceStatus } from '../operator/workspace-status.ts';
import type { Watch } from '../operator/workspace-watch.ts';
import { UserError } from '../problems/user-error.ts';
import type { OpenWorkspace } from '../runs/open-workspace.ts';
import { recordClosed } from '../runs/orphan-status.ts';
import { type PastRun, pastRuns } from '../runs/past-runs.ts';
import { openOrphans } from '../state/state.ts';
import { closingReasons, type Orphan } from '../state/state-document.ts';
import { CallComparisons } from './call-comparisons.ts';
import {
  type ActionRequest,
  type ListQuery,
  ORPHAN_GONE,
  type Overview,
  type PageSource,
  type RunDetail,
  type WorkspaceDetail,
  type WorkspaceList,
  type WorkspaceRow,
} from './page-data.ts';
import { problemsOf, requestFacts, resourcesOf, summaryOf } from './report-status.ts';
import { decision, detailOfPastRun, detailOfReport, pauseText } from './run-details.ts';
import { lasting } from './views/parts.ts';

interface StateParts {
  readonly orphans: readonly Orphan[];
  readonly runs: readonly PastRun[];
}

/** Milliseconds after which changes by others are visible. */
const KEPT = 60_000;

/** The shown parts of a state: read on request, and kept for a while. */
class KeptStateParts {
  readonly #opened: () => OpenWorkspace | undefined;
  #parts: Promise<StateParts> | undefined;
  #readAt = 0;

  constructor(opened: () => OpenWorkspace | undefined) {
    this.#opened = opened;
  }

  forget(): void {
    this.#parts = undefined;
  }

  /** @throws UserError if the state cannot be read. */
  read(): Promise<StateParts> {
    const now = performance.now();
    if (now - this.#readAt > KEPT) this.#parts = undefined;
    if (this.#parts === undefined) this.#readAt = now;
    this.#parts ??= this.#read();
    this.#parts.catch(() => this.forget());
    return this.#parts;
  }

  async #read(): Promise<StateParts> {
    const opened = this.#opened();
    if (opened === undefined) return { orphans: [], runs: [] };
    const [{ orphans }, runs] = [await opened.stateAhead(), await pastRuns(opened.store)];
    return { orphans, runs };
  }
}

/** The number of remembered runs of a process, and of listed runs. */
const MOST = 50;

/** The latest runs of this process, with decisions of people. */
class OwnRuns {
  readonly #runs: RunDetail[] = [];

  keep(run: RunDetail): void {
    this.#runs.unshift(run);
    this.#runs.length = Math.min(this.#runs.length, MOST);
  }

  find(id: string): RunDetail | undefined {
    return this.#runs.find((run) => run.id === id);
  }

  /** These runs, and those of others from the state. A run that took the lock is in both. */
  with(past: readonly PastRun[]): RunDetail[] {
    const isKept = (own: RunDetail) => !past.some((run) => isSameRun(run, own));
    return [...this.#runs.filter(isKept), ...past.map(detailOfPastRun)]
      .sort((a, b) => b.began.getTime() - a.began.getTime())
      .slice(0, MOST);
  }
}

function isSameRun({ command, began }: PastRun, own: RunDetail): boolean {
  const at = Date.parse(began);
  const ended = own.began.getTime() + (own.seconds ?? 0) * 1000;
  return command === 'watch' && at >= own.began.getTime() && at <= ended;
}

interface WatchSourceOptions {
  readonly watch: () => Watch;
  /** The commit of the manifests. */
  readonly source: string;
  readonly mode: string;
  readonly intervalSeconds: number;
  /** Seconds that closing an orphan waits for the lock. */
  readonly lockTimeout: number;
  now(): Date;
  /** Removes secrets. */
  redact(text: string): string;
  log(message: string): void;
}

/** The page of a watch, from memory. History and orphans are read on the first request after a run. */
export class WatchSource implements PageSource, RunObserver {
  readonly title = 'watch';
  readonly #options: WatchSourceOptions;
  readonly #own = new OwnRuns();
  readonly #state: KeptStateParts;
  #lastRead: RunReport | undefined;
  #labels: readonly string[] = [];
  /** From the last run with the information. */
  #status: { readonly word: WorkspaceStatus; readonly since: Date; readonly told: RunReport } | undefined;
  readonly #comparisons: CallComparisons;
  #version = 0;

  constructor(options: WatchSourceOptions) {
    this.#options = options;
    this.#state = new KeptStateParts(() => options.watch().opened);
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
    this.#state.forget();
    this.#labels = report.labels ?? this.#labels;
    if (report.plan !== undefined) this.#lastRead = report;
    const word = statusAfter(report);
    if (word !== undefined) {
      const since = this.#status?.word === word ? this.#status.since : report.startedAt;
      this.#status = { word, since, told: report };
    }
    this.#keep(detailOfReport(report, (text) => this.#options.redact(text)));
  }

  only(): string | undefined {
    return this.#options.watch().opened?.workspace.name;
  }

  async version(): Promise<string> {
    return `${this.#version}${this.#isOld() ? '-stale' : ''}`;
  }

  async overview(): Promise<Overview> {
    const row = this.#row();
    return {
      counts: new Map([[row.status, 1]]),
      attention:
        row.status === 'in-sync' || row.status === 'never-run'
          ? []
          : [{ by: { status: row.status }, rows: [row], found: 1, isCut: false }],
      stale: [],
      broken: [],
      facts: [],
    };
  }

  async workspaces({ status, needs, source, label, q = '' }: ListQuery): Promise<WorkspaceList> {
    const row = this.#row();
    const isFound =
      (status === undefined || row.status === status) &&
      (needs === undefined || this.#hasNeed(needs)) &&
      (source === undefined || row.source === source) &&
      (label === undefined || this.#labels.includes(label)) &&
      row.address.toLowerCase().includes(q.toLowerCase());
    const rows = isFound ? [row] : [];
    return { rows, found: rows.length, total: 1, sources: [row.source] };
  }

  async workspace(address: string): Promise<WorkspaceDetail | undefined> {
    if (!this.#isMeant(address)) return undefined;
    const { watch, now, intervalSeconds } = this.#options;
    const { status, opened } = watch();
    const { last, lastOk, secondsUntilNext, paused } = status;
    const read = this.#lastRead;
    const parts = await this.#state.read().catch((error: unknown) => this.#textOf(error));
    const { orphans, runs } = typeof parts === 'string' ? { orphans: [], runs: [] } : parts;
    const reach = opened?.reach;
    const commit = last?.commit ?? lastOk?.commit;
    return {
      ...this.#row(),
      address,
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
      problems: problemsOf(last, reach, { redact: this.#options.redact, checkedAt: read?.startedAt }),
      held:
        read?.hold === undefined
          ? undefined
          : this.#options.redact(holdMessage(read.hold, planWords(read), reach)),
      resources: resourcesOf(read),
      left: read && planAfter(read),
      saved: undefined,
      reach,
      orphans: openOrphans({ orphans }),
      dashboard: opened && dashboardOf(opened.workspace),
      runs: this.#own.with(runs),
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
    if (!this.#isMeant(address)) return undefined;
    const own = this.#own.find(id);
    if (own !== undefined) return own;
    const { runs } = await this.#state.read();
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

  #hasNeed(need: Need): boolean {
    const read = this.#lastRead;
    if (need === 'refused') return read?.result === 'refused';
    const left = (read && planAfter(read))?.resources ?? [];
    return left.some(need === 'records' ? isDoubtful : isForPerson);
  }

  /** The name of the workspace is unknown until the manifests are read for the first time. */
  #isMeant(address: string): boolean {
    return address === (this.only() ?? address);
  }

  async #closeOrphan({ of, because, by }: Omit<ActionRequest, 'action' | 'address'>): Promise<void> {
    const { watch, log, lockTimeout, now } = this.#options;
    const reason = closingReasons.find((each) => each === because);
    const { opened } = watch();
    const orphan = openOrphans(await this.#state.read()).find(({ id }) => id === of);
    if (opened === undefined || orphan === undefined || reason === undefined) throw gone();
    const closed = { because: reason, since: now().toISOString() };
    const done = await recordClosed(opened, [{ ...orphan, closed }], { lockTimeout, askedBy: by });
    this.#state.forget();
    this.#version += 1;
    if (done.length === 0) throw gone();
    log(`${by}: close-orphan ${orphan.address} ${orphan.id} (${reason})`);
  }

  async #compareCalls(address: string, by: string): Promise<void> {
    const { watch, log } = this.#options;
    const { opened } = watch();
    if (opened === undefined) throw new UserError('There are no manifests yet.');
    await this.#comparisons.begin(opened, address, by);
    log(`${by}: compare-calls ${address}`);
  }

  #keep(run: RunDetail): void {
    this.#version += 1;
    this.#own.keep(run);
  }

  #row(): WorkspaceRow {
    const { watch, source, mode } = this.#options;
    const { last, paused } = watch().status;
    const known = this.#status ?? { word: 'never-run', since: undefined, told: last };
    const { word, since } = paused === undefined ? known : ({ word: 'paused', since: paused.at } as const);
    const isOld = this.#isOld();
    const isStale = isOld && word !== 'failed' && word !== 'invalid' && word !== 'paused';
    return {
      address: this.only() ?? 'workspace',
      status: isStale ? 'stale' : word,
      since,
      checkedAt: this.#lastRead?.startedAt,
      isOld,
      summary: this.#options.redact(
        paused === undefined ? summaryOf(known.told) : `paused by ${pauseText(paused)}`,
      ),
      source,
      mode,
    };
  }

  #isOld(): boolean {
    const read = this.#lastRead;
    if (read === undefined) return false;
    const age = this.#options.now().getTime() - read.startedAt.getTime();
    return age > STALE_INTERVALS * this.#options.intervalSeconds * 1000;
  }

  #textOf(error: unknown): string {
    return this.#options.redact(messageOf(error));
  }
}

function gone(): UserError {
  return new UserError(ORPHAN_GONE);
}
