import type { Style } from '../style.ts';
import type { Explanation } from './explanation.ts';
import type { Topic } from './topics.ts';

export function explanationText(
  { path, type, required, description, limits, treatment, fields, example, about }: Explanation,
  style: Style,
): string {
  const what =
    about === 'kind' || path === 'project' || path === 'metadata'
      ? ''
      : `  ${style.dim(required ? `${type}, required` : type)}`;
  const sentences = [...limits.map((limit) => `Limits: ${limit}.`), ...treatment];
  return [
    `${style.bold(path)}${what}`,
    '',
    ...(description === '' ? [] : [style.prose(description, { indent: 2 })]),
    ...sentences.map((sentence) => style.prose(sentence, { indent: 2 })),
    ...(fields.length === 0 ? [] : ['', style.bold('Fields'), '', ...fieldLines(path, fields, style)]),
    ...(example === undefined ? [] : ['', style.bold('Example'), '', indented(example)]),
    '',
  ].join('\n');
}

function fieldLines(path: string, fields: Explanation['fields'], style: Style): string[] {
  const names = fields.map((field) => field.path.slice(path.length + 1));
  const width = Math.max(...names.map((name) => name.length));
  return fields.map(({ type, required, description }, index) => {
    const what = capitalised(required ? `${type}, required.` : `${type}.`);
    return style.prose(`${what} ${description}`, {
      indent: 2,
      lead: `${(names[index] ?? '').padEnd(width)}  `,
    });
  });
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function topicsText(topics: readonly Topic[], style: Style): string {
  const groups: [string, Topic[]][] = [
    ['Kinds', topics.filter(({ about }) => about === 'kind' || about === 'lookup')],
    ['In every manifest', topics.filter(({ path }) => path === 'metadata')],
    ['Value forms, in place of a value', topics.filter(({ about, path }) => about === 'form' && !path.includes('.'))],
    ['The project file', topics.filter(({ about, path }) => about === 'project' && path.split('.').length <= 2)],
  ];
  const width = Math.max(...groups.flatMap(([, members]) => members.map(({ path }) => path.length)));
  const lines = groups.flatMap(([title, members]) => [
    style.bold(title),
    '',
    ...members.map(({ path, description }) => style.prose(description, { indent: 2, lead: path.padEnd(width + 2) })),
    '',
  ]);
  return [...lines, style.prose('For details and fields: voxform explain Agent.llm_config'), ''].join('\n');
}

function indented(text: string): string {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');
}
