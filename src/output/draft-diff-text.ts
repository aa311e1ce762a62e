import type { PlannedResource } from '../engine/plan/plan-document.ts';
import type { DraftDiffDocument } from '../runs/draft-diff.ts';
import { createSecretNumbers, type FieldView, fieldViews } from './field-view.ts';
import { fenced, MarkdownPage, markdownCode, markdownText } from './markdown.ts';
import { plural } from './plural.ts';
import { timeText } from './records/record-values.ts';
import { diffLines } from './resource-markdown.ts';
import { detailIndent, headLine, renderFields } from './resource-text.ts';
import { paragraphs, type Style, section } from './style.ts';
import { pad } from './text-width.ts';

const UNKNOWN = 'the platform does not show these fields, so that publishing may change them too';

/** The changes of a publication: each field from the published version to the draft. */
export function draftDiffText(diff: DraftDiffDocument, style: Style, verbose: boolean): string {
  const sides = sidesOf(diff);
  const width = Math.max(...sides.map(({ name }) => name.length));
  const lines = sides.map(({ sign, name, when }) => {
    const lead = `${sign === '-' ? style.removed(sign) : style.added(sign)} ${pad(name, width)}  `;
    return style.prose(when, { lead, format: style.dim });
  });
  const { changes, unknown } = diff;
  const head = headLine(plannedLike(diff), { symbol: '~', colorOf: 'update' }, style);
  const listed = unknown.map((path) => style.prose(path, { indent: 4 }));
  return paragraphs([
    lines.join('\n'),
    changes.length === 0
      ? ''
      : [head, ...renderFields(viewsOf(diff, verbose), style, detailIndent)].join('\n'),
    section(
      style.prose(UNKNOWN, { lead: `${style.bold(`Unknown (${unknown.length})`)}: `, format: style.dim }),
      listed,
    ),
    style.prose(summaryOf(diff), {
      format: changes.length === 0 && diff.published !== null ? style.good : style.bold,
    }),
  ]);
}

/** The same as a comment. */
export function draftDiffMarkdown(diff: DraftDiffDocument): string {
  const { address, changes, unknown } = diff;
  const page = new MarkdownPage();
  page.add(`### voxform versions ${markdownCode(address)}\n\n**${markdownText(summaryOf(diff))}**`);
  const sides = sidesOf(diff).map(
    ({ sign, name, when }) => `- ${markdownCode(sign)} ${markdownText(`${name}, ${when}`)}`,
  );
  page.add(sides.join('\n'));
  if (changes.length > 0)
    page.add(fenced('diff', viewsOf(diff, false).flatMap(diffLines)), '_Too long to be shown here._');
  page.addList(
    `#### Unknown\n\n${markdownText(UNKNOWN)}`,
    unknown.map((path) => `- ${markdownCode(path)}`),
    {
      share: 1,
      rest: (count) => `- ${count} more`,
    },
  );
  return page.text(`voxform versions ${address} --diff published`);
}

function sidesOf({ published, updated_at: updated }: DraftDiffDocument) {
  const version = published?.version ?? 'latest';
  const at = (time: string | null): string => (time === null ? '(not shown)' : timeText(time, 'local'));
  return [
    ...(published === null
      ? []
      : [{ sign: '-', name: `version ${version}`, when: `published ${at(published.published_at)}` }]),
    { sign: '+', name: 'draft', when: `updated ${at(updated)}` },
  ];
}

function summaryOf({ address, published, changes, unknown }: DraftDiffDocument): string {
  if (published === null)
    return `${address} was never published: publishing makes its whole draft the first version.`;
  if (changes.length > 0) return `Publishing ${address} would change ${plural(changes.length, 'field')}.`;
  return `Publishing ${address} would change nothing${unknown.length === 0 ? '' : ' that can be compared'}.`;
}

function plannedLike({ address, kind, id, changes }: DraftDiffDocument): PlannedResource {
  return { address, kind, id, changes, action: 'update', source: null, reason: '', depends_on: [] };
}

function viewsOf(diff: DraftDiffDocument, verbose: boolean): FieldView[] {
  const views = fieldViews(plannedLike(diff), { secrets: createSecretNumbers(), verbose });
  return views.map((view, index) =>
    diff.changes[index]?.sensitive
      ? { ...view, body: { form: 'change', before: '(secret)', after: '(different secret)' } }
      : view,
  );
}
