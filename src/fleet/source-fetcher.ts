import { messageOf } from '../operator/messages.ts';
import { RepeatFilter, type WatchLog } from '../operator/watch-log.ts';
import type { FleetRule } from './addresses.ts';
import type { FleetDatabase } from './database/fleet-database.ts';
import type { SourceContents, Sources } from './member.ts';
import { brokenProjects } from './members.ts';
import {
  applyRules,
  type ClaimedSource,
  claimSources,
  conflictingSources,
  fetchedSince,
  registerSources,
  removeSources,
  renewClaims,
  storeContents,
  storeFetchProblem,
  unusedPatterns,
} from './rows/member-rows.ts';

interface SourceFetcherOptions {
  readonly database: FleetDatabase;
  readonly sources: Sources;
  readonly rules: readonly FleetRule[];
  readonly log: WatchLog;
  readonly signal: AbortSignal;
  /** Called after each fetch, including failed fetches. */
  onFetched(source: string): void;
}

/** Fetches a source. Resolves to true if its contents changed. Rejects if the database fails. */
export type SourceFetch = () => Promise<boolean>;

/** Keeps the sources of a process's fleet file up to date. Only one process at a time fetches a source. */
export class SourceFetcher {
  /** The sources whose workspaces may run. Empty while this process waits for any source; afterwards, all settled sources. */
  readonly ready = new Set<string>();
  readonly #options: SourceFetcherOptions;
  readonly #names: readonly string[];
  /** The sources to wait for. No workspace runs until this set is empty, because two sources may contain the same workspace. */
  readonly #awaited: Set<string>;
  /** The sources whose fetch has succeeded or failed since startup. Their stored contents match the fleet file of this process. */
  readonly #settled = new Set<string>();
  readonly #claims = new Set<ClaimedSource>();
  /** Claims that another process took over before this process had a result. */
  #takenOver: readonly ClaimedSource[] = [];
  /** The logged problems of sources and projects. */
  readonly #reported = new RepeatFilter();
  /** The rule patterns that were logged as unused. */
  #unused: readonly string[] | undefined;

  constructor(options: SourceFetcherOptions) {
    this.#options = options;
    this.#names = options.sources.all.map(({ name }) => name);
    this.#awaited = new Set(this.#names);
  }

  /** Registers the sources of the fleet file and claims all of them. Returns the fetches to start. */
  async register(): Promise<readonly SourceFetch[]> {
    const { database, sources, rules } = this.#options;
    const claims = await registerSources(database, sources.all);
    const names = claims.map(({ name }) => name);
    await applyRules(database, names, rules);
    await this.#removeConflicts();
    return this.#fetchesOf(claims);
  }

  /** Stops waiting for sources, because a source that hangs must not delay the workspaces of the other sources. */
  stopWaiting(): void {
    this.#stopAwaiting(this.#names);
  }

  /** Claims the sources that are due. Returns the fetches to start. */
  async claimDue(): Promise<readonly SourceFetch[]> {
    const { database, sources } = this.#options;
    const claims = await claimSources(database, sources.all);
    for (const name of await fetchedSince(database, this.#takenOver)) this.#settle(name);
    return this.#fetchesOf(claims);
  }

  /** Renews the claims of current fetches, and removes the workspaces of sources that are in no process's fleet file. */
  async beat(): Promise<void> {
    const { database } = this.#options;
    if (this.#claims.size > 0) await renewClaims(database, this.#claims);
    await removeSources(database, this.#names);
    await this.#removeConflicts();
  }

  /** Excludes sources whose name another live process uses for a different source. */
  async #removeConflicts(): Promise<void> {
    const { database, sources, log } = this.#options;
    const conflicts = await conflictingSources(database, sources.all);
    const warnings = conflicts.map(({ name, theirs, host, pid }) => {
      const ours = sources.all.find((each) => each.name === name)?.identity;
      return `the source ${name} is ${ours} in this process, but ${theirs} in process ${pid} on ${host}. Its workspaces do not run in this process until the other process ends. Fleets that share a database need different names for their sources`;
    });
    const names = conflicts.map(({ name }) => name);
    for (const name of names) {
      this.#settled.delete(name);
      this.ready.delete(name);
    }
    this.#stopAwaiting(names);
    const { added, ended } = this.#reported.update('conflicts', warnings);
    for (const line of added) log.entry('warning', line, { event: 'source-conflict' });
    if (ended > 0)
      log.entry('info', 'source names no longer conflict with another fleet file', { event: 'source-conflict' });
  }

  #fetchesOf(claims: readonly ClaimedSource[]): readonly SourceFetch[] {
    return claims.map((claimed) => () => this.#fetch(claimed));
  }

  async #fetch(claimed: ClaimedSource): Promise<boolean> {
    const { database, sources, log, signal } = this.#options;
    const interval = sources.all.find(({ name }) => name === claimed.name)?.interval ?? 0;
    this.#claims.add(claimed);
    try {
      const contents = await sources.discover(claimed.name, signal);
      const result = await storeContents(database, { claimed, contents, interval });
      if (result !== 'taken-over') this.#settle(claimed.name);
      else if (!this.#settled.has(claimed.name)) this.#takenOver = [...this.#takenOver, claimed];
      if (this.#reported.update(`source ${claimed.name}`, []).ended > 0)
        log.entry('info', `the source ${claimed.name} can be fetched again`, { event: 'fetched' });
      this.#reportBroken(contents);
      if (result === 'new' || this.#unused === undefined) await this.#reportUnused();
      return result === 'new';
    } catch (error) {
      if (signal.aborted) {
        await renewClaims(database, [claimed], 0);
        return false;
      }
      const problem = messageOf(error);
      const message = `cannot fetch the source ${claimed.name}: ${problem}`;
      if (this.#reported.update(`source ${claimed.name}`, [problem]).added.length > 0)
        log.entry('warning', message, { event: 'fetch-failed' });
      await storeFetchProblem(database, { claimed, problem, interval });
      this.#settle(claimed.name);
      return false;
    } finally {
      this.#claims.delete(claimed);
      if (!signal.aborted) this.#options.onFetched(claimed.name);
    }
  }

  #reportBroken(contents: SourceContents): void {
    const warnings = brokenProjects(contents).map(({ project, problem }) => `cannot use ${project}: ${problem}`);
    for (const line of this.#reported.update(`projects of ${contents.source}`, warnings).added)
      this.#options.log.entry('warning', line, { event: 'broken-project' });
  }

  #settle(name: string): void {
    this.#settled.add(name);
    this.#takenOver = this.#takenOver.filter((claimed) => claimed.name !== name);
    this.#stopAwaiting([name]);
  }

  #stopAwaiting(names: readonly string[]): void {
    for (const name of names) this.#awaited.delete(name);
    if (this.#awaited.size === 0) for (const name of this.#settled) this.ready.add(name);
  }

  async #reportUnused(): Promise<void> {
    const { database, rules, log } = this.#options;
    const unused = await unusedPatterns(
      database,
      rules.map(({ pattern }) => pattern),
    );
    for (const pattern of unused) {
      if (this.#unused?.includes(pattern)) continue;
      log.entry('warning', `no workspace matches the rule ${JSON.stringify(pattern)}`, { event: 'unused-rule' });
    }
    this.#unused = unused;
  }
}
