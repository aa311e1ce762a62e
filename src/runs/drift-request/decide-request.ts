import type { HostRequest, RequestChange } from '../../hosting/code-host.ts';
import { driftIn, ENDED, markedText, withText } from './request-mark.ts';

/** A branch compared with its base. */
interface BranchSeen {
  /** False if a person or another workspace has changed it. */
  readonly isOurs: boolean;
  /** True if it has the wanted changes. */
  readonly isDone: boolean;
}

export interface RequestSeen {
  readonly base: string;
  readonly branch: BranchSeen | undefined;
  /** Newest first. */
  readonly requests: readonly HostRequest[];
}

interface RequestText {
  readonly drift: string;
  readonly text: string;
  /** The text after the drift has ended. */
  readonly ended: string;
  /** True if a file would change. */
  readonly hasFiles: boolean;
}

export type RequestStep =
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
  | {
      readonly is: 'open';
      /** Undefined for a new request. */
      readonly request: HostRequest | undefined;
      readonly steps: readonly RequestStep[];
    };

/** The open request of a branch, else its newest one. */
export function currentRequest(requests: readonly HostRequest[]): HostRequest | undefined {
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
  if (request?.state !== 'open') {
    return { is: 'open', request: undefined, steps: [...push, { do: 'open', body: marked }] };
  }
  const body = withText(request.body, marked);
  const change = {
    ...(body !== request.body.replaceAll('\r\n', '\n') && { body }),
    ...(request.base !== base && { base }),
  };
  const isSame = Object.keys(change).length === 0;
  return {
    is: 'open',
    request,
    steps: [...push, ...(isSame ? [] : [{ do: 'change', request, change } as const])],
  };
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
