import { setTimeout as delay } from 'node:timers/promises';
import { type BranchRepository, type CommittedFile, changedFile } from '../../hosting/branch-repository.ts';
import type { CodeHost, HostRequest, RequestChange } from '../../hosting/code-host.ts';
import { HostProblem } from '../../hosting/host-client.ts';
import { backoff } from '../../platform/retry.ts';
import { UserError } from '../../problems/user-error.ts';
import { blobId, changesDigest, driftIn, ENDED, markedMessage, markedText, markIn, withText } from './request-mark.ts';
import type { RequestPlace } from './request-place.ts';

/** The request that a workspace should have. */
export interface RequestWanted extends Pick<RequestPlace, 'branch' | 'base' | 'title'> {
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
  | { readonly is: 'open'; readonly url: string; readonly number: number; readonly did: Write | 'nothing' }
  /** The drift has ended, except for skipped changes. */
  | { readonly is: 'closed'; readonly url: string; readonly number: number; readonly hasRest: boolean }
  /** A person closed it while this drift lasts. */
  | { readonly is: 'rejected'; readonly url: string; readonly number: number }
  /** The branch has commits of other people. */
  | { readonly is: 'foreign'; readonly branch: string; readonly url?: string | undefined }
  /** The manifests on the base differ from those that were read. */
  | { readonly is: 'behind'; readonly base: string; readonly files: readonly string[] };

const MAX_ATTEMPTS = 5;
/** Statuses that may be due to a change by somebody else since the last read. */
const STALE = [400, 405, 409, 422];

/** Access to a host: its API and its repository. */
interface RequestHost {
  readonly host: CodeHost;
  readonly repository: BranchRepository;
  /** For messages, e.g. `acme/voices on github.com`. */
  readonly shown: string;
}

type Write = 'opened' | 'updated';

/**
 * Brings the request of a workspace in line with its drift. Decisions are based on the host: after a lost response or a change by somebody
 * else, it is read again before the next write.
 * @throws HostProblem, UserError
 */
export async function keepRequest(at: RequestHost, wanted: RequestWanted, signal: AbortSignal): Promise<KeptRequest> {
  let lastMessage: string | undefined;
  const sent = new Set<Write>();
  for (let attempt = 1; ; attempt++) {
    try {
      const kept = await updateOnce(at, wanted, sent);
      if (attempt === MAX_ATTEMPTS || !(await isOverSince(at.host, wanted, kept))) return kept;
      sent.clear();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof HostProblem) || attempt === MAX_ATTEMPTS) throw error;
      const { failure, message } = error;
      const mayBeStale = failure.why === 'unclear' || (failure.why === 'refused' && STALE.includes(failure.status));
      if (!mayBeStale || lastMessage === message) throw error;
      lastMessage = message;
      await delay(backoff(attempt, Math.random), undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}

/** True if somebody has closed or merged the request since the update began. */
async function isOverSince(host: CodeHost, { branch }: RequestWanted, kept: KeptRequest): Promise<boolean> {
  if (kept.is !== 'open' || kept.did !== 'updated') return false;
  const found = (await host.requests(branch)).find(({ number }) => number === kept.number);
  return found !== undefined && found.state !== 'open';
}

/** @param sent receives the writes, also if they fail. */
async function updateOnce(
  { host, repository, shown }: RequestHost,
  wanted: RequestWanted,
  sent: Set<Write>,
): Promise<KeptRequest> {
  const requests = await host.requests(wanted.branch);
  const current = currentRequest(requests);
  if (wanted.files.length === 0 && current?.state !== 'open' && current?.state !== 'closed') return { is: 'none' };
  const { base, baseHead, head } = await headsOf(repository, wanted, shown);
  const files = await filesLeft(repository, wanted, baseHead);
  if ('behind' in files) return { is: 'behind', base, files: files.behind };
  const changes = changesDigest(files.map(({ path, base, blob }) => changedFile(path, base, blob)).sort());
  const isMerged = head === baseHead || requests.some((each) => each.state === 'merged' && each.head === head);
  const own = head === undefined || isMerged ? undefined : await changesOf(repository, head, wanted.workspace);
  const branch = head === undefined ? undefined : { isOurs: isMerged || own !== undefined, isDone: own === changes };
  const decision = decideRequest({ ...wanted, hasFiles: files.length > 0 }, { base, branch, requests });
  const none = (): KeptRequest =>
    wanted.files.length === 0 ? { is: 'none' } : { is: 'behind', base, files: wanted.files.map(({ path }) => path) };
  if (decision.is === 'none') return none();
  if (decision.is === 'foreign') return { is: 'foreign', branch: wanted.branch, url: decision.request?.url };
  if (decision.is === 'rejected') return { is: 'rejected', ...placeOf(decision.request) };

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
    return request.state === 'open' ? { is: 'closed', ...placeOf(request), hasRest: wanted.hasRest } : none();
  }
  const did = sent.has('opened') ? 'opened' : sent.has('updated') ? 'updated' : 'nothing';
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

/** A file to change. `blob` is the id of its new text. */
type FileLeft = Pick<RequestWanted['files'][number], 'path' | 'after'> & { base: CommittedFile; blob: string };

/** The files that the base does not contain yet, or the files that differ from those that were read, so that the edits do not apply. */
async function filesLeft(
  repository: BranchRepository,
  { files }: RequestWanted,
  baseHead: string,
): Promise<readonly FileLeft[] | { readonly behind: readonly string[] }> {
  if (files.length === 0) return [];
  const paths = files.map(({ path }) => path);
  const onBase = await repository.files(baseHead, paths);
  const left: FileLeft[] = [];
  const behind: string[] = [];
  for (const { path, before, after } of files) {
    const base = onBase.get(path);
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

export interface RequestSeen {
  readonly base: string;
  /** `isOurs`: no person and no other workspace has changed it. `isDone`: it has the wanted changes. */
  readonly branch: { readonly isOurs: boolean; readonly isDone: boolean } | undefined;
  /** Newest first. */
  readonly requests: readonly HostRequest[];
}

/** `hasFiles`: a file would change. */
type RequestText = Pick<RequestWanted, 'drift' | 'text' | 'ended'> & { readonly hasFiles: boolean };

type RequestStep =
  | { readonly do: 'push' }
  | { readonly do: 'open'; readonly body: string }
  | { readonly do: 'change'; readonly request: HostRequest; readonly change: RequestChange };

type RequestDecision =
  | { readonly is: 'none' }
  /** The branch has commits of others and is left unchanged. */
  | { readonly is: 'foreign'; readonly request: HostRequest | undefined }
  /** A person closed the request of this drift: it stays closed. */
  | { readonly is: 'rejected'; readonly request: HostRequest }
  | { readonly is: 'close'; readonly request: HostRequest; readonly steps: readonly RequestStep[] }
  /** Without a request for a new one. */
  | { readonly is: 'open'; readonly request: HostRequest | undefined; readonly steps: readonly RequestStep[] };

/** The open request of a branch, else its newest one. */
function currentRequest(requests: readonly HostRequest[]): HostRequest | undefined {
  return requests.find(({ state }) => state === 'open') ?? requests[0];
}

/** The steps that bring a request in line with the drift. A pure function of what the host shows. */
export function decideRequest(wanted: RequestText, { base, branch, requests }: RequestSeen): RequestDecision {
  const request = currentRequest(requests);
  const isForeign = branch?.isOurs === false;
  if (!wanted.hasFiles) return ending(wanted, request, isForeign);
  if (isForeign) return { is: 'foreign', request };
  // A host closes the request when its branch is deleted. This is no rejection, so a new one is opened.
  if (request?.state === 'closed' && branch !== undefined && driftIn(request.body) === wanted.drift)
    return { is: 'rejected', request };

  const push: RequestStep[] = branch?.isDone === true ? [] : [{ do: 'push' }];
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

function ending({ ended }: RequestText, request: HostRequest | undefined, foreign: boolean): RequestDecision {
  const named = request && driftIn(request.body);
  const isOver =
    request?.state === 'merged' || (request?.state === 'closed' && (named === undefined || named === ENDED));
  if (request === undefined || isOver) return { is: 'none' };
  if (request.state === 'open' && foreign) return { is: 'foreign', request };
  const body = withText(request.body, markedText(ENDED, ended));
  const change: RequestChange = request.state === 'open' ? { state: 'closed', body } : { body };
  return { is: 'close', request, steps: [{ do: 'change', request, change }] };
}
