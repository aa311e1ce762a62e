import { entriesIn } from '../../../git/object-reader.ts';
import { shortError } from '../../../git/run-git.ts';
import { UserError } from '../../../problems/user-error.ts';
import { Secret } from '../../../values/value.ts';
import { withLine } from '../../run-history.ts';
import type { StoreUser } from '../backend.ts';
import { changed } from '../object-store/change.ts';
import {
  type Change,
  clocklessTiming,
  type EarlierDocument,
  NO_CONTENT,
  type ObjectStore,
  type OtherContent,
  type StoredContent,
  type StoredLock,
  storedLock,
  withHeartbeatAge,
} from '../object-store/object-store.ts';
import { settingText } from '../settings.ts';
import { type GitLocation, shownRemote } from './git-settings.ts';
import { RefAccess } from './ref-access.ts';
import { commitStream, HISTORY, isOurs, journalFiles, journalIndex, LOCK, STATE, writeOf } from './state-commit.ts';

/** The pattern of the refs of workspaces without `state.ref`. */
const DEFAULT_REFS = 'refs/voxform/*';

const MAX_EARLIER = 10;
/** The number of commits to search for earlier documents. A run creates one commit for each write. */
const EARLIER_COMMITS = 1_000;

/** The maximum number of attempts to read the ref while it moves. */
const MAX_READS = 4;

/** An error handler that ignores refs without a state. */
function ignoreForeign(error: unknown): undefined {
  if (!(error instanceof UserError)) throw error;
}

