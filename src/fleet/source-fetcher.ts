import { messageOf } from '../operator/messages.ts';
import { RepeatFilter, type WatchLog } from '../operator/watch-log.ts';
import type { FleetRule } from './addresses.ts';
import type { FleetDatabase } from './database/fleet-database.ts';
import type { SourceContents, Sources } from './member.ts';
import { brokenProjects } from './members.ts';
import {
  type ClaimedSource,
  claimSources,
  conflictingSources,
  enterContents,
  enterFetchProblem,
  enterRules,
  enterSources,
  fetchedSince,
  removeSources,
  renewClaims,
  unusedPatterns,
} from './rows/member-rows.ts';

interface SourceFetcherOptions {
  readonly database: FleetDatabase;
  readonly sources: Sources;
  readonly rules: readonly FleetRule[];
  readonly log: WatchLog;
  readonly signal: AbortSignal;
  /** Called after each fetch, even if it failed. */
  onFetched(source: string): void;
}

/** True if it found something new. Rejects if the database fails. */
export type SourceFetch = () => Promise<boolean>;

/** Keeps the sources of a process's fleet file up to date. One process at a time fetches. */
export class SourceFetcher {
  /** Sources whose workspaces may run: those fetched since the start of the process, once none is awaited. */
  readonly ready = new Set<string>();
  readonly #options: SourceFetcherOptions;
  readonly #names: readonly string[];
  /** Sources that were not fetched yet. They may contain the same workspaces as others. */
  readonly #awaited: Set<string>;
  /** Sources that were fetched or are unreachable: the stored contents match the fleet file of this process. */
  readonly #settled = new Set<string>();
  readonly #claims = new Set<ClaimedSource>();
  /** Sources that another process has taken over. */
  #takenOver: readonly ClaimedSource[] = [];
  /** Logs changes of sources and their projects. */
  readonly #reported = new RepeatFilter();
  /** Logs problems of rules. */
  #unused: readonly string[] | undefined;

  constructor(options: SourceFetcherOptions) {
    this.#options = options;
    this.#names = options.sources.all.map(({ name }) => name);
    this.#awaited = new Set(this.#names);
  }

  /** Registers the sources of the fleet file, and claims all of them. */
  async first(): Promise<readonly SourceFetch[]> {
    const { database, sources, rules } = this.#options;
    const claims = await enterSources(database, sources.all);
    const names = claims.map(({ name }) => name);
    await enterRules(database, names, rules);
    await this.#removeConflicts();
    return this.#fetchesOf(claims);
  }

  /** Stops waiting for sources: a hanging one must not delay the workspaces of all others. */
  stopWaiting(): void {
    this.#stopAwaiting(this.#names);
  }

  async due(): Promise<readonly SourceFetch[]> {
    const { database, sources } = this.#options;
    const claims = await claimSources(database, sources.all);
    for (const name of await fetchedSince(database, this.#takenOver)) this.#settle(name);
    return this.#fetchesOf(claims);
  }

  /** Renews the claims of current fetches, and removes the workspaces of sources that no process names. */
  async beat(): Promise<void> {
    const { database } = this.#options;
    if (this.#claims.size > 0) await renewClaims(database, this.#claims);
    await removeSources(database, this.#names);
    await this.#removeConflicts();
  }

  /** Excludes sources whose names mean other sources to earlier processes. */
  async #removeConflicts(): Promise<void> {
    const { database, sources, log } = this.#options;
    const conflicts = await conflictingSources(database, sources.all);
    const lines = conflicts.map(({ name, theirs, host, pid }) => {
      const ours = sources.all.find((each) => each.name === name)?.identity;
      return `the source ${name} is ${ours} here, but ${theirs} in process ${pid} on ${host}: its workspaces do not run here until that process ends. Two fleets in one database need different names for their sources`;
    });
    const names = conflicts.map(({ name }) => name);
    for (const name of names) {
      this.#settled.delete(name);
      this.ready.delete(name);
    }
    this.#stopAwaiting(names);
    const { added, ended } = this.#reported.changes('conflicts', lines);
    for (const line of added) log.entry('warning', line, { event: 'source-conflict' });
    if (ended > 0) log.entry('info', 'sources are no longer used by another fleet file', { event: 'source-conflict' });
  }

  #fetchesOf(claims: readonly ClaimedSource[]): readonly SourceFetch[] {
    return claims.map((claimed) => () => this.#look(claimed));
  }

  async #look(claimed: ClaimedSource): Promise<boolean> {
    const { database, sources, log, signal } = this.#options;
    const interval = sources.all.find(({ name }) => name === claimed.name)?.interval ?? 0;
    this.#claims.add(claimed);
    try {
      const contents = await sources.discover(claimed.name, signal);
      const entered = await enterContents(database, { claimed, contents, interval });
      if (entered !== 'taken-over') this.#settle(claimed.name);
      else if (!this.#settled.has(claimed.name)) this.#takenOver = [...this.#takenOver, claimed];
      if (this.#reported.changes(`source ${claimed.name}`, []).ended > 0)
        log.entry('info', `the source ${claimed.name} can be fetched again`, { event: 'fetched' });
      this.#reportBroken(contents);
      if (entered === 'new' || this.#unused === undefined) await this.#reportUnused();
      return entered === 'new';
    } catch (error) {
      if (signal.aborted) {
        await renewClaims(database, [claimed], 0);
        return false;
      }
      const problem = messageOf(error);
      const message = `cannot fetch the source ${claimed.name}: ${problem}`;
      if (this.#reported.changes(`source ${claimed.name}`, [problem]).added.length > 0)
        log.entry('warning', message, { event: 'fetch-failed' });
      await enterFetchProblem(database, { claimed, problem, interval });
      this.#settle(claimed.name);
      return false;
    } finally {
      this.#claims.delete(claimed);
      if (!signal.aborted) this.#options.onFetched(claimed.name);
    }
  }

  #reportBroken(contents: SourceContents): void {
    const lines = brokenProjects(contents).map(({ project, problem }) => `cannot use ${project}: ${problem}`);
    for (const line of this.#reported.changes(`projects of ${contents.source}`, lines).added)
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
      log.entry('warning', `no workspace has the rule ${JSON.stringify(pattern)}`, { event: 'unused-rule' });
    }
    this.#unused = unused;
  }
}
