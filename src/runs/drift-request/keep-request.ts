import { setTimeout as delay } from 'node:timers/promises';
import { type BranchRepository, type CommittedFile, changedFile } from '../../hosting/branch-repository.ts';
import type { CodeHost, HostRequest } from '../../hosting/code-host.ts';
import { HostProblem } from '../../hosting/host-client.ts';
import { backoff } from '../../platform/retry.ts';
import { UserError } from '../../problems/user-error.ts';
import { currentRequest, decideRequest, type RequestStep } from './decide-request.ts';
import { blobId, changesDigest, markedMessage, markIn } from './request-mark.ts';

/** The request that a workspace should have. */
export interface RequestWanted {
  readonly branch: string;
  /** Undefined for the default branch of the repository. */
  readonly base: string | undefined;
  readonly title: string;
  /** Identifies the workspace in the repository. */
  readonly workspace: string;
  readonly drift: string;
  /** In Markdown. */
  readonly text: string;
  /** True if some drift cannot be written to a file. */
  readonly hasRest: boolean;
  /** The text after the drift has ended. */
  readonly ended: string;
  /** Paths in the repository, each with the text that was read and the new one. */
  readonly files: readonly { readonly path: string; readonly before: string; readonly after: string }[];
}

export type KeptRequest =
  /** There is no drift to accept, and no request. */
  | { readonly is: 'none' }
  | {
      readonly is: 'open';
      readonly url: string;
      readonly number: number;
      readonly did: 'opened' | 'updated' | 'nothing';
    }
  /** The drift has ended, except for skipped changes. */
  | { readonly is: 'closed'; readonly url: string; readonly number: number; readonly hasRest: boolean }
  /** A person closed it while this drift lasts. */
  | { readonly is: 'rejected'; readonly url: string; readonly number: number }
  /** The branch has commits of other people. */
  | { readonly is: 'foreign'; readonly branch: string; readonly url?: string | undefined }
  /** The manifests on the base differ from those that were read. */
  | { readonly is: 'behind'; readonly base: string; readonly files: readonly string[] };

const MOST_ROUNDS = 5;
/** Statuses that may be due to a change by somebody else since the last read. */
const STALE = [400, 405, 409, 422];

/** Access to a host: its API and its repository. */
interface RequestHost {
  readonly host: CodeHost;
  readonly repository: BranchRepository;
  /** For messages, e.g. `acme/voices on github.com`. */
  readonly shown: string;
}

/**
 * Brings the request of a workspace in line with its drift. Decisions are based on the host: after a lost response or a change by somebody
 * else, it is read again before the next write.
 * @throws HostProblem, UserError
 */
