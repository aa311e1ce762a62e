import type { Readable, Writable } from 'node:stream';
import type { Environment } from '../manifests/secret-reader.ts';
import { Redactor } from '../values/redactor.ts';

export interface EditorOptions {
  /** Messages of the Language Server Protocol, from and to the editor. */
  readonly input: Readable;
  readonly output: Writable;
  /** The environment with secrets and `VOXFORM_…` variables. Default: empty. */
  readonly env?: Environment;
  /** The workspace. Default: that of the editor, `VOXFORM_WORKSPACE` or the default of the project. */
  readonly workspace?: string;
  /** Ends the service. */
  readonly signal?: AbortSignal;
}

/**
 * Serves an editor as `voxform lsp` does, until it disconnects or the signal aborts. Reads files, writes none, and sends no requests.
 * @returns true if the editor shut the service down before it disconnected.
 */
export async function serveEditor(options: EditorOptions): Promise<boolean> {
  // Programs that serve no editor do not load the protocol.
  const server = await import('../editor/server.ts');
  const { input, output, env = {}, workspace, signal = new AbortController().signal } = options;
  return server.serveEditor({
    ...{ input, output, env, workspace, signal },
    usesEnvFile: false,
    readsSecrets: true,
    user: process.getuid?.(),
    policies: undefined,
    cacheFolder: undefined,
    redactor: new Redactor(),
  });
}
