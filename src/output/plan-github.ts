import type { ApplyReport, ResourceResult } from '../engine/apply/apply-report.ts';
import type {
  PlanDocument,
  PlannedChange,
  PlannedResource,
  PlanWarning,
} from '../engine/plan/plan-document.ts';
import { actionWords, byAction, pendingActions, shownActions } from './action-words.ts';
import { appliedIn, earlyEnd } from './apply-words.ts';
import { driftGroups } from './drift-words.ts';
import { type AnnotationLevel, githubCommand } from './github-command.ts';
import { guardText, helpText, remarkText, stepText, type WorkspaceFlag } from './next-steps.ts';
import { plural } from './plural.ts';
import { groupedRemarks, noopNotes } from './remarks-text.ts';
import { routeRemarks } from './route-words.ts';

/** How many fields are named before the rest is counted. */
const namedFields = 5;

interface GithubOptions {
  /** Named in the titles, where there are several. */
  readonly workspace?: string;
  readonly workspaceFlag?: WorkspaceFlag;
}

function titles(workspace: string | undefined): (what: string) => string {
  return (what) => `voxform${workspace === undefined ? '' : ` ${workspace}`}: ${what}`;
}

/**
 * Annotations for GitHub Actions, a line each: what a plan does to each declared resource, beside its manifest, and the plan's
 * warnings and guards. Those that need a person come first, because GitHub shows only the first ten of a kind.
 */
export function planGithub(
  plan: PlanDocument,
  { workspace, workspaceFlag = '' }: GithubOptions = {},
): string {
  const wording = { title: titles(workspace), workspaceFlag };
  const { title } = wording;
  const of = byAction(plan.resources);
  return [
    ...plan.guards.map((guard) => githubCommand('warning', { title: title('guard') }, guardText(guard))),
    ...shownActions
      .flatMap(of)
      .filter(needsPerson)
      .map((resource) => annotation(resource, wording)),
    ...plan.warnings.map((warning) => warningAnnotation(warning, plan, wording)),
    ...noteAnnotations(plan, wording),
    ...shownActions
      .flatMap(of)
      .filter((resource) => !needsPerson(resource))
      .map((resource) => annotation(resource, wording)),
  ].join('');
}

/** The same for what `driftOf` found: a warning for each resource that drifted or is missing. */
export function driftGithub(drift: PlanDocument, { workspace }: GithubOptions = {}): string {
  const titleOf = titles(workspace);
  return driftGroups(drift.resources)
    .flatMap(({ heading, explanation = '', resources }) =>
      resources.flatMap(({ address, source, changes }) => {
        if (source === null) return [];
        const title = titleOf(`${heading.toLowerCase()} ${address}`);
        const message = fieldsOf(changes) ?? explanation;
        return [githubCommand('warning', { file: source.file, line: source.line, title }, message)];
      }),
    )
    .join('');
}

/** The same for what an apply did: an error for each resource that failed, a warning for each that was skipped or is left to a person. */
export function applyGithub(
  report: ApplyReport,
  { workspaceFlag = '' }: Pick<GithubOptions, 'workspaceFlag'> = {},
): string {
  const { plan, warnings, interrupted } = report;
  const ended = earlyEnd(report);
  const wording = { title: titles(undefined), workspaceFlag };
  const { title } = wording;
  const of = byAction(plan.resources);
  const applied = Map.groupBy(appliedIn(report), ({ result }) => result.status === 'done');
  const told = (isDone: boolean) =>
    (applied.get(isDone) ?? []).map(({ resource, result }) => resultAnnotation(resource, result, wording));
  return [
    ...(ended === undefined
      ? []
      : [
          githubCommand(
            'warning',
            { title: title(interrupted === undefined ? 'stopped early' : 'interrupted') },
            ended,
          ),
        ]),
    ...told(false),
    ...pendingActions.flatMap(of).map((resource) => annotation(resource, wording)),
    ...warnings.map((warning) => warningAnnotation(warning, plan, wording)),
    ...noteAnnotations(plan, wording),
    ...told(true),
  ].join('');
}

interface Wording {
  readonly title: ReturnType<typeof titles>;
  readonly workspaceFlag: WorkspaceFlag;
}

/** Also for a resource that no manifest declares any more: what failed must be seen. */
function resultAnnotation(
  { action, address, source }: PlannedResource,
  result: ResourceResult,
  { title, workspaceFlag }: Wording,
): string {
  const titled = (word: string) => ({ ...source, title: title(`${word} ${address}`) });
  const { status } = result;
  switch (status) {
    case 'done': {
      const message = result.id === null ? 'done' : `id ${result.id}`;
      return githubCommand('notice', titled(actionWords[action].done), message);
    }
    case 'failed': {
      const message = [result.error, helpText(result, workspaceFlag) ?? '']
        .filter((text) => text !== '')
        .join('; ');
      return githubCommand('error', titled('failed'), message);
    }
    case 'skipped':
      return githubCommand('warning', titled('skipped'), result.because);
    default:
      return status satisfies never;
  }
}

function warningAnnotation(
  { address, ...remark }: PlanWarning,
  { resources }: PlanDocument,
  { title, workspaceFlag }: Wording,
): string {
  const message = remarkText(remark, workspaceFlag);
  const source = resources.find((resource) => resource.address === address)?.source;
  return githubCommand('warning', { ...source, title: title('warning') }, about(address, message));
}

/** One for all of which the same is said: GitHub shows few. */
function noteAnnotations(plan: PlanDocument, { title }: Wording): string[] {
  return groupedRemarks(noopNotes(plan), true).map((text) =>
    githubCommand('notice', { title: title('note') }, text),
  );
}

function needsPerson({ action }: PlannedResource): boolean {
  return action === 'manual' || action === 'blocked' || action === 'unknown';
}

/** Nothing for a resource that no manifest declares. */
function annotation(resource: PlannedResource, { title, workspaceFlag }: Wording): string {
  const { action, address, source, reason, changes, steps = [] } = resource;
  if (source === null) return '';
  const level: AnnotationLevel = needsPerson(resource) || action === 'replace' ? 'warning' : 'notice';
  const fields = action === 'create' ? undefined : fieldsOf(changes);
  const routes = routeRemarks(resource, { verbose: false });
  const said = steps.map((step) => stepText(step, workspaceFlag));
  const message = [reason, fields ?? '', ...routes, ...said].filter((text) => text !== '').join('; ');
  return githubCommand(
    level,
    {
      file: source.file,
      line: source.line,
      title: title(`${actionWords[action].heading.toLowerCase()} ${address}`),
    },
    message,
  );
}

/** `2 fields: name, role` */
function fieldsOf(changes: readonly PlannedChange[]): string | undefined {
  if (changes.length === 0) return undefined;
  const named = changes.slice(0, namedFields).map(({ path }) => path);
  const rest = changes.length - named.length;
  return `${plural(changes.length, 'field')}: ${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

function about(address: string | null, message: string): string {
  return address === null ? message : `${address}: ${message}`;
}
