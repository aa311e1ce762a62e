import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { withDigest } from '../../src/engine/plan/plan-digest.ts';
import type { PlanDocument } from '../../src/engine/plan/plan-document.ts';
import { reportFormatNames } from '../../src/output/formats/index.ts';
import { VERSION } from '../../src/version.ts';
import { step } from '../step.ts';
import { command } from '../trust/in-process.ts';
import { agentManifest, testWorkspace } from './workspace.ts';

const TIME = / · <time.*?<\/time>/;

it('show prints a saved plan in every format of plan, without a request, a key or the project', async () => {
  await using workspace = await testWorkspace({
    'manifests/day.yaml': agentManifest('day').replace(
      '  prompt_config:',
      '  llm_config: { provider: openai, api_key: { $secret: PROVIDER_KEY } }\n  prompt_config:',
    ),
  });
  const { emulator, folder } = workspace;
  const planned = async (format: string) => {
    const { stdout } = await workspace.runWith(
      { PROVIDER_KEY: 'sk-provider-key' },
      ...['plan', '--out', 'saved.plan', '--output', format],
    );
    return stdout;
  };
  const file = path.join(folder.root, 'saved.plan');
  const show = (...args: string[]) => command(['show', ...args], { cwd: '/' });

  for (const format of reportFormatNames) {
    const expected = await planned(format);
    const requests = emulator.requests.length;
    const shown = await show(file, '--output', format);
    expect(shown).toMatchObject({ code: 0, stderr: '' });
    expect(shown.stdout.replaceAll(' -w test', ''), format).toBe(expected.replace(TIME, ''));
    expect(emulator.requests).toHaveLength(requests);
  }

  const document = JSON.parse(await readFile(file, 'utf8')) as PlanDocument;
  const saved = (name: string, text: string) => folder.write(name, text);

  await step('it prints a plan of an older version with a warning', async () => {
    await saved('old.plan', JSON.stringify(withDigest({ ...document, voxform_version: '0.0.1' })));
    const { code, stdout, stderr } = await show(path.join(folder.root, 'old.plan'));
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(
        new RegExp(`^warning: \\S+old\\.plan was made by voxform\\s+0\\.0\\.1; this is\\s+voxform ${VERSION}\n$`),
      ),
    });
    expect(stdout).toContain('Agent/day');
  });

  await step('it refuses any other file with one message', async () => {
    const cases: readonly (readonly [name: string, text: string | undefined, says: RegExp])[] = [
      ['newer', JSON.stringify(withDigest({ ...document, voxform_version: '99.0.0' })), /Use that version/],
      ['redacted', JSON.stringify(document).replace('Be kind.', '***'), /edited, redacted or damaged/],
      ['cut', JSON.stringify(document).slice(0, -9), /it is not JSON/],
      ['encrypted', '-----BEGIN AGE ENCRYPTED FILE-----\nYWdl', /is encrypted\n.*Decrypt it first/],
      ['absent', undefined, /cannot read the plan absent: no such file/],
      ['Agent/a', undefined, /voxform apply --target Agent\/a/],
    ];
    for (const [name, text, says] of cases) {
      if (text !== undefined) await saved(name, text);
      const { code, stdout, stderr } = await command(['show', name], { cwd: folder.root });
      expect({ code, stdout }, name).toEqual({ code: 1, stdout: '' });
      expect(stderr.match(/^error: /gm), name).toHaveLength(1);
      expect(stderr, name).toMatch(says);
    }
  });
});
