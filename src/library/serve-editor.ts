import type { Readable, Writable } from 'node:stream';
import type { Environment } from '../manifests/secret-reader.ts';
import { ownVariables } from '../values/own-variables.ts';
import { Redactor } from '../values/redactor.ts';

export interface EditorOptions {
  /** The stream of protocol messages from the editor. */
  readonly input: Readable;
  /** The stream of protocol messages to the editor. */
  readonly output: Writable;
  /** The environment with secrets and `VOXFORM_…` variables. Default: empty. */
  readonly env?: Environment;
  /** The name of the workspace. Default: `VOXFORM_WORKSPACE`, or the default of the project. The editor can request another workspace. */
  readonly workspace?: string;
  /** Stops the server. */
  readonly signal?: AbortSignal;
}

/**
 * Runs the language server for an editor, like `voxform lsp`, until the editor disconnects or the signal is aborted. Only reads files, and
 * sends no requests to the platform.
 * @returns true if the editor sent a shutdown request before it disconnected.
 */
export async function serveEditor(options: EditorOptions): Promise<boolean> {
  // Loaded on first use, so that programs without an editor do not load the protocol library.
  const server = await import('../editor/server.ts');
  const { input, output, env = {}, workspace, signal = new AbortController().signal } = options;
  return server.serveEditor({
    ...{ input, output, workspace, signal },
    env: ownVariables(env),
    usesEnvFile: false,
    readsSecrets: true,
    user: process.getuid?.(),
    policies: undefined,
    cacheFolder: undefined,
    redactor: new Redactor(),
  });
}
