import { ExitCode } from '../../problems/user-error.ts';
import { PinnedSettings } from '../assistant/pinned-settings.ts';
import { serveAssistant } from '../assistant/server.ts';
import type { Context } from '../context.ts';
import { type PolicyFlags, withPolicyFiles } from '../flags.ts';

/** Serves an assistant over the standard streams until it disconnects. */
export async function mcp(given: Context, flags: PolicyFlags): Promise<number> {
  const context = withPolicyFiles(given, flags);
  const { projectFolder, interrupts, terminal } = context;
  const settings = projectFolder === undefined ? undefined : new PinnedSettings(projectFolder);
  const isReadable = await serveAssistant({ context, settings });
  // An open stdin would keep the process running.
  terminal.streams.input.destroy();
  return interrupts.exitCode ?? (isReadable ? ExitCode.ok : ExitCode.error);
}