export function createGitStore(settings: GitLocation, user: StoreUser, location: string): ObjectStore {
  const access = new RefAccess(settings, user);
  const { ref } = settings;
  let last = NO_CONTENT;

  const foreign = (reason: string): UserError =>
    new UserError(`${ref} of ${shownRemote(settings)} is not a voxform state: ${reason}`, {
      hint: 'Nothing was changed. Set state.ref to a ref that nothing else uses.',
    });

  const lockIn = (bytes: Buffer): StoredLock => {
    try {
      return storedLock().parse(JSON.parse(bytes.toString()));
    } catch {
      throw new UserError(`the ${LOCK} of the state ${location} cannot be read`, {
        hint: 'If no run is in progress, remove the file in a commit on top of the ref.',
      });
    }
  };

  /**
   * Returns the content of a commit; undefined if some objects are not in the cache.
   * @throws UserError if the content is not a state.
   */
  const contentAt = async (tip: string, signal: AbortSignal): Promise<StoredContent | undefined> => {
    const [commit, tree] = (await access.objects([tip, `${tip}^{tree}`], signal)) ?? [];
    if (commit === undefined) return undefined;
    if (commit.type !== 'commit') throw foreign(`it is a ${commit.type}`);
    if (tree === undefined) return undefined;
    const write = writeOf(commit.bytes);
    const entries = entriesIn(tree.bytes, tip.length / 2);
    const other = entries.find(({ name, kind }) => kind !== 'file' || !isOurs(name));
    if (other !== undefined) throw foreign(`it contains ${other.name}`);
    if (entries.length === 0 && write === undefined) throw foreign('it is a commit without files');
    const wanted = entries
      .filter(({ name }) => name !== HISTORY)
      .toSorted((a, b) => (journalIndex(a.name) ?? 0) - (journalIndex(b.name) ?? 0));
    const ids = wanted.map(({ id }) => id);
    const objects = await access.objects(ids, signal);
    const files = new Map<string, Buffer>();
    for (const [index, { name }] of wanted.entries()) {
      const object = objects?.[index];
      if (object === undefined) return undefined;
      files.set(name, object.bytes);
    }
    const journal = [...files].flatMap(([name, bytes]) => (journalIndex(name) === undefined ? [] : [bytes]));
    const lock = files.get(LOCK);
    const content = {
      revision: tip,
      write,
      state: files.get(STATE),
      journal: Buffer.concat(journal),
      lock: lock && lockIn(lock),
      secondsSinceHeartbeat: undefined,
    };
    return withHeartbeatAge(content, user.now());
  };

  const read = async (signal: AbortSignal): Promise<StoredContent> => {
    for (let attempt = 1; attempt <= MAX_READS; attempt++) {
      const tip = await access.tip(signal);
      if (tip === undefined) return NO_CONTENT;
      if (tip === last.revision) return withHeartbeatAge(last, user.now());
      const content = await contentAt(tip, signal);
      if (content !== undefined) {
        last = content;
        return content;
      }
      // The objects have not been fetched yet, or are damaged.
      if (attempt > 1) await access.renew();
      await access.fetch(1, signal);
    }
    throw new Error('the ref keeps changing');
  };

  /** Returns the history in a commit; undefined if the commit is not in the cache. */
  const historyAt = async (commit: string, signal: AbortSignal): Promise<string | undefined> => {
    const [found, history] = (await access.objects([commit, `${commit}:${HISTORY}`], signal)) ?? [];
    return found && (history?.bytes.toString() ?? '');
  };

  /** Returns the files that the change adds, replaces or removes; undefined if the parent commit is not in the cache. */
  const filesOf = async (change: Change, base: StoredContent, signal: AbortSignal) => {
    const { state, lock, journal, history, converted } = change;
    const files = new Map<string, Uint8Array | null>();
    if (state !== undefined) files.set(STATE, state);
    if (lock !== undefined) files.set(LOCK, lock && Buffer.from(`${JSON.stringify(lock, null, 2)}\n`));
    const current = journalFiles(base.journal);
    if (journal === null) for (const name of current.keys()) files.set(name, null);
    if (journal) {
      const all = journalFiles(Buffer.concat([base.journal, journal]));
      for (const [name, bytes] of [...all].slice(Math.max(0, current.size - 1))) files.set(name, bytes);
    }
    if (converted !== undefined) files.set(HISTORY, Buffer.from(converted.history.map((line) => `${line}\n`).join('')));
    if (history !== undefined) {
      const before = base.revision === undefined ? '' : await historyAt(base.revision, signal);
      if (before === undefined) return undefined;
      files.set(HISTORY, Buffer.from(withLine(before, history)));
    }
    return files;
  };

  /** Creates the commit in the cache. Returns the id of the commit; undefined if the parent commit is missing. */
  const commit = async (change: Change, base: StoredContent, signal: AbortSignal): Promise<string | undefined> => {
    const files = await filesOf(change, base, signal);
    if (files === undefined) return undefined;
    const stream = commitStream({
      ...change,
      parent: base.revision,
      files,
      at: user.now(),
      isBranch: ref.startsWith('refs/heads/'),
      idDigits: access.idDigits,
    });
    const { code, out, errorOutput } = await access.git(['fast-import', '--quiet', '--done'], signal, stream);
    if (code === 0) return out.toString().trim();
    user.debug?.(`git fast-import: ${shortError(errorOutput)}`);
    return undefined;
  };

  return {
    location,
    setting: 'state.ref',
    timing: { ...clocklessTiming, poll: 3_000 },
    read,
    async write(change, base, signal) {
      let created = await commit(change, base, signal);
      if (created === undefined) {
        await access.renew();
        if (base.revision !== undefined) await access.fetch(1, signal);
        created = await commit(change, base, signal);
      }
      if (created === undefined) throw new Error('git cannot create a commit on top of the last one');
      await access.push(created, base.revision, signal);
      return changed(base, change, created);
    },
    async history(signal) {
      const { revision } = await read(signal);
      const text = revision === undefined ? '' : await historyAt(revision, signal);
      if (text === undefined) throw new Error('the history cannot be read');
      return text.split('\n').filter((line) => line !== '');
    },
    async others(workspaceId, signal) {
      const patterns = [DEFAULT_REFS, ...(settings.siblings === undefined ? [] : [settings.siblings])];
      const found = [...(await access.list(patterns, signal))].filter(([name]) => name !== ref && name !== 'HEAD');
      const tips = found.map(([, tip]) => tip);
      const cached = await access.objects(tips, signal);
      const missing = found.flatMap(([name], index) => (cached?.[index] === undefined ? [name] : []));
      if (missing.length > 0) await access.fetch(1, signal, missing);
      const states =
        (await access.objects(
          tips.map((tip) => `${tip}:${STATE}`),
          signal,
        )) ?? [];
      const contents = found.map(async ([name, tip], index): Promise<OtherContent[]> => {
        if (!states[index]?.bytes.includes(JSON.stringify(workspaceId))) return [];
        const content = await contentAt(tip, signal).catch(ignoreForeign);
        const { remote } = settings;
        const from =
          remote === 'origin'
            ? ''
            : `remote: ${settingText(remote instanceof Secret ? remote : shownRemote(settings))}, `;
        return content === undefined
          ? []
          : [
              {
                ...content,
                location: `${name} of ${shownRemote(settings)}`,
                from: `{ backend: git, ${from}ref: ${name} }`,
              },
            ];
      });
      return (await Promise.all(contents)).flat();
    },
    async earlier(signal) {
      const { revision, state } = await read(signal);
      if (revision === undefined) return [];
      await access.fetch(EARLIER_COMMITS, signal);
      const { out } = await access.git(
        ['rev-list', `--max-count=${MAX_EARLIER + 1}`, '--end-of-options', revision, '--', STATE],
        signal,
      );
      const commits = out
        .toString()
        .split('\n')
        .filter((id) => id !== '');
      const names = commits.map((id) => `${id}:${STATE}`);
      const objects = (await access.objects(names, signal)) ?? [];
      return objects.flatMap((object, index): EarlierDocument[] => {
        if (object === undefined || (state !== undefined && object.bytes.equals(state))) return [];
        return [{ source: `${location} at ${commits[index]?.slice(0, 10)}`, bytes: object.bytes }];
      });
    },
  };
}
