/** @module-tag long */

import { rm } from 'node:fs/promises';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EditedProject } from '../../src/editor/edited-project.ts';
import { Redactor } from '../../src/values/redactor.ts';
import '../property-seed.ts';
import { agent, editedProject, misspelt, projectText } from './edited-project.ts';

const inFile = (name: string, file: string) =>
  agent.replaceAll('day', name).replace('"Be kind."', `{ $file: ../${file} }`);
const number = (to: string) =>
  `apiVersion: voxform/v1\nkind: PhoneNumber\nmetadata: { name: main }\nspec: { number: "+12025550101", inbound_agent_id: { $ref: Agent/${to} } }\n`;
const rule = 'policies:\n  - { name: kind, kind: Agent, deny: "spec.name == \'day\'" }\n';

/** The possible contents of each file. Undefined means that the file does not exist. */
const texts: Readonly<Record<string, readonly (string | undefined)[]>> = {
  'voxform.yaml': [
    projectText,
    `${projectText}    skip: [Agent/day]\n`,
    `${projectText}    vars: { company: Acme }\n`,
    `${projectText}    patches: { Agent/day: { llm_config: { modle: x } } }\n`,
    `${projectText}defaults: { Agent: { llm_config: { provider: 7 } } }\n`,
    `${projectText}${rule}`,
    `${projectText}nothing: 1\n`,
    'version: 1\nworkspaces: {',
  ],
  'manifests/a.yaml': [agent, misspelt, inFile('day', 'prompts/a.md'), 'kind: [', '', undefined],
  'manifests/b.yaml': [
    number('day'),
    number('night'),
    `${number('day')}---\n${inFile('night', 'prompts/b.md')}`,
    agent,
    agent.replace('Be kind.', '{ $var: company }').replaceAll('"', ''),
    undefined,
  ],
  'prompts/a.md': ['Be kind.', 'x'.repeat(200_000), undefined],
  'prompts/b.md': ['Be brief.', undefined],
};

const change = fc.constantFrom(...Object.keys(texts)).chain((file) =>
  fc.record({
    file: fc.constant(file),
    text: fc.constantFrom(...(texts[file] ?? [])),
    where: fc.constantFrom('editor', 'disk'),
  }),
);

describe('a project that is loaded repeatedly', () => {
  it('has the same result as after a first load', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 2, maxLength: 12 }), async (changes) => {
        await using folder = await editedProject({ 'manifests/a.yaml': agent });
        const open = (): EditedProject =>
          new EditedProject({
            folder: folder.root,
            env: {},
            usesEnvFile: true,
            readsSecrets: true,
            workspace: undefined,
            policies: undefined,
            cacheFolder: undefined,
            redactor: new Redactor(),
            onNotice: () => undefined,
          });
        const edited = open();
        const shown = new Map<string, string>();
        const { signal } = new AbortController();
        for (const { file, text, where } of changes) {
          const absolute = path.join(folder.root, file);
          if (where === 'editor' && text !== undefined) shown.set(absolute, text);
          else if (where === 'editor') shown.delete(absolute);
          else {
            if (text === undefined) await rm(absolute, { force: true });
            else await folder.write(file, text);
            edited.forget(absolute);
          }
          const load = async (project: EditedProject) => {
            try {
              return await project.load(shown, signal);
            } catch (error) {
              return { error: String(error) };
            }
          };
          const [again, first] = [await load(edited), await load(open())];
          if ('error' in again || 'error' in first) expect(again).toEqual(first);
          else {
            expect(again.diagnostics).toEqual(first.diagnostics);
            if (first.diagnostics.every(({ severity }) => severity !== 'error'))
              expect(again.resources).toEqual(first.resources);
          }
        }
      }),
      { numRuns: 60 },
    );
  });
});
