import { setTimeout as delay } from 'node:timers/promises';
import { type BranchRepository, type CommittedFile, formatChangedFile } from '../../hosting/branch-repository.ts';
import type { CodeHost, HostRequest, RequestChange } from '../../hosting/code-host.ts';
import { HostProblem } from '../../hosting/host-client.ts';
import { backoff } from '../../platform/retry.ts';
import { UserError } from '../../problems/user-error.ts';
import { blobId, changesDigest, driftIn, ENDED, markedMessage, markedText, markIn, withText } from './request-mark.ts';
import type { RequestTarget } from './request-target.ts';

/** The request that a workspace should have. */
export interface WantedRequest extends Pick<RequestTarget, 'branch' | 'base' | 'title'> {
  /** Identifies the workspace in the repository. */
  readonly workspace: string;
  readonly drift: string;
  /** The description in Markdown. */
  readonly text: string;
  /** True if part of the drift cannot be written to a file. */
  readonly hasRest: boolean;
  /** The description after the drift has ended. */
  readonly ended: string;
  /** The files to change: their paths in the repository, the text that was read, and the new text. */
  readonly files: readonly { readonly path: string; readonly before: string; readonly after: string }[];
}

export type RequestResult =
  /** There is no drift to accept, and no request. */
  | { readonly is: 'none' }
  | { readonly is: 'open'; readonly url: string; readonly number: number; readonly did: Write | 'nothing' }
  /** The drift has ended, except for skipped changes. */
  | { readonly is: 'closed'; readonly url: string; readonly number: number; readonly hasRest: boolean }
  /** A person closed the request, and the same drift persists. */
  | { readonly is: 'rejected'; readonly url: string; readonly number: number }
  /** The branch has commits that voxform did not make for this workspace. */
  | { readonly is: 'foreign'; readonly branch: string; readonly url?: string | undefined }
  /** The manifests on the base branch differ from those that were read. */
  | { readonly is: 'behind'; readonly base: string; readonly files: readonly string[] };

const MAX_ATTEMPTS = 5;
/** HTTP statuses of a write that may have failed because the branch or the request changed after it was read. */
const STALE_STATUSES = [400, 405, 409, 422];

/** Access to the API and the repository of a host. */
interface RequestHost {
  readonly host: CodeHost;
  readonly repository: BranchRepository;
  /** The repository in messages, e.g. `acme/voices on github.com`. */
  readonly shown: string;
}

type Write = 'opened' | 'updated';

/**
 * Opens, updates or closes the request of a workspace to match the drift. All decisions are based on data from the host. This data is read
 * again before the next write if a response was lost or somebody else changed the branch or the request.
 * @throws HostProblem, UserError
 */
