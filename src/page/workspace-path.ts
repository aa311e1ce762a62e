import { attempt } from '../problems/attempt.ts';
import { type ActionName, actionNames } from './page-data.ts';

/** The lists that only the API provides. */
const lists = ['resources', 'runs', 'plans'] as const;

export type WorkspacePath =
  | { readonly view: 'workspace'; readonly address: string }
  | { readonly view: 'run'; readonly address: string; readonly id: string }
  | { readonly view: 'resource'; readonly address: string; readonly resource: string }
  | { readonly view: 'plan'; readonly address: string; readonly id: string }
  | { readonly view: 'list'; readonly address: string; readonly list: (typeof lists)[number] }
  | { readonly view: 'action'; readonly address: string; readonly action: ActionName };

/** Parses the path of a page. The last part of an address with slashes has a colon, so it is never mistaken for a keyword. */
export function parseWorkspacePath(path: string): WorkspacePath | undefined {
  const parts = decode(path.replace(/^\/workspaces\//, ''));
  if (parts === undefined || parts.some((part) => part === '')) return undefined;
  const [last = '', word, ...before] = parts.toReversed();
  const address = before.toReversed().join('/');
  if (address !== '' && !last.includes(':')) {
    if (word === 'runs') return { view: 'run', address, id: last };
    if (word === 'plans') return { view: 'plan', address, id: last };
  }
  const list = parts.length === 1 ? undefined : lists.find((each) => each === last);
  if (list !== undefined) return { view: 'list', address: parts.slice(0, -1).join('/'), list };
  const action = actionNames.find((each) => each === last);
  if (word === 'actions' && address !== '' && action !== undefined) return { view: 'action', address, action };
  if (parts.at(-3) === 'resources' && parts.length > 3 && !last.includes(':')) {
    return { view: 'resource', address: parts.slice(0, -3).join('/'), resource: parts.slice(-2).join('/') };
  }
  return { view: 'workspace', address: parts.join('/') };
}

function decode(path: string): string[] | undefined {
  return attempt(() => path.split('/').map(decodeURIComponent));
}
