import { serveEditor } from '../../editor/server.ts';
import { ExitCode } from '../../problems/user-error.ts';
import type { Context } from '../context.ts';
import { type PolicyFlags, withPolicyFiles } from '../flags.ts';

interface LspOptions extends PolicyFlags {
  /** False if the `.env` of a project must not be read. */
  readonly envFile?: boolean;
  readonly secrets: boolean;
}

/** Runs the language server over stdin and stdout until the editor disconnects. */
export async function lsp(given: Context, options: LspOptions): Promise<number> {
  const context = withPolicyFiles(given, options);
  const { terminal, env, workspace, cacheFolder, policies, interrupts, redactor } = context;
  const { streams } = terminal;
  const isShutDown = await serveEditor({
    ...streams,
    env,
    usesEnvFile: (options.envFile ?? true) && options.secrets,
    readsSecrets: options.secrets,
    user: process.getuid?.(),
    workspace,
    // The paths are absolute because the editor may open several projects.
    policies: policies && { ...policies, files: policies.files.map(({ path }) => ({ path, file: path })) },
    cacheFolder,
    signal: interrupts.stop,
    redactor,
  });
  // An open stdin would keep the process running.
  streams.input.destroy();
  return isShutDown ? ExitCode.ok : (interrupts.exitCode ?? ExitCode.error);
}
