import { setTimeout as delay } from 'node:timers/promises';
import type { CodeHost, HostRequest } from '../../hosting/code-host.ts';
import { HostProblem } from '../../hosting/host-problem.ts';
import { backoff } from '../../platform/retry.ts';
import { UserError } from '../../problems/user-error.ts';
import {
  type BranchSeen,
  currentRequest,
  decideRequest,
  type RequestSeen,
  type RequestStep,
} from './decide-request.ts';
import { blobId, contentDigest, markedMessage, markIn } from './request-mark.ts';

/** What the request of a workspace is to have. */
export interface RequestWanted {
  readonly branch: string;
  /** Undefined for the default branch of the repository. */
  readonly base: string | undefined;
  readonly title: string;
  /** Tells the workspace from all others of the repository. */
  readonly workspace: string;
  /** Digest of the drift. */
  readonly drift: string;
  /** In Markdown. */
  readonly text: string;
  /** True where there is drift that no file can have. */
  readonly hasRest: boolean;
  /** The same, once the drift has ended. */
  readonly ended: string;
  /** By their paths in the repository, with the text that was read and the one that it is to have. */
  readonly files: readonly { readonly path: string; readonly before: string; readonly after: string }[];
}

/** How a request stands now. */
export type KeptRequest =
  /** There is no drift to accept, and no request. */
  | { readonly is: 'none' }
  | {
      readonly is: 'open';
      readonly url: string;
      readonly number: number;
      readonly did: 'opened' | 'reopened' | 'updated' | 'nothing';
    }
  /** The drift has ended, but for what no file can have. */
  | { readonly is: 'closed'; readonly url: string; readonly number: number; readonly hasRest: boolean }
  /** Somebody closed it while this drift lasts. */
  | { readonly is: 'rejected'; readonly url: string; readonly number: number }
  /** The branch has commits of somebody else. */
  | { readonly is: 'foreign'; readonly branch: string; readonly url?: string | undefined }
  /** The base has other manifests than were read. */
  | { readonly is: 'behind'; readonly base: string; readonly files: readonly string[] };

const MOST_ROUNDS = 5;
/** Refusals that may come of what somebody did since we looked. */
const STALE = [400, 405, 409, 422];

/**
 * Brings the request of a workspace in line with its drift. What is on the host decides, each time anew: where an answer was lost, or
 * somebody else was quicker, it is looked at again before anything is sent again.
 * @throws HostProblem, UserError
 */
