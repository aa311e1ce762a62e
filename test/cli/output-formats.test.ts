import { expect, it } from 'vitest';
import { type Emulator, startEmulator } from '../../src/emulator/start-emulator.ts';
import { schemaProblems } from '../schema-problems.ts';
import { command } from '../trust/in-process.ts';
import { temporaryFolder } from './voxform-process.ts';
import { agentManifest, projectFile } from './workspace.ts';

const FORMATS = ['text', 'json', 'markdown', 'html', 'github'] as const;
type Format = (typeof FORMATS)[number];

/** A pattern for the result in each format. */
const marks: Readonly<Record<Exclude<Format, 'json'>, RegExp>> = {
  text: /^Workspace test /,
  markdown: /^### voxform (plan|apply|drift) for <code>test<\/code>\n/,
  html: /^<!doctype html>\n[\s\S]*<h1>voxform (plan|apply|drift): test<\/h1>[\s\S]*<\/html>\n$/,
  github: /^::(notice|warning|error) file=manifests\/agents\.yaml,line=\d+,title=voxform%3A /,
};

it('plan, apply and drift print every format, and plan names the numbers that lead to an agent', async () => {
  await using emulator: Emulator = await startEmulator({ seed: 1 });
  await using folder = await temporaryFolder({
    'voxform.yaml': projectFile(emulator),
    'manifests/agents.yaml': agentManifest('day', '# Hours\nFrom nine to five on every working day of the week.'),
  });
  const run = (...args: string[]) => command(args, { cwd: folder.root, env: { VOXFORM_API_KEY: 'key-of-the-test' } });
  const fits = (name: string, format: Format, text: string) => {
    if (format === 'json') expect(schemaProblems(name, JSON.parse(text))).toEqual([]);
    else expect(text).toMatch(marks[format]);
  };

  const created = await run('apply', '--auto-approve', '--output', 'json');
  fits('apply', 'json', created.stdout);
  const [id = ''] = emulator.world.agents.keys();
  const number = await fetch(`${emulator.url}/api/v1/numbers`, {
    method: 'POST',
    headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
    body: JSON.stringify({ number: '+12025550120', nickname: 'Desk' }),
  });
  const { data } = (await number.json()) as { data: { id: string } };
  emulator.dashboard.linkNumber(data.id, { inbound_agent_id: id });

  for (const format of FORMATS) {
    const change = { prompt_config: { prompt: `# Hours\nAt ${format}.` } };
    emulator.dashboard.edit('agents', id, change);
    const drift = await run('drift', '--output', format);
    expect([drift.code, drift.stderr]).toEqual([2, '']);
    fits('drift', format, drift.stdout);
    const report = await run('drift', '--output', format, '--no-detailed-exitcode');
    // The two commands may run in different seconds.
    const undated = (text: string) => text.replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d/g, 'TIME');
    expect([report.code, undated(report.stdout)]).toEqual([0, undated(drift.stdout)]);
    expect((await run('drift', '--detailed-exitcode')).code).toBe(2);
    const plan = await run('plan', '--output', format);
    fits('plan', format, plan.stdout);
    expect(plan.stdout).toContain('+12025550120 (Desk)');
    const applied = await run('apply', '--auto-approve', '--output', format);
    expect(applied.code).toBe(0);
    fits('apply', format, applied.stdout);
  }
});
