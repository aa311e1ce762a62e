import { comparisonMarkdown, comparisonText, workspaceComparison } from '../../output/comparison.ts';
import { failureText } from '../../output/errors.ts';
import { jsonText } from '../../output/json-text.ts';
import { ExitCode, usageError } from '../../problems/user-error.ts';
import { diffWorkspaces } from '../../runs/diff/diff-workspaces.ts';
import type { PlatformOptions } from '../../runs/run-context.ts';
import type { Context } from '../context.ts';
import { forEachWorkspace, withPlan } from './report.ts';

interface DiffOptions extends PlatformOptions {
  /** The workspaces that are named as arguments, in addition to those of --workspace. */
  readonly workspaces: readonly string[];
  readonly output: 'text' | 'json' | 'markdown';
  readonly full?: boolean;
  readonly detailedExitcode?: boolean;
}

export async function diff(context: Context, options: DiffOptions): Promise<number> {
  const { terminal, log } = context;
  const workspaces = [...new Set([...context.workspaces, ...options.workspaces])];
  if (workspaces.length !== 2) {
    throw usageError(
      `diff needs two different workspaces, got ${workspaces.length}`,
      'Name both: voxform diff staging production',
    );
  }
  const all = { ...options, refresh: true, evenIfAll: true };
  const { done, failures } = await forEachWorkspace(context, workspaces, (opened) =>
    withPlan(context, { opened, options: all }, async (planned, { desired, state }) => {
      return { planned, desired, state, lookupNames: opened.workspace.lookupNames };
    }),
  );
  const [first, second] = done;
  if (first === undefined || second === undefined) {
    const messages = failures.map((failure) => failureText(failure, terminal.errorStyle));
    log.block('error', messages.join('\n'));
    return ExitCode.error;
  }
  const document = await diffWorkspaces(first, second);
  const { output, full } = options;
  const { verbose } = context;
  const formats: Record<typeof output, () => string> = {
    text: () => comparisonText(workspaceComparison(document, verbose), terminal.style, { verbose, full }),
    json: () => jsonText(document),
    markdown: () => comparisonMarkdown(workspaceComparison(document), { full }),
  };
  terminal.out(formats[output]());
  return options.detailedExitcode && document.summary.undeclared > 0 ? ExitCode.changes : ExitCode.ok;
}
