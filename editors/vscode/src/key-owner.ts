import type { ShownWorkspace } from '../../../src/editor/extension-requests.ts';
import { isApiKey } from '../../../src/platform/connection.ts';
import { tryParseJson } from '../../../src/values/json.ts';
import { withoutLinks } from '../../../src/values/unsafe-text.ts';

/** The destination of an API key. If a project changes any part of it, the stored key is not used. */
export interface KeyOwner extends Pick<ShownWorkspace, 'name' | 'baseUrl' | 'workspaceId' | 'certificates'> {
  /** The folder of the project. */
  readonly folder: string;
}

const KIND = 'apiKey';

/** Returns the name under which a key is stored. */
export function keyName({ folder, name, baseUrl, workspaceId, certificates }: KeyOwner): string {
  return JSON.stringify([KIND, folder, name, baseUrl, workspaceId, certificates]);
}

/** Returns true if `stored` is the name of a key for a workspace with this name in this project, even at another address. */
export function isForWorkspace(stored: string, { folder, name }: KeyOwner): boolean {
  const parts = tryParseJson(stored);
  return Array.isArray(parts) && parts[0] === KIND && parts[1] === folder && parts[2] === name;
}

/** Returns the question for a key. @param stored the names of all stored keys. */
export function keyQuestion(
  owner: KeyOwner,
  stored: readonly string[],
): { readonly title: string; readonly prompt: string } {
  const { name, baseUrl, workspaceId } = owner;
  const hasChanged = !stored.includes(keyName(owner)) && stored.some((each) => isForWorkspace(each, owner));
  const warning = 'The address, id or certificates of this workspace have CHANGED since its key was stored. ';
  const use = `The key is sent to ${baseUrl} for the workspace id ${workspaceId}, and stored in the editor's secret storage.`;
  return {
    title: `API key of the workspace ${name}`,
    prompt: withoutLinks(`${hasChanged ? warning : ''}${use} Leave it empty to delete the stored key.`),
  };
}

/** Returns the reason why a text is not a valid key. Empty text is valid, because it deletes the key. */
export function keyProblem(typed: string): string | undefined {
  return typed === '' || isApiKey(typed) ? undefined : 'A key consists of visible ASCII characters without spaces.';
}
