import { writes } from '../engine/plan/plan-actions.ts';
import type { PlannedResource } from '../engine/plan/plan-document.ts';
import { actionWords, appliedActions, countNotApplied, counts } from '../output/action-words.ts';
import { escapeControls } from '../output/escape-controls.ts';
import { guardText, helpText, withSteps } from '../output/next-steps.ts';
import { plural } from '../output/plural.ts';
import { routeRemarks } from '../output/route-words.ts';
import { PlatformError } from '../platform/platform-error.ts';
import { positionText } from '../problems/diagnostic.ts';
import { errorMessage } from '../problems/error-code.ts';
import { shellWord } from '../problems/shell-word.ts';
import { UserError } from '../problems/user-error.ts';
import { commandFor, type WorkspaceSelection } from '../problems/workspace-command.ts';
import { describeDenials } from '../runs/judged-plan.ts';
import { formatDuration, type LockHolder } from '../state/lock-info.ts';
import type { AppliedChange, DriftedResource, Hold, Invalid, MissingResource, RunReport } from './run-report.ts';

/** Returns an error as one line, with its hint. */
export function messageOf(error: unknown, selection?: WorkspaceSelection, message = errorMessage(error)): string {
  const help = error instanceof UserError ? helpText(error, selection) : undefined;
  return escapeControls(message) + (help === undefined ? '' : escapeControls(` (${help})`));
}

/** Returns a key that is equal for errors with the same cause: without the path in an outage, with it for a rejected request. */
export function errorKey(error: unknown): string {
  if (error instanceof StateLocked) return error.lock;
  if (!(error instanceof PlatformError) || !concernsAllRequests(error)) return messageOf(error);
  return JSON.stringify([error.reason, error.status ?? null]);
}

function concernsAllRequests({ reason, status = 0 }: PlatformError): boolean {
  if (reason === 'status') return status >= 500 || [401, 403, 408, 429].includes(status);
  return reason === 'network' || reason === 'timeout' || reason === 'gateway';
}

/** True for all errors except bugs. */
export function isExpected(error: unknown): boolean {
  return error instanceof UserError || error instanceof PlatformError || error instanceof StateLocked;
}

/** Returns a message such as `Agent/x: llm_config.temperature, name`. */
export function driftMessage({ address, fields }: Pick<DriftedResource, 'address' | 'fields'>): string {
  return fields.length === 0 ? `${address} now has a different record` : `${address}: ${fields.join(', ')}`;
}

/** Returns a message about a missing record. It is equal in all runs in which the record is missing. */
export function missingMessage({ address, id }: MissingResource): string {
  return `${address} is blocked: its record ${id} is missing from the platform`;
}

export function invalidLines({ diagnostics, error }: Invalid): string[] {
  const lines = diagnostics
    .filter(({ severity }) => severity === 'error')
    .map((each) => `${positionText(each)}  ${escapeControls(each.message)}`);
  return error === undefined ? lines : [...lines, messageOf(error)];
}

/** Returns words such as `3 resources in sync` or `1 to create, 2 to update`. */
export function planWords({ plan }: Pick<RunReport, 'plan'>): string {
  if (plan === undefined) return 'the platform was not read';
  const notApplied = countNotApplied(plan.resources);
  const inSync = `${plural(plan.summary.noop - notApplied, 'resource')} in sync`;
  return counts(plan.summary, appliedActions) || `${inSync}${notApplied === 0 ? '' : `, ${notApplied} not applied`}`;
}

const MAX_NAMED = 3;

/** Returns the actions of an apply and their resources, such as `1 to update (Agent/x, answers +12025550120)`. */
export function pendingWords(report: Pick<RunReport, 'plan'>): string {
  const words = planWords(report);
  const pending = (report.plan?.resources ?? []).filter(({ action }) => writes.has(action));
  if (pending.length === 0) return words;
  const shown = pending.length <= MAX_NAMED + 1 ? pending : pending.slice(0, MAX_NAMED);
  const names = shown.map((each) => [each.address, ...remarksOn(each)].join(', '));
  const remaining = pending.length - shown.length;
  return `${words} (${names.join('; ')}${remaining > 0 ? `; and ${remaining} more` : ''})`;
}

