import type { ApplyReport } from '../engine/apply/apply-report.ts';
import { recordUrl } from '../engine/plan/dashboard-links.ts';
import { writes } from '../engine/plan/plan-actions.ts';
import type { PlanDocument } from '../engine/plan/plan-document.ts';
import { type Address, kindOf } from '../manifests/resource.ts';
import type { WorkspaceSelection } from '../problems/workspace-command.ts';
import type { WorkspaceConfig } from '../project/project.ts';
import type { ChecklistItem } from '../runs/migrate/checklist.ts';
import {
  actionWords,
  appliedActions,
  appliedCounts,
  appliedWrites,
  byAction,
  counts,
  haltOf,
  shownActions,
} from './action-words.ts';
import { addressList } from './address-list.ts';
import { outcomeJson } from './apply-json.ts';
import { escapeControls } from './escape-controls.ts';
import { renderUnfinished } from './formats/text-format.ts';
import { stepsOfMany } from './grouped-steps.ts';
import { guardText, isTask, withSteps } from './next-steps.ts';
import { kindCounts, plural } from './plural.ts';
import { renderShared, renderViolations, renderWarnings } from './remarks-text.ts';
import { paragraphs, type Style, section, sentences } from './style.ts';

type MigrationEnd = Pick<WorkspaceConfig, 'name' | 'workspaceId' | 'baseUrl'>;

/** A migration, before or after its execution. */
export interface Migration {
  readonly from: MigrationEnd;
  readonly to: MigrationEnd;
  /** The selection of the new workspace in printed commands. */
  readonly selection: WorkspaceSelection;
  /** Items to fix, do or know before the migration. */
  readonly before: readonly ChecklistItem[];
  /** The remaining manual steps. */
  readonly after: readonly ChecklistItem[];
  /** The project files that are written first. */
  readonly files: readonly string[];
  /** Absent if required fixes prevent a plan. */
  readonly plan: PlanDocument | undefined;
  /** Absent if nothing was written. */
  readonly report: ApplyReport | undefined;
  /** True to list every address of shared statements. */
  readonly full: boolean;
}

/** Returns the checklist and the counts of a migration. */
export function migrationText(migration: Migration, style: Style): string {
  const { from, to, before, plan, files, full } = migration;
  const list = (heading: string, moment: ChecklistItem['moment']) =>
    checklist(
      { heading, items: before.filter((item) => item.moment === moment), box: moment !== 'know' },
      migration,
      style,
    );
  const [first = '', ...others] = files;
  const named = others.length === 0 ? first : `${first} and ${plural(others.length, 'more file')}`;
  return paragraphs([
    [endLine('From', from, style), endLine('To', to, style)].join('\n'),
    list('Required first: nothing is written until this is done', 'must'),
    list('Now or later: only dependent resources wait', 'waits'),
    list('Notes', 'know'),
    files.length === 0 ? '' : style.prose(`Files written first: ${named}.`),
    plan === undefined ? '' : planText(plan, style, full),
  ]);
}

function endLine(word: string, { name, workspaceId, baseUrl }: MigrationEnd, style: Style): string {
  const lead = `${word.padEnd(4)} ${escapeControls(name)} `;
  return style.prose(`${workspaceId} at ${baseUrl}`, { lead, format: style.dim });
}

function planText(plan: PlanDocument, style: Style, full: boolean): string {
  const of = byAction(plan.resources);
  const lines = appliedActions.flatMap((action) => {
    const kinds = kindCounts(of(action));
    const { symbol, heading } = actionWords[action];
    return kinds === '' ? [] : [style.prose(`${heading}: ${kinds}`, { lead: `  ${style.action[action](symbol)} ` })];
  });
  const applied = counts(plan.summary, appliedActions);
  const rest = counts(plan.summary, [...shownActions.filter((action) => !writes.has(action)), 'noop']);
  const texts = [applied === '' ? 'Nothing to write.' : `Plan: ${applied}.`, ...(rest === '' ? [] : [`${rest}.`])];
  const guards = plan.guards.map((guard) => style.prose(guardText(guard), { lead: `  ${style.error('x')} ` }));
  const violations = renderViolations(plan, style, { full });
  const closing = sentences(texts, style, { format: style.bold });
  return [...lines, ...guards, ...(violations === '' ? [] : [violations]), closing].join('\n');
}

/** Returns the results of a migration, with the checklist of manual steps. */
export function migratedText(migration: Migration, style: Style): string {
  const { report, after, from, to, full, selection } = migration;
  const heading = `Remaining manual steps of the move from ${from.name} to ${to.name}`;
  const remaining = checklist({ heading, items: after, box: true }, migration, style);
  if (report === undefined) return remaining === '' ? '' : `${remaining}\n`;
  return paragraphs([
    ...renderUnfinished(appliedWrites(report), { style, full, selection }),
    renderWarnings(report.warnings, style, { full, selection }),
    remaining,
    closing(report, to.name, style),
  ]);
}

