import { workspaceComparison } from '../../output/comparison.ts';
import { comparisonMarkdown, comparisonText } from '../../output/comparison-format.ts';
import { failureText } from '../../output/errors.ts';
import { jsonText } from '../../output/json-text.ts';
import { ExitCode, misuse } from '../../problems/user-error.ts';
import { diffWorkspaces, type SeenSide } from '../../runs/diff/diff-workspaces.ts';
import type { DiffDocument } from '../../runs/diff/document.ts';
import type { OpenWorkspace } from '../../runs/open-workspace.ts';
import { preparedToPlan } from '../../runs/planning.ts';
import type { PlatformOptions } from '../../runs/run-context.ts';
import type { Context } from '../context.ts';
import { inEach, planAll } from './report.ts';

type DiffFormat = 'text' | 'json' | 'markdown';

interface DiffOptions extends PlatformOptions {
  /** Workspaces, in addition to those of --workspace. */
  readonly workspaces: readonly string[];
  readonly output: DiffFormat;
  readonly full?: boolean;
  readonly detailedExitcode?: boolean;
}

export async function diff(context: Context, options: DiffOptions): Promise<number> {
  const { terminal, log } = context;
  const workspaces = [...new Set([...context.workspaces, ...options.workspaces])];
  if (workspaces.length !== 2) {
    throw misuse(
      `diff needs two different workspaces, got ${workspaces.length}`,
      'Name both: voxform diff staging production',
    );
  }
  const { done, failures } = await inEach(context, workspaces, (opened) => look(context, opened, options));
  const [first, second] = done;
  if (first === undefined || second === undefined) {
    const said = failures.map((failure) => failureText(failure, terminal.errorStyle));
    log.block('error', said.join('\n'));
    return ExitCode.error;
  }
  const document = await diffWorkspaces(first, second);
  terminal.out(rendered(document, options, context));
  return options.detailedExitcode && document.summary.undeclared > 0 ? ExitCode.changes : ExitCode.ok;
}

function look(context: Context, opened: OpenWorkspace, options: DiffOptions): Promise<SeenSide> {
  return preparedToPlan(opened, options, async (prepared) => {
    const all = { ...options, refresh: true, evenIfAll: true };
    const planned = await planAll(context, { ...prepared, opened, options: all });
    const { desired, state } = prepared;
    return { planned, desired, state, lookupNames: opened.workspace.lookupNames };
  });
}

function rendered(document: DiffDocument, { output, full }: DiffOptions, { terminal, verbose }: Context): string {
  const formats: Record<DiffFormat, () => string> = {
    text: () => comparisonText(workspaceComparison(document, verbose), terminal.style, { verbose, full }),
    json: () => jsonText(document),
    markdown: () => comparisonMarkdown(workspaceComparison(document), { full }),
  };
  return formats[output]();
}
