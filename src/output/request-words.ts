import type { KeptRequest } from '../runs/drift-request/keep-request.ts';
import type { JsonObject } from '../values/json.ts';
import { escapeControls } from './escape-controls.ts';

/** In a clause how the request of a workspace stands; undefined where there is none. */
export function requestWords(kept: KeptRequest): string | undefined {
  const said = words(kept);
  return said === undefined ? undefined : escapeControls(said);
}

function words(kept: KeptRequest): string | undefined {
  switch (kept.is) {
    case 'none':
      return undefined;
    case 'open':
      return `pull request ${kept.did === 'nothing' ? 'open' : kept.did}: ${kept.url}`;
    case 'closed':
      return `pull request closed, because ${kept.hasRest ? 'only skipped changes remain' : 'the drift has ended'}: ${kept.url}`;
    case 'rejected':
      return `somebody closed the pull request for this drift, so it stays closed: ${kept.url}`;
    case 'foreign': {
      const where = kept.url === undefined ? '' : `: ${kept.url}`;
      return `the branch ${kept.branch} has commits of other people, so voxform does not change it${where}`;
    }
    case 'behind':
      return `no pull request: these files differ between the branch ${kept.base} and the checkout: ${kept.files.join(', ')}`;
    default:
      return kept satisfies never;
  }
}

/** The same as data: `change` is what was done now. */
interface RequestJson extends JsonObject {
  readonly status: KeptRequest['is'];
  readonly change: 'opened' | 'reopened' | 'updated' | 'closed' | null;
  readonly url: string | null;
  readonly message: string | null;
}

export function requestJson(kept: KeptRequest): RequestJson {
  const done = kept.is === 'open' ? kept.did : kept.is;
  return {
    status: kept.is,
    change: done === 'opened' || done === 'reopened' || done === 'updated' || done === 'closed' ? done : null,
    url: 'url' in kept ? (kept.url ?? null) : null,
    message: requestWords(kept) ?? null,
  };
}

/** True where drift waits for a person to look at something else than the request. */
export function needsPerson({ is }: KeptRequest): boolean {
  return is === 'rejected' || is === 'foreign' || is === 'behind';
}