function closing(report: ApplyReport, to: string, style: Style): string {
  const { results, interrupted } = report;
  const halted = haltOf(report);
  const applied = appliedCounts(report);
  const statuses = [...results.values()].map(({ status }) => status);
  const texts = [
    applied === '' ? 'Nothing was written.' : `${applied}.`,
    ...(interrupted === undefined ? [] : [`Interrupted by ${interrupted}: requests in flight were finished.`]),
    ...(halted === undefined ? [] : [`Stopped early: ${halted}.`]),
    statuses.every((status) => status === 'done')
      ? `Run voxform plan -w ${to} to check.`
      : 'Run the same command again for the rest.',
  ];
  const isFailed = statuses.includes('failed');
  const format = isFailed ? style.error : interrupted === undefined ? style.good : style.warn;
  return sentences(texts, style, { format: (line) => style.bold(format(line)) });
}

function checklistText({ content, addresses }: ChecklistItem, { selection, plan, report }: Migration): string {
  if ('text' in content) return content.text;
  const url = linkOf(addresses, report?.plan ?? plan);
  if ('step' in content) return withSteps('', { steps: [content.step], url }, selection).trimStart();
  if ('notice' in content) return `${content.notice.slice(0, 1).toUpperCase()}${content.notice.slice(1)}.`;
  const { address, reason, steps } = content;
  const sentence = address === undefined ? reason : `${address}: ${reason}`;
  return steps.length === 0 ? sentence : withSteps(`${sentence}.`, { steps, url }, selection);
}

/** Returns the dashboard URL of a record. For several records of one kind, returns the URL of the list of this kind. */
function linkOf(addresses: readonly Address[], plan: PlanDocument | undefined): string | undefined {
  const [first = '', ...others] = addresses;
  const kinds = new Set(addresses.map(kindOf));
  if (others.length > 0 || plan === undefined)
    return kinds.size === 1 ? recordUrl(plan ?? {}, { kind: kindOf(first), id: null }) : undefined;
  return plan.resources.find(({ address }) => address === first)?.url;
}

interface ItemList {
  readonly heading: string;
  readonly items: readonly ChecklistItem[];
  /** True if each item gets a check box. */
  readonly box: boolean;
}

function checklist({ heading, items, box }: ItemList, migration: Migration, style: Style): string {
  const { full, selection, report } = migration;
  const plan = report?.plan ?? migration.plan;
  const urls = new Map(plan?.resources.map(({ address, url }) => [address, url]));
  const ownedSteps = items.flatMap((item) => ownedStepsOf(item, urls));
  const many = full ? [] : stepsOfMany(ownedSteps, { selection, dashboard: plan?.dashboard });
  const groupedSteps = new Set(many.flatMap(({ holders }) => holders.map(({ step }) => step)));
  const others = items.filter(({ content }) => !('step' in content && groupedSteps.has(content.step)));
  const lines = others.flatMap((item) => {
    const { content, addresses } = item;
    const isNamed = addresses.length === 0 || ('address' in content && content.address !== undefined);
    const isToDo = 'step' in content ? isTask(content.step) : !('notice' in content);
    const lead = box && isToDo ? '[ ] ' : '- ';
    const line = style.prose(checklistText(item, migration), { indent: 2, lead });
    if (isNamed) return [line];
    return [line, style.prose(addressList(addresses, full), { indent: 2 + lead.length, format: style.dim })];
  });
  const shared = many.map((each) => renderShared(each.shared, style, report && { applied: { selection } }));
  return section(style.bold(heading), [...shared, ...lines]);
}

function ownedStepsOf({ content, addresses }: ChecklistItem, urls: ReadonlyMap<Address, string | undefined>) {
  if (!('step' in content)) return [];
  return addresses.map((address) => {
    const url = urls.get(address);
    return { resource: { address, kind: kindOf(address), ...(url !== undefined && { url }) }, step: content.step };
  });
}

interface MigrationFacts {
  readonly source: 'manifests' | 'live';
  readonly dryRun: boolean;
  readonly oldIds: ReadonlyMap<Address, string>;
}

/** Returns the migration as JSON: the checklist, the plan, and the results. */
export function migrateJson(migration: Migration, { source, dryRun, oldIds }: MigrationFacts): object {
  const { from, to, before, after, files, plan, report } = migration;
  const halted = report && haltOf(report);
  return {
    format_version: 1,
    from: endOf(from),
    to: endOf(to),
    source,
    dry_run: dryRun,
    checklist: [...before, ...after].map((item) => ({
      moment: item.moment,
      text: checklistText(item, migration),
      addresses: item.addresses,
    })),
    files,
    summary: plan?.summary ?? null,
    resources: (plan?.resources ?? []).map(({ address, kind, action, id, reason, steps, url }) => {
      const result = report?.results.get(address);
      return {
        address,
        kind,
        action,
        from_id: oldIds.get(address) ?? null,
        to_id: (result?.status === 'done' ? result.id : null) ?? id,
        reason,
        ...(steps !== undefined && { steps }),
        ...(url !== undefined && { url }),
        ...outcomeJson(result),
      };
    }),
    warnings: report?.warnings ?? plan?.warnings ?? [],
    ...(report?.interrupted !== undefined && { interrupted: report.interrupted }),
    ...(halted !== undefined && { halted }),
  };
}

function endOf({ name, workspaceId, baseUrl }: MigrationEnd): object {
  return { workspace: name, workspace_id: workspaceId, base_url: baseUrl };
}