export async function keepRequest(
  host: CodeHost,
  wanted: RequestWanted,
  signal: AbortSignal,
): Promise<KeptRequest> {
  const stuck = new Set<number>();
  let said: string | undefined;
  const done = new Set<Deed>();
  for (let round = 1; ; round++) {
    try {
      const kept = await attemptOnce(host, wanted, { stuck, done });
      if (round === MOST_ROUNDS || !(await isOverSince(host, wanted, kept))) return kept;
      done.clear();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof HostProblem) || round === MOST_ROUNDS) throw error;
      const { trouble, message } = error;
      const isStale = isRefused(error) && said !== message;
      if (!isStale && trouble.why !== 'unclear') throw error;
      said = isStale ? message : said;
      await delay(backoff(round, Math.random), undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}

/** True for an update of a request that somebody, or the host itself, has closed or merged meanwhile. */
async function isOverSince(host: CodeHost, { branch }: RequestWanted, kept: KeptRequest): Promise<boolean> {
  if (kept.is !== 'open' || kept.did !== 'updated') return false;
  const found = (await host.requests(branch)).find(({ number }) => number === kept.number);
  return found !== undefined && found.state !== 'open';
}

/** What was sent, in this round or one before; the first of them is told. */
const deeds = ['opened', 'reopened', 'updated'] as const;

type Deed = (typeof deeds)[number];

interface Round {
  readonly stuck: Set<number>;
  readonly done: Set<Deed>;
}

async function attemptOnce(host: CodeHost, wanted: RequestWanted, round: Round): Promise<KeptRequest> {
  const requests = await host.requests(wanted.branch);
  const current = currentRequest(requests);
  if (wanted.files.length === 0 && current?.state !== 'open' && current?.state !== 'closed')
    return { is: 'none' };
  const base = wanted.base ?? (await host.defaultBranch());
  if (base === wanted.branch) {
    throw new UserError(`${base} is both the branch and the base of the pull request`, {
      hint: 'Set pull_requests.branch or pull_requests.base.',
    });
  }
  const [baseHead, head] = await Promise.all([host.head(base), host.head(wanted.branch)]);
  if (baseHead === undefined) {
    // Tells apart a repository that the token does not see.
    await host.defaultBranch();
    throw new UserError(`${host.shown} has no branch ${base}`, { hint: 'Set pull_requests.base.' });
  }
  const files = await filesLeft(host, wanted, baseHead);
  if ('behind' in files) return { is: 'behind', base, files: files.behind };
  const branch = head === undefined ? undefined : await lookAt(host, { head, baseHead, wanted, files });
  const seen: RequestSeen = { base, baseHead, branch, requests, stuck: round.stuck };
  const decision = decideRequest({ ...wanted, hasFiles: files.size > 0 }, seen);
  const none = (): KeptRequest =>
    wanted.files.length === 0
      ? { is: 'none' }
      : { is: 'behind', base, files: wanted.files.map(({ path }) => path) };
  if (decision.is === 'none') return none();
  if (decision.is === 'foreign') return { is: 'foreign', branch: wanted.branch, url: decision.request?.url };
  if (decision.is === 'rejected') return { is: 'rejected', ...placeOf(decision.request) };
  let opened: HostRequest | undefined;
  for (const step of decision.steps)
    opened = (await carryOut(host, step, { wanted, base, files, round })) ?? opened;
  if (decision.is === 'close') {
    const { request } = decision;
    return request.state === 'open' ? { is: 'closed', ...placeOf(request), hasRest: wanted.hasRest } : none();
  }
  const did = deeds.find((deed) => round.done.has(deed)) ?? 'nothing';
  return { is: 'open', ...placeOf((opened ?? decision.request) as HostRequest), did };
}

/** True where somebody may have changed something since we looked. */
function isRefused(error: unknown): boolean {
  const trouble = error instanceof HostProblem ? error.trouble : undefined;
  return trouble?.why === 'refused' && STALE.includes(trouble.status);
}

function placeOf({ url, number }: HostRequest): Pick<HostRequest, 'url' | 'number'> {
  return { url, number };
}

interface FileLeft {
  readonly after: string;
  /** Id of the blob that the base has, and that of the text it is to have. */
  readonly base: string;
  readonly blob: string;
}

/** Without what the base has already. Or those that are not there as they were read: what they would get was made for other texts. */
async function filesLeft(
  host: CodeHost,
  { files }: RequestWanted,
  baseHead: string,
): Promise<ReadonlyMap<string, FileLeft> | { readonly behind: readonly string[] }> {
  if (files.length === 0) return new Map();
  const blobs = await host.blobs(
    baseHead,
    files.map(({ path }) => path),
  );
  const left = new Map<string, FileLeft>();
  const behind: string[] = [];
  for (const { path, before, after } of files) {
    const there = blobs.get(path);
    const [from, to] = [blobId(before, baseHead), blobId(after, baseHead)];
    if (there === from) left.set(path, { after, base: from, blob: to });
    else if (there !== to) behind.push(path);
  }
  return behind.length > 0 ? { behind } : left;
}

interface Looking {
  readonly head: string;
  readonly baseHead: string;
  readonly wanted: RequestWanted;
  readonly files: ReadonlyMap<string, FileLeft>;
}

async function lookAt(host: CodeHost, { head, baseHead, wanted, files }: Looking): Promise<BranchSeen> {
  if (head === baseHead) return { head, isOurs: true, isDone: false, canGrow: true };
  const content = await host.contentOf(head, baseHead);
  const marks = content.commits.map(({ id, message }) => ({ id, mark: markIn(message) }));
  // All of it is in the base.
  if (marks.length === 0) return { head, isOurs: content.isWhole, isDone: false, canGrow: false };
  const blobs = await host.blobs(head, content.files);
  const digest = contentDigest(content.files.map((path) => [path, blobs.get(path)]));
  const isOurs =
    content.isWhole &&
    marks.every(({ mark }) => mark?.workspace === wanted.workspace) &&
    marks.find(({ id }) => id === head)?.mark?.content === digest;
  const before = await host.blobs(content.mergeBase, [...files.keys()]);
  const canGrow =
    content.files.every((path) => files.has(path)) &&
    [...files].every(([path, { base }]) => before.get(path) === base);
  return { head, isOurs, isDone: canGrow && digest === digestOf(files), canGrow };
}

function digestOf(files: ReadonlyMap<string, FileLeft>): string {
  return contentDigest([...files].map(([path, { blob }]) => [path, blob]));
}

interface CarryingOut {
  readonly wanted: RequestWanted;
  readonly base: string;
  readonly files: ReadonlyMap<string, FileLeft>;
  readonly round: Round;
}

async function carryOut(
  host: CodeHost,
  step: RequestStep,
  { wanted, base, files, round }: CarryingOut,
): Promise<HostRequest | undefined> {
  const { branch, title, workspace } = wanted;
  switch (step.do) {
    case 'commit': {
      const message = markedMessage(title, { workspace, content: digestOf(files) });
      const texts = new Map([...files].map(([path, { after }]) => [path, after]));
      round.done.add('updated');
      await host.commit({ branch, head: step.head, parent: step.parent, message, files: texts });
      return undefined;
    }
    case 'open':
      round.done.add('opened');
      return host.open({ branch, base, title, body: step.body });
    case 'change': {
      const { request, change } = step;
      round.done.add(change.state === 'open' ? 'reopened' : 'updated');
      try {
        await host.change(request.number, change);
      } catch (error) {
        if (change.state === 'open' && isRefused(error)) {
          round.stuck.add(request.number);
          round.done.delete('reopened');
        }
        throw error;
      }
      return undefined;
    }
    default:
      return step satisfies never;
  }
}
