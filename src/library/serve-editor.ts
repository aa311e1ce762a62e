import type { Readable, Writable } from 'node:stream';
import type { Environment } from '../manifests/secret-reader.ts';
import { Redactor } from '../values/redactor.ts';

export interface EditorOptions {
  /** What the editor says, and what it is told: the Language Server Protocol. */
  readonly input: Readable;
  readonly output: Writable;
  /** Where secrets and `VOXFORM_…` variables are looked for. Nothing is, where it is left out. */
  readonly env?: Environment;
  /** The workspace meant; what the editor asks for, `VOXFORM_WORKSPACE` and the project's own choice come into play where absent. */
  readonly workspace?: string;
  /** Ends the service. */
  readonly signal?: AbortSignal;
}

/**
 * Serves an editor as `voxform lsp` does, until it leaves or the signal comes. Reads files, writes none, and sends no requests.
 * @returns whether the editor shut the service down before it left.
 */
export async function serveEditor({
  input,
  output,
  env = {},
  workspace,
  signal = new AbortController().signal,
}: EditorOptions): Promise<boolean> {
  // The protocol is loaded by who needs it only.
  const server = await import('../editor/server.ts');
  return server.serveEditor({
    input,
    output,
    env,
    usesEnvFile: false,
    user: process.getuid?.(),
    workspace,
    policies: undefined,
    cacheFolder: undefined,
    signal,
    redactor: new Redactor(),
  });
}
