import { type ActionName, actionNames } from './page-data.ts';

export type WorkspacePath =
  | { readonly view: 'workspace'; readonly address: string }
  | { readonly view: 'run'; readonly address: string; readonly id: string }
  | { readonly view: 'resource'; readonly address: string; readonly resource: string }
  | { readonly view: 'action'; readonly address: string; readonly action: ActionName };

/** An address may contain slashes, but then its last part contains a colon, so it is never one of these words. */
export function workspacePath(path: string): WorkspacePath | undefined {
  const parts = decoded(path.replace(/^\/workspaces\//, ''));
  if (parts === undefined || parts.some((part) => part === '')) return undefined;
  const [last = '', word, ...before] = parts.toReversed();
  const address = before.toReversed().join('/');
  if (word === 'runs' && address !== '' && !last.includes(':')) return { view: 'run', address, id: last };
  const action = actionNames.find((each) => each === last);
  if (word === 'actions' && address !== '' && action !== undefined) return { view: 'action', address, action };
  if (parts.at(-3) === 'resources' && parts.length > 3 && !last.includes(':')) {
    return { view: 'resource', address: parts.slice(0, -3).join('/'), resource: parts.slice(-2).join('/') };
  }
  return { view: 'workspace', address: parts.join('/') };
}

function decoded(path: string): string[] | undefined {
  try {
    return path.split('/').map(decodeURIComponent);
  } catch {
    return undefined;
  }
}
