import type { PlannedResource } from '../../src/engine/plan/plan-document.ts';
import { change, resource } from './sample-plan.ts';

/* Plans of many resources, as after a change of a shared default or on the first run in an existing workspace. */

const number = (index: number) => String(index).padStart(3, '0');

export function agents(count: number, make: (index: number) => Partial<PlannedResource>): readonly PlannedResource[] {
  return Array.from({ length: count }, (_, index) =>
    resource(`Agent/branch-${number(index)}`, {
      id: `01JAGENT0000000000000000${number(index)}`,
      source: { file: `manifests/branch-${number(index)}.yaml`, line: 1 },
      ...make(index),
    }),
  );
}

/** All change their model; every tenth also its name. */
export const sameChange = agents(97, (index) => ({
  action: 'update',
  reason: 'the manifest changed',
  changes: [
    change('llm_config.model', { before: 'gpt-4o', after: 'gpt-4.1' }),
    ...(index % 10 === 0 ? [change('name', { before: 'Branch', after: `Branch ${index}` })] : []),
  ],
}));

const prompt = (index: number, hours: string, closing: string): string =>
  ['# Role', ...Array.from({ length: index }, (_, rule) => `Rule ${rule} of ${index}.`), '', '## Hours', hours]
    .concat('', '## Closing', closing)
    .join('\n');

/** The hours change in all prompts, the closing in two of them. */
export const sharedHunk = agents(12, (index) => ({
  action: 'update',
  reason: 'the manifest changed',
  changes: [
    change('prompt_config.prompt', {
      before: prompt(index, 'Monday to Friday.', 'Bye.'),
      after: prompt(index, 'Monday to Saturday.', index < 2 ? `Goodbye from ${index}.` : 'Bye.'),
    }),
  ],
}));

/** The hours change in all prompts; the temperature changes to a separate value in each group, in the first to 0.4. */
export const shapedAlike = (groups: readonly number[]) => {
  const values = groups.flatMap((count, group) => Array(count).fill(0.4 + group / 100));
  return agents(values.length, (index) => ({
    action: 'update',
    reason: 'the manifest changed',
    changes: [
      change('prompt_config.prompt', {
        before: prompt(0, 'Monday to Friday.', 'Bye.'),
        after: prompt(0, 'Monday to Saturday.', 'Bye.'),
      }),
      change('llm_config.temperature', { before: 0.3, after: values[index] }),
    ],
  }));
};

/** A third of them differ from their manifests. */
export const adoptions = agents(468, (index) => ({
  action: index % 3 === 0 ? 'update' : 'adopt',
  adopted: true,
  reason: 'exists on the platform, not managed yet',
  changes:
    index % 3 === 0
      ? [
          change('llm_config.temperature', { before: 1, after: 0.4 }),
          change('prompt_config.prompt', { before: 'a\nb', after: 'a\nc' }),
        ]
      : [],
}));