/** Returns a message such as `updated Agent/x`, with fields, routes and manual steps. */
export function appliedMessage(resource: PlannedResource, selection: WorkspaceSelection): string {
  const { address, action, changes } = resource;
  const fields = action === 'update' ? changes.map(({ path }) => path).join(', ') : '';
  const summary = `${actionWords[action].done} ${address}${fields === '' ? '' : `: ${fields}`}`;
  const text = [summary, ...remarksOn(resource)].join('; ');
  return withManualSteps(text, resource, selection);
}

export function withManualSteps(text: string, resource: PlannedResource, selection: WorkspaceSelection): string {
  return resource.steps === undefined ? text : escapeControls(withSteps(`${text}.`, resource, selection));
}

function remarksOn(resource: PlannedResource): string[] {
  return routeRemarks(resource, { verbose: false }).map(escapeControls);
}

/** Returns a message such as `Agent/x failed: …`; empty for a successful action. */
export function failureMessage({ address, result }: AppliedChange, selection: WorkspaceSelection): string {
  if (result.status === 'skipped') return `${address} skipped: ${result.because}`;
  if (result.status === 'done') return '';
  const help = helpText(result, selection);
  return `${address} failed: ${escapeControls(result.error + (help === undefined ? '' : ` (${help})`))}`;
}

export function holdMessage(hold: Hold, words: string, selection: WorkspaceSelection): string {
  switch (hold.reason) {
    case 'report':
      return hold.denied.length > 0
        ? `changes: ${words}; ${describeDenials(hold.denied)}`
        : `changes: ${words}; to apply them: ${commandFor('voxform apply', selection)}`;
    case 'window':
      return hold.opensAt === undefined
        ? `changes pending, but no window ever opens: ${words}`
        : `changes pending until the window opens at ${hold.opensAt.toISOString()}: ${words}`;
    case 'guard':
      return `nothing is applied: ${hold.guards.map(guardText).join('; ')}`;
    case 'policy':
      return `nothing is applied: ${describeDenials(hold.violations)}`;
    case 'approval':
      return `changes wait for approval: ${words}; to apply them: voxform fleet approve ${shellWord(hold.address)} ${hold.digest.slice(0, 12)}`;
    case 'frozen':
      return escapeControls(`changes pending, because ${hold.by} froze the fleet (${hold.because}): ${words}`);
    case 'leaving':
      return `removed from the manifests: ${hold.addresses.join(', ')}; waiting, because a file may be incomplete`;
    case 'changing':
      return 'the manifests are changing: reading them again before applying';
    case 'stopping':
      return `not applied, because watch is stopping: ${words}`;
    default:
      return hold satisfies never;
  }
}

/** Thrown, or used as an abort reason, if the fleet is frozen. Nothing is written to any platform. */
export class FleetFrozen extends UserError {
  readonly by: string;
  readonly because: string;

  constructor({ by, because }: { readonly by: string; readonly because: string }) {
    super(escapeControls(`the fleet was frozen by ${by}: ${because}`), {
      hint: 'Nothing is written until it is resumed: voxform fleet resume --all',
    });
    this.by = by;
    this.because = because;
  }
}

/** Thrown if another run holds the lock of the state. */
export class StateLocked extends Error {
  override readonly name = 'Busy';
  readonly lock: string;

  constructor(holder: LockHolder, selection: WorkspaceSelection) {
    const { id, operation, who, job, since, secondsSinceHeartbeat } = holder;
    const jobText = job === undefined ? '' : ` (${job.name} ${job.url})`;
    const age =
      secondsSinceHeartbeat === undefined ? '' : `, last heartbeat ${formatDuration(secondsSinceHeartbeat)} ago`;
    super(
      `the state is locked by ${operation} of ${who}${jobText} since ${since}${age} (if that run has definitely ended: ${commandFor(`voxform state unlock ${id}`, selection)})`,
    );
    this.lock = id;
  }
}
