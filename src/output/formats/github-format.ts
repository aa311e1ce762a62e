import type { PlanDocument, PlannedResource, PlanWarning, Violation } from '../../engine/plan/plan-document.ts';
import type { WorkspaceSelection } from '../../problems/workspace-command.ts';
import { earlyEnd } from '../action-words.ts';
import { listed } from '../address-list.ts';
import { type AnnotationLevel, diagnosticsGithub, githubCommand } from '../diagnostics.ts';
import { guardText, remarkText, stepText } from '../next-steps.ts';
import { plural } from '../plural.ts';
import { noteTexts } from '../remarks-text.ts';
import {
  changedGroups,
  outcomeOf,
  type Report,
  type ReportGroup,
  type ReportOptions,
  type ReportSet,
  selectionOf,
} from '../report.ts';
import { routeRemarks } from '../route-words.ts';
import type { ReportFormat } from './format.ts';

export const format: ReportFormat = { report: reportGithub, reportSet: reportSetGithub };

/** The maximum number of fields to list. The others are only counted. */
const MAX_FIELDS = 5;

interface GithubOptions extends ReportOptions {
  /** The name of the workspace for the titles, if there are several workspaces. */
  readonly workspace?: string;
}

interface AnnotationWording {
  title(what: string): string;
  readonly selection: WorkspaceSelection;
  readonly folder: string | undefined;
}

/** The groups that require no action by the user. */
const settled: ReadonlySet<string> = new Set(['create', 'adopt', 'update', 'replace', 'forget', 'done']);

/**
 * Returns annotations for GitHub Actions: the planned, observed or executed changes of each declared resource at its manifest, warnings and
 * guards. Annotations that need attention come first, because GitHub shows only the first ten of each level.
 */
export function reportGithub(report: Report, { workspace, quiet, selection, folder }: GithubOptions = {}): string {
  const title = (what: string) => `voxform${workspace === undefined ? '' : ` ${workspace}`}: ${what}`;
  const wording = { title, selection, folder };
  const { type, document, applied } = report;
  const ended = applied && earlyEnd(applied);
  const early = applied?.interrupted === undefined ? 'stopped early' : 'interrupted';
  const of = (isSettled: boolean) =>
    changedGroups(report)
      .filter(({ key }) => settled.has(key) === isSettled)
      .flatMap((group) => group.resources.map((each) => annotation(each, { report, group, wording })));
  const remarks = [
    ...document.warnings.map((warning) => warningAnnotation(warning, document, wording)),
    // Equal notes share one annotation, because GitHub shows only a few.
    ...(quiet ? [] : noteTexts(document, { full: false, selection })).map((text) =>
      githubCommand('notice', { title: title('note') }, text),
    ),
  ];
  return [
    ...(ended === undefined ? [] : [githubCommand('warning', { title: title(early) }, ended)]),
    ...(document.violations ?? []).map((each) => violationAnnotation(each, wording)),
    ...document.guards.map((guard) => githubCommand('warning', { title: title('guard') }, guardText(guard))),
    ...of(false),
    ...(type === 'drift' ? [] : remarks),
    ...of(true),
  ].join('');
}

interface AnnotationContext {
  readonly report: Report;
  readonly group: ReportGroup;
  readonly wording: AnnotationWording;
}

/** Returns the annotation of a resource. An undeclared resource has an annotation only if it has a result, so that failures are visible. */
function annotation(resource: PlannedResource, { report, group, wording }: AnnotationContext): string {
  const { action, address, source, reason, changes, steps = [] } = resource;
  const { title, selection, folder } = wording;
  const outcome = outcomeOf(report, resource, selection);
  if (outcome !== undefined) {
    const level = group.key === 'failed' ? 'error' : group.key === 'done' ? 'notice' : 'warning';
    const result = report.applied?.results.get(address);
    const details = result?.status === 'done' ? [result.id === null ? 'done' : `id ${result.id}`] : outcome.details;
    return githubCommand(level, { folder, ...source, title: title(`${outcome.word} ${address}`) }, details.join('; '));
  }
  if (source === null) return '';
  const target = { folder, ...source, title: title(`${group.heading.toLowerCase()} ${address}`) };
  const paths = changes.map(({ path }) => path);
  const fields = paths.length === 0 ? undefined : `${plural(paths.length, 'field')}: ${listed(paths, MAX_FIELDS)}`;
  if (report.type === 'drift') return githubCommand('warning', target, fields ?? group.explanation ?? '');
  const level: AnnotationLevel = settled.has(group.key) && action !== 'replace' ? 'notice' : 'warning';
  const parts = [
    reason,
    (action === 'create' ? undefined : fields) ?? '',
    ...routeRemarks(resource, { verbose: false }),
    ...steps.map((step) => stepText(step, selection)),
  ];
  return githubCommand(level, target, parts.filter((text) => text !== '').join('; '));
}

function warningAnnotation(
  { address, ...remark }: PlanWarning,
  { resources }: PlanDocument,
  { title, selection, folder }: AnnotationWording,
): string {
  const message = remarkText(remark, selection);
  const source = resources.find((resource) => resource.address === address)?.source;
  const about = address === null ? message : `${address}: ${message}`;
  return githubCommand('warning', { folder, ...source, title: title('warning') }, about);
}

/** Returns an annotation at the field that violates the rule, if the field is known. */
function violationAnnotation(
  { rule, severity, address, message, source, waived }: Violation,
  { title, folder }: AnnotationWording,
): string {
  const level = waived !== undefined ? 'notice' : severity === 'deny' ? 'error' : 'warning';
  const { file, line, column } = source ?? {};
  const text = `${address}: ${message}${waived === undefined ? '' : ` Waived: ${waived}`}`;
  return githubCommand(level, { folder, file, line, col: column, title: title(`policy ${rule}`) }, text);
}

/** Returns the failures, then the annotations of each workspace with its name in the titles. */
export function reportSetGithub(
  { reports, failures }: ReportSet,
  { quiet, folder }: Pick<GithubOptions, 'quiet' | 'folder'> = {},
): string {
  return [
    ...failures.map(({ workspace, message, hint, diagnostics = [] }) => {
      const text = hint === undefined ? message : `${message} (${hint})`;
      const failed = githubCommand('error', { title: `voxform ${workspace}: failed` }, text);
      return failed + diagnosticsGithub(diagnostics, folder);
    }),
    ...reports.map((report) => {
      const { workspace } = report.document;
      return reportGithub(report, { workspace, quiet, folder, selection: selectionOf(report) });
    }),
  ].join('');
}
