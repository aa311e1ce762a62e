import type { HostRequest, RequestChange } from '../../hosting/code-host.ts';
import { driftIn, ENDED, markedText, withText } from './request-mark.ts';

/** A branch as it is compared with its base. */
export interface BranchSeen {
  readonly head: string;
  /** False where somebody else has a commit on it. */
  readonly isOurs: boolean;
  /** True where it has what it should. */
  readonly isDone: boolean;
  /** True where a commit on top of it is enough: the base is as it was where it matters. */
  readonly canGrow: boolean;
}

export interface RequestSeen {
  readonly base: string;
  readonly baseHead: string;
  readonly branch: BranchSeen | undefined;
  /** The newest first. */
  readonly requests: readonly HostRequest[];
  /** Those that the host does not reopen. */
  readonly stuck: ReadonlySet<number>;
}

interface RequestText {
  readonly branch: string;
  /** Digest of the drift. */
  readonly drift: string;
  readonly text: string;
  /** Once the drift has ended. */
  readonly ended: string;
  /** True where there is something to be written. */
  readonly hasFiles: boolean;
}

export type RequestStep =
  | { readonly do: 'commit'; readonly head: string | undefined; readonly parent: string }
  | { readonly do: 'open'; readonly body: string }
  | { readonly do: 'change'; readonly request: HostRequest; readonly change: RequestChange };

type RequestDecision =
  | { readonly is: 'none' }
  /** Somebody else's commits are on the branch: it is left as it is. */
  | { readonly is: 'foreign'; readonly request: HostRequest | undefined }
  /** Somebody closed the request of this drift: it stays closed. */
  | { readonly is: 'rejected'; readonly request: HostRequest }
  | { readonly is: 'close'; readonly request: HostRequest; readonly steps: readonly RequestStep[] }
  | {
      readonly is: 'open';
      /** Undefined for a new one. */
      readonly request: HostRequest | undefined;
      readonly steps: readonly RequestStep[];
    };

/** The request that a branch has or had last; an open one before all others. */
export function currentRequest(requests: readonly HostRequest[]): HostRequest | undefined {
  return requests.find(({ state }) => state === 'open') ?? requests[0];
}

/** What brings a request in line with the drift. A pure function of what the host shows. */
export function decideRequest(wanted: RequestText, seen: RequestSeen): RequestDecision {
  const request = currentRequest(seen.requests);
  const { branch, base, baseHead } = seen;
  const foreign = branch !== undefined && !branch.isOurs;
  if (!wanted.hasFiles) return ending(wanted, request, foreign);
  if (foreign) return { is: 'foreign', request };
  const isOpen = request?.state === 'open';
  const isClosed = request?.state === 'closed';
  // A host closes the request of a branch that is deleted, which asks for a new one.
  if (isClosed && branch !== undefined && driftIn(request.body) === wanted.drift)
    return { is: 'rejected', request };

  const commit: RequestStep[] =
    branch?.isDone === true
      ? []
      : [{ do: 'commit', head: branch?.head, parent: branch?.canGrow ? branch.head : baseHead }];
  const marked = markedText(wanted.drift, wanted.text);
  if (isOpen) {
    const body = withText(request.body, marked);
    const change = {
      ...(body !== request.body.replaceAll('\r\n', '\n') && { body }),
      ...(request.base !== base && { base }),
    };
    const isSame = Object.keys(change).length === 0;
    return {
      is: 'open',
      request,
      steps: [...commit, ...(isSame ? [] : [{ do: 'change', request, change } as const])],
    };
  }
  if (isClosed && branch !== undefined && request.base === base && !seen.stuck.has(request.number)) {
    const change = { state: 'open', body: withText(request.body, marked) } as const;
    // Before the commit: a host refuses to reopen a request whose branch was moved meanwhile.
    return { is: 'open', request, steps: [{ do: 'change', request, change }, ...commit] };
  }
  return { is: 'open', request: undefined, steps: [...commit, { do: 'open', body: marked }] };
}

function ending({ ended }: RequestText, request: HostRequest | undefined, foreign: boolean): RequestDecision {
  const told = request && driftIn(request.body);
  const isOver =
    request?.state === 'merged' || (request?.state === 'closed' && (told === undefined || told === ENDED));
  if (request === undefined || isOver) return { is: 'none' };
  if (request.state === 'open' && foreign) return { is: 'foreign', request };
  const body = withText(request.body, markedText(ENDED, ended));
  const change: RequestChange = request.state === 'open' ? { state: 'closed', body } : { body };
  return { is: 'close', request, steps: [{ do: 'change', request, change }] };
}