export async function keepRequest(at: RequestHost, wanted: RequestWanted, signal: AbortSignal): Promise<KeptRequest> {
  let said: string | undefined;
  const done = new Set<Deed>();
  for (let round = 1; ; round++) {
    try {
      const kept = await attemptOnce(at, wanted, done);
      if (round === MOST_ROUNDS || !(await isOverSince(at.host, wanted, kept))) return kept;
      done.clear();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof HostProblem) || round === MOST_ROUNDS) throw error;
      const { failure: trouble, message } = error;
      const mayBeStale = trouble.why === 'unclear' || (trouble.why === 'refused' && STALE.includes(trouble.status));
      if (!mayBeStale || said === message) throw error;
      said = message;
      await delay(backoff(round, Math.random), undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}

/** True if somebody has closed or merged the request since the update began. */
async function isOverSince(host: CodeHost, { branch }: RequestWanted, kept: KeptRequest): Promise<boolean> {
  if (kept.is !== 'open' || kept.did !== 'updated') return false;
  const found = (await host.requests(branch)).find(({ number }) => number === kept.number);
  return found !== undefined && found.state !== 'open';
}

/** The writes in order of importance; the first one that was sent is reported. */
const deeds = ['opened', 'updated'] as const;

type Deed = (typeof deeds)[number];

async function attemptOnce(
  { host, repository, shown }: RequestHost,
  wanted: RequestWanted,
  done: Set<Deed>,
): Promise<KeptRequest> {
  const requests = await host.requests(wanted.branch);
  const current = currentRequest(requests);
  if (wanted.files.length === 0 && current?.state !== 'open' && current?.state !== 'closed') return { is: 'none' };
  const { base, baseHead, head } = await headsOf(repository, wanted, shown);
  const files = await filesLeft(repository, wanted, baseHead);
  if ('behind' in files) return { is: 'behind', base, files: files.behind };
  const changes = changesDigest(files.map(({ path, base, blob }) => changedFile(path, base, blob)).sort());
  const isMerged = head === baseHead || requests.some((each) => each.state === 'merged' && each.head === head);
  const there = head === undefined || isMerged ? undefined : await changesOf(repository, head, wanted.workspace);
  const branch =
    head === undefined ? undefined : { isOurs: isMerged || there !== undefined, isDone: there === changes };
  const decision = decideRequest({ ...wanted, hasFiles: files.length > 0 }, { base, branch, requests });
  const none = (): KeptRequest =>
    wanted.files.length === 0 ? { is: 'none' } : { is: 'behind', base, files: wanted.files.map(({ path }) => path) };
  if (decision.is === 'none') return none();
  if (decision.is === 'foreign') return { is: 'foreign', branch: wanted.branch, url: decision.request?.url };
  if (decision.is === 'rejected') return { is: 'rejected', ...placeOf(decision.request) };

  const carryOut = async (step: RequestStep): Promise<HostRequest | undefined> => {
    const { branch, title, workspace } = wanted;
    switch (step.do) {
      case 'push': {
        const message = markedMessage(title, { workspace, parent: baseHead, changes });
        const texts = files.map(({ path, after, base: { mode } }) => ({ path, mode, text: after }));
        done.add('updated');
        await repository.push(branch, await repository.create({ parent: baseHead, message, files: texts }), head);
        return undefined;
      }
      case 'open':
        done.add('opened');
        return host.open({ branch, base, title, body: step.body });
      case 'change':
        done.add('updated');
        await host.change(step.request.number, step.change);
        return undefined;
      default:
        return step satisfies never;
    }
  };
  let opened: HostRequest | undefined;
  for (const step of decision.steps) opened = (await carryOut(step)) ?? opened;
  if (decision.is === 'close') {
    const { request } = decision;
    return request.state === 'open' ? { is: 'closed', ...placeOf(request), hasRest: wanted.hasRest } : none();
  }
  const did = deeds.find((deed) => done.has(deed)) ?? 'nothing';
  return { is: 'open', ...placeOf((opened ?? decision.request) as HostRequest), did };
}

function placeOf({ url, number }: HostRequest): Pick<HostRequest, 'url' | 'number'> {
  return { url, number };
}

async function headsOf(
  repository: BranchRepository,
  { base: wantedBase, branch }: RequestWanted,
  shown: string,
): Promise<{ readonly base: string; readonly baseHead: string; readonly head: string | undefined }> {
  const named = wantedBase === undefined ? [branch] : [wantedBase, branch];
  const { defaultBranch, heads } = await repository.heads(named);
  const base = wantedBase ?? defaultBranch ?? 'HEAD';
  if (base === branch) {
    throw new UserError(`${base} is both the branch and the base of the pull request`, {
      hint: 'Set pull_requests.branch or pull_requests.base.',
    });
  }
  const [baseHead, head] = [heads.get(base), heads.get(branch)];
  if (baseHead === undefined) {
    throw new UserError(`${shown} has no branch ${base}`, { hint: 'Set pull_requests.base.' });
  }
  await repository.fetch(head === undefined ? [base] : [base, branch]);
  return { base, baseHead, head };
}

interface FileLeft {
  readonly path: string;
  readonly after: string;
  readonly base: CommittedFile;
  /** Id of the blob with the new text. */
  readonly blob: string;
}

/** The files that the base does not contain yet, or the files that differ from those that were read, so that the edits do not apply. */
async function filesLeft(
  repository: BranchRepository,
  { files }: RequestWanted,
  baseHead: string,
): Promise<readonly FileLeft[] | { readonly behind: readonly string[] }> {
  if (files.length === 0) return [];
  const paths = files.map(({ path }) => path);
  const there = await repository.files(baseHead, paths);
  const left: FileLeft[] = [];
  const behind: string[] = [];
  for (const { path, before, after } of files) {
    const base = there.get(path);
    const blob = blobId(after, baseHead);
    if (base?.id === blobId(before, baseHead)) left.push({ path, after, base, blob });
    else if (base?.id !== blob) behind.push(path);
  }
  return behind.length > 0 ? { behind } : left;
}

/** Digest of the changes of a commit that voxform made for the workspace; undefined for any other commit. */
async function changesOf(repository: BranchRepository, commit: string, workspace: string): Promise<string | undefined> {
  const { parents, message } = await repository.commit(commit);
  const mark = markIn(message);
  // A person may have amended the commit or moved it onto another one, with its message.
  if (mark?.workspace !== workspace || parents.length !== 1 || parents[0] !== mark.parent) return undefined;
  const changes = changesDigest(await repository.changes(mark.parent, commit));
  return changes === mark.changes ? changes : undefined;
}