export async function reconcileRequest(
  at: RequestHost,
  wanted: WantedRequest,
  signal: AbortSignal,
): Promise<RequestResult> {
  let lastMessage: string | undefined;
  const sent = new Set<Write>();
  for (let attempt = 1; ; attempt++) {
    try {
      const result = await updateOnce(at, wanted, sent);
      if (attempt === MAX_ATTEMPTS || !(await wasClosedMeanwhile(at.host, wanted, result))) return result;
      sent.clear();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof HostProblem) || attempt === MAX_ATTEMPTS) throw error;
      const { failure, message } = error;
      const mayBeStale =
        failure.reason === 'unclear' || (failure.reason === 'refused' && STALE_STATUSES.includes(failure.status));
      if (!mayBeStale || lastMessage === message) throw error;
      lastMessage = message;
      await delay(backoff(attempt, Math.random), undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}

/** True if the request was closed or merged since the update began. */
async function wasClosedMeanwhile(host: CodeHost, { branch }: WantedRequest, result: RequestResult): Promise<boolean> {
  if (result.is !== 'open' || result.did !== 'updated') return false;
  const found = (await host.requests(branch)).find(({ number }) => number === result.number);
  return found !== undefined && found.state !== 'open';
}

/** @param sent receives each write before it is sent. */
async function updateOnce(
  { host, repository, shown }: RequestHost,
  wanted: WantedRequest,
  sent: Set<Write>,
): Promise<RequestResult> {
  const requests = await host.requests(wanted.branch);
  const current = currentRequest(requests);
  if (wanted.files.length === 0 && current?.state !== 'open' && current?.state !== 'closed') return { is: 'none' };
  const { base, baseHead, head } = await headsOf(repository, wanted, shown);
  const files = await remainingFiles(repository, wanted, baseHead);
  if ('behind' in files) return { is: 'behind', base, files: files.behind };
  const changes = changesDigest(files.map(({ path, base, blob }) => formatChangedFile(path, base, blob)).sort());
  const isMerged = head === baseHead || requests.some((each) => each.state === 'merged' && each.head === head);
  const ownChanges = head === undefined || isMerged ? undefined : await changesOf(repository, head, wanted.workspace);
  const branch =
    head === undefined
      ? undefined
      : { isOurs: isMerged || ownChanges !== undefined, isUpToDate: ownChanges === changes };
  const decision = decideRequest({ ...wanted, hasFiles: files.length > 0 }, { base, branch, requests });
  const none = (): RequestResult =>
    wanted.files.length === 0 ? { is: 'none' } : { is: 'behind', base, files: wanted.files.map(({ path }) => path) };
  if (decision.is === 'none') return none();
  if (decision.is === 'foreign') return { is: 'foreign', branch: wanted.branch, url: decision.request?.url };
  if (decision.is === 'rejected') return { is: 'rejected', ...linkOf(decision.request) };

  const execute = async (step: RequestStep): Promise<HostRequest | undefined> => {
    const { branch, title, workspace } = wanted;
    switch (step.do) {
      case 'push': {
        const message = markedMessage(title, { workspace, parent: baseHead, changes });
        const texts = files.map(({ path, after, base: { mode } }) => ({ path, mode, text: after }));
        sent.add('updated');
        await repository.push(branch, await repository.create({ parent: baseHead, message, files: texts }), head);
        return undefined;
      }
      case 'open':
        sent.add('opened');
        return host.open({ branch, base, title, body: step.body });
      case 'change':
        sent.add('updated');
        await host.change(step.request.number, step.change);
        return undefined;
      default:
        return step satisfies never;
    }
  };
  let opened: HostRequest | undefined;
  for (const step of decision.steps) opened = (await execute(step)) ?? opened;
  if (decision.is === 'close') {
    const { request } = decision;
    return request.state === 'open' ? { is: 'closed', ...linkOf(request), hasRest: wanted.hasRest } : none();
  }
  const did = sent.has('opened') ? 'opened' : sent.has('updated') ? 'updated' : 'nothing';
  return { is: 'open', ...linkOf((opened ?? decision.request) as HostRequest), did };
}

function linkOf({ url, number }: HostRequest): Pick<HostRequest, 'url' | 'number'> {
  return { url, number };
}

async function headsOf(
  repository: BranchRepository,
  { base: wantedBase, branch }: WantedRequest,
  shown: string,
): Promise<{ readonly base: string; readonly baseHead: string; readonly head: string | undefined }> {
  const names = wantedBase === undefined ? [branch] : [wantedBase, branch];
  const { defaultBranch, heads } = await repository.heads(names);
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

/** A file to change. `blob` is the Git id of its new text. */
type RemainingFile = Pick<WantedRequest['files'][number], 'path' | 'after'> & { base: CommittedFile; blob: string };

/** Returns the files whose edits are not on the base branch yet, or in `behind` the files that have changed there since they were read. */
async function remainingFiles(
  repository: BranchRepository,
  { files }: WantedRequest,
  baseHead: string,
): Promise<readonly RemainingFile[] | { readonly behind: readonly string[] }> {
  if (files.length === 0) return [];
  const paths = files.map(({ path }) => path);
  const onBase = await repository.files(baseHead, paths);
  const remaining: RemainingFile[] = [];
  const behind: string[] = [];
  for (const { path, before, after } of files) {
    const base = onBase.get(path);
    const blob = blobId(after, baseHead);
    if (base?.id === blobId(before, baseHead)) remaining.push({ path, after, base, blob });
    else if (base?.id !== blob) behind.push(path);
  }
  return behind.length > 0 ? { behind } : remaining;
}

/** Returns the digest of the changes in a commit that voxform made for the workspace; undefined for any other commit. */
async function changesOf(repository: BranchRepository, commit: string, workspace: string): Promise<string | undefined> {
  const { parents, message } = await repository.commit(commit);
  const mark = markIn(message);
  // A person may have amended or rebased the commit and kept its message.
  if (mark?.workspace !== workspace || parents.length !== 1 || parents[0] !== mark.parent) return undefined;
  const changes = changesDigest(await repository.changes(mark.parent, commit));
  return changes === mark.changes ? changes : undefined;
}

export interface HostFacts {
  readonly base: string;
  /** `isOurs`: only voxform changed the branch, for this workspace. `isUpToDate`: the branch has the wanted changes. */
  readonly branch: { readonly isOurs: boolean; readonly isUpToDate: boolean } | undefined;
  /** Newest first. */
  readonly requests: readonly HostRequest[];
}

/** The digest and the texts of a request. `hasFiles` is true if a file would change. */
type RequestText = Pick<WantedRequest, 'drift' | 'text' | 'ended'> & { readonly hasFiles: boolean };

type RequestStep =
  | { readonly do: 'push' }
  | { readonly do: 'open'; readonly body: string }
  | { readonly do: 'change'; readonly request: HostRequest; readonly change: RequestChange };

type RequestDecision =
  | { readonly is: 'none' }
  /** The branch has commits of others and is left unchanged. */
  | { readonly is: 'foreign'; readonly request: HostRequest | undefined }
  /** A person closed the request for this drift, so it stays closed. */
  | { readonly is: 'rejected'; readonly request: HostRequest }
  | { readonly is: 'close'; readonly request: HostRequest; readonly steps: readonly RequestStep[] }
  /** `request` is undefined if a new request is opened. */
  | { readonly is: 'open'; readonly request: HostRequest | undefined; readonly steps: readonly RequestStep[] };

/** Returns the open request of a branch, or else the newest request. */
function currentRequest(requests: readonly HostRequest[]): HostRequest | undefined {
  return requests.find(({ state }) => state === 'open') ?? requests[0];
}

/** Decides the steps that make a request match the drift. The function is pure: the data of the host is an argument. */
export function decideRequest(wanted: RequestText, { base, branch, requests }: HostFacts): RequestDecision {
  const request = currentRequest(requests);
  const isForeign = branch?.isOurs === false;
  if (!wanted.hasFiles) return decideEnd(wanted, request, isForeign);
  if (isForeign) return { is: 'foreign', request };
  // A deleted branch also closes the request. This is not a rejection, so a new request is opened.
  if (request?.state === 'closed' && branch !== undefined && driftIn(request.body) === wanted.drift)
    return { is: 'rejected', request };

  const push: RequestStep[] = branch?.isUpToDate === true ? [] : [{ do: 'push' }];
  const marked = markedText(wanted.drift, wanted.text);
  if (request?.state !== 'open')
    return { is: 'open', request: undefined, steps: [...push, { do: 'open', body: marked }] };
  const body = withText(request.body, marked);
  const change = {
    ...(body !== request.body.replaceAll('\r\n', '\n') && { body }),
    ...(request.base !== base && { base }),
  };
  const edits: RequestStep[] = Object.keys(change).length === 0 ? [] : [{ do: 'change', request, change }];
  return { is: 'open', request, steps: [...push, ...edits] };
}

function decideEnd({ ended }: RequestText, request: HostRequest | undefined, foreign: boolean): RequestDecision {
  const drift = request && driftIn(request.body);
  const isOver =
    request?.state === 'merged' || (request?.state === 'closed' && (drift === undefined || drift === ENDED));
  if (request === undefined || isOver) return { is: 'none' };
  if (request.state === 'open' && foreign) return { is: 'foreign', request };
  const body = withText(request.body, markedText(ENDED, ended));
  const change: RequestChange = request.state === 'open' ? { state: 'closed', body } : { body };
  return { is: 'close', request, steps: [{ do: 'change', request, change }] };
}
