import { impactHtml } from '../../output/html/impact-html.ts';
import { comparisonOf, impactText } from '../../output/impact-text.ts';
import { jsonText } from '../../output/json-text.ts';
import { didYouMean } from '../../problems/suggest.ts';
import { ExitCode, usageError } from '../../problems/user-error.ts';
import { type FailCondition, gapsOf, isMet, parseFailCondition, shareIn } from '../../runs/impact/conditions.ts';
import type { Compared, ImpactDocument } from '../../runs/impact/impact-document.ts';
import { measureImpact } from '../../runs/impact/measure-impact.ts';
import type { ShareField } from '../../runs/impact/tally.ts';
import { openWorkspace } from '../../runs/open-workspace.ts';
import { readStateWithoutLock } from '../../runs/planning.ts';
import type { PlatformOptions } from '../../runs/run-context.ts';
import { versionedRecord } from '../../runs/versioned-record.ts';
import type { Context } from '../context.ts';
import { progressFor } from './report.ts';

interface ImpactFlags extends PlatformOptions {
  readonly address: string;
  readonly since?: string;
  readonly direction?: string;
  readonly channel?: string;
  readonly compare?: readonly [number, number];
  readonly failIf?: readonly string[];
  readonly detailedExitcode: boolean;
  readonly output: 'text' | 'json' | 'html';
}

export async function impact(context: Context, options: ImpactFlags): Promise<number> {
  const { address, since, direction, channel, compare, output, failIf = [] } = options;
  const conditions = failIf.map(conditionOf);
  const opened = await openWorkspace(context, { requireKey: true });
  // This loads the secrets of the project, so that they are redacted from the platform's data.
  await opened.declared('lenient');
  const state = await readStateWithoutLock(opened);
  const { id, versions } = versionedRecord(address, state);
  const { workspace } = opened;
  const { log, terminal } = context;
  const progress = progressFor(context);
  const measured = await opened.withClient(options, (client) =>
    measureImpact({
      ...{ address, id, versions, client, workspace },
      ...{ since, direction, channel, compare },
      onOutside: (count) =>
        log.warn(`The platform also sent ${count} calls from before the date range, which are not counted.`),
      onProgress: (calls) => progress.read({ done: calls, total: calls, inFlight: 0, growing: true }),
    }),
  );
  progress.clear();
  const formats: Record<typeof output, () => string> = {
    text: () => impactText(measured.document, terminal.style),
    json: () => jsonText(measured.document),
    html: () => impactHtml(measured, context.now()),
  };
  terminal.out(formats[output]());
  const code = codeFor(context, measured.document, conditions);
  return code === ExitCode.changes && !options.detailedExitcode ? ExitCode.ok : code;
}

function conditionOf(text: string): FailCondition {
  const condition = parseFailCondition(text);
  if ('problem' in condition) throw usageError(`--fail-if ${text}: ${condition.problem}`);
  return condition;
}

function codeFor({ log }: Context, document: ImpactDocument, conditions: readonly FailCondition[]): number {
  const compared = comparisonOf(document);
  if (typeof compared === 'string') {
    if (conditions.length > 0) log.warn(`--fail-if is not checked. ${compared}`);
    return ExitCode.ok;
  }
  const unchecked = conditions.filter((condition) => warnOfGaps(condition, document, log));
  for (const condition of conditions) warnOfUnknownValue(condition, compared, log);
  const met = conditions.filter((condition) => isMet(condition, compared));
  for (const { text } of met) log.warn(`--fail-if ${text} is met`);
  if (met.length > 0) return ExitCode.changes;
  return unchecked.length > 0 ? ExitCode.error : ExitCode.ok;
}

/** Warns about values that cannot be read. Returns true if there are so many that the condition cannot be checked. */
function warnOfGaps(condition: FailCondition, document: ImpactDocument, log: Context['log']): boolean {
  const gaps = gapsOf(condition, document);
  const { text, field } = condition;
  for (const { version, calls, unreadable, decides } of gaps) {
    log.warn(
      unreadable === 0
        ? `--fail-if ${text}: no call of version ${version} has ${field}`
        : `--fail-if ${text}${decides ? ' cannot be checked' : ''}: ${field} of ${unreadable} of ${calls} calls of version ${version} is not a number`,
    );
  }
  return gaps.some(({ decides }) => decides);
}

/** Warns about a value that no call has, because a condition with a misspelt value is never met. */
function warnOfUnknownValue({ text, field, value }: FailCondition, compared: Compared, log: Context['log']): void {
  if (value === undefined || shareIn(compared, field as ShareField, value) !== undefined) return;
  const known = Object.keys(compared.shares[field as ShareField]);
  log.warn(`--fail-if ${text}: no call has ${field}=${value}${didYouMean(value, known)}`);
}
