import { copyFile } from 'node:fs/promises';
import path from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { type Emulator, startEmulator } from '../../src/emulator/start-emulator.ts';
import {
  apply,
  drift,
  type ImpactDocument,
  InvalidManifests,
  impact,
  type LogEntry,
  loadProject,
  PlatformError,
  type Project,
  plan,
  readPlan,
  UserError,
} from '../../src/library.ts';
import { type Folder, temporaryFolder } from '../cli/voxform-process.ts';
import { agentManifest, projectFile } from '../cli/workspace.ts';

const KEY = 'key-that-nobody-may-see';
const LLM_KEY = 'sk-another-that-nobody-may-see';

const NUMBER = `apiVersion: voxform/v1
kind: PhoneNumber
metadata: { name: front-desk }
spec: { number: "+12025550120" }
`;

interface Setting extends AsyncDisposable {
  readonly emulator: Emulator;
  readonly folder: Folder;
  readonly project: Project;
  readonly log: LogEntry[];
  readonly writes: () => number;
}

async function setting(files: Readonly<Record<string, string>> = {}): Promise<Setting> {
  const emulator = await startEmulator({ seed: 1, apiKey: KEY });
  const folder = await temporaryFolder({
    'voxform.yaml': projectFile(emulator),
    'manifests/agents.yaml': `${agentManifest('day')}  llm_config: { api_key: { $secret: LLM_KEY } }\n---\n${agentManifest('night')}`,
    ...files,
  });
  const log: LogEntry[] = [];
  const project = await loadProject({
    cwd: folder.root,
    env: { VOXFORM_API_KEY: KEY, LLM_KEY },
    log: (entry) => log.push(entry),
  });
  return {
    emulator,
    folder,
    project,
    log,
    writes: () => emulator.requests.filter(({ method }) => method !== 'GET').length,
    async [Symbol.asyncDispose]() {
      await emulator.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => expect.unreachable('it should have failed'),
    (error: unknown) => error,
  );
}

describe('program that uses voxform', () => {
  it('gets a warning in the plan that the state is older, and cannot write', async () => {
    await using given = await setting();
    const { project, folder, emulator } = given;
    await apply(await plan(project));
    await folder.write('manifests/late.yaml', agentManifest('late'));
    await apply(await plan(project));
    const state = path.join(folder.root, '.voxform/test.state.json');
    await copyFile(`${state}.backup-1`, state);
    const planned = await plan(project);
    const message = expect.stringContaining('is older than');
    expect(planned.document.warnings).toContainEqual({ address: null, message });
    expect(await failureOf(apply(planned))).toMatchObject({ name: UserError.name, message });
    expect(emulator.world.agents.size).toBe(3);
    expect(await apply(planned, { allowOlderState: true })).toMatchObject({ complete: true });
  });

  it('plans, applies the plan, and then finds no changes', async () => {
    await using given = await setting();
    const { project, emulator, log } = given;
    const reads: number[] = [];
    const planned = await plan(project, { onProgress: ({ done }) => reads.push(done) });
    expect(planned.document.summary).toMatchObject({ create: 2 });
    expect([planned.changes, given.writes()]).toEqual([2, 0]);

    const events: string[] = [];
    const applied = await apply(planned, {
      onEvent: (event) => events.push(`${event.type} ${event.address}`),
    });
    expect(applied).toMatchObject({ complete: true, interrupted: false });
    expect(applied.document.resources.map(({ result }) => result)).toEqual(['done', 'done']);
    expect(events.sort()).toEqual([
      'finished Agent/day',
      'finished Agent/night',
      'started Agent/day',
      'started Agent/night',
    ]);
    expect(given.writes()).toBe(2);

    expect((await plan(project)).changes).toBe(0);
    expect(await drift(project)).toMatchObject({ drifted: false });
    const id = String(applied.document.resources[0]?.id);
    emulator.dashboard.edit('agents', id, { name: 'Someone else' });
    const found = await drift(project, { target: ['Agent/day'] });
    expect(found.drifted).toBe(true);
    expect(found.document.resources).toHaveLength(1);
    for (const value of [project, planned, applied, found, log, emulator.requests.length]) {
      expect(`${inspect(value, { depth: 20, showHidden: true })}${JSON.stringify(value)}`).not.toMatch(
        /nobody-may-see/,
      );
    }
    expect(log.some(({ level, message }) => level === 'debug' && message.startsWith('POST '))).toBe(true);
  });

  it('applies a plan that it stored as JSON, unless the plan was edited or the state changed', async () => {
    await using given = await setting();
    const { project } = given;
    const text = JSON.stringify((await plan(project)).document);
    const kept = readPlan(project, text);
    const edited = { ...kept, document: { ...kept.document, workspace: 'other' } };
    expect(await failureOf(apply(edited))).toMatchObject({ name: 'UserError' });
    expect(given.writes()).toBe(0);
    expect((await apply(kept)).complete).toBe(true);
    expect(await failureOf(apply(kept))).toMatchObject({
      message: expect.stringContaining('the plan is stale'),
    });
    expect(given.writes()).toBe(2);
  });

  it("gets the impact of an agent's published versions on its calls", async () => {
    await using made = await setting();
    const { project, emulator } = made;
    await apply(await plan(project));
    const agent = emulator.world.agents.values().find(({ name }) => name === 'day')?.id ?? '';
    await expect(impact(project, 'Agent/day')).rejects.toThrow('Agent/day was never published');
    emulator.setBehaviour({ calls: { perDay: 20, days: 2 } });
    emulator.dashboard.publishAgent(agent);
    const read: number[] = [];
    const document: ImpactDocument = await impact(project, 'Agent/day', {
      onProgress: (calls) => read.push(calls),
    });
    expect(document).toMatchObject({ address: 'Agent/day', id: agent, compared: null });
    expect(document.versions.map(({ calls }) => calls)).toEqual([40 - document.left_out.near_publication]);
    expect(read.at(-1)).toBe(40);
    await expect(impact(project, 'day')).rejects.toThrow('Expected an address (Kind/name)');
    await expect(impact(project, 'Agent/day', { since: 'monday' })).rejects.toThrow('monday is not a date');
  });

  it('resends fields that the platform ignored only with --retry-ignored', async () => {
    await using given = await setting();
    const { project, emulator, folder } = given;
    await apply(await plan(project));
    emulator.setBehaviour({ ignoredByPut: { fields: ['prompt_config.prompt'] } });
    await folder.write('manifests/agents.yaml', `${agentManifest('day', 'Be brief.')}---\n${agentManifest('night')}`);
    await apply(await plan(project));
    const before = given.writes();
    const kept = await plan(project);
    expect(kept.changes).toBe(0);
    expect(kept.document.resources).toMatchObject([{ not_applied: ['prompt_config.prompt'] }, {}]);
    await apply(kept);
    expect(given.writes()).toBe(before);

    emulator.setBehaviour({ ignoredByPut: { fields: [] } });
    const again = await plan(project, { retryIgnored: true });
    expect(again.changes).toBe(1);
    expect((await apply(again)).complete).toBe(true);
    expect(given.writes()).toBe(before + 1);
    expect((await plan(project)).document.summary).toMatchObject({ noop: 2 });
    expect([...emulator.world.agents.values()].map((each) => each.prompt_config.prompt)).toContain('Be brief.');
  });

  it('stops at a guard before the first write', async () => {
    await using given = await setting();
    const { project, folder } = given;
    await folder.write(
      'voxform.yaml',
      projectFile(given.emulator, 'guards: { min_resources: 1, max_changed_percent: 10 }\n'),
    );
    await apply(await plan(project));
    await folder.write('manifests/agents.yaml', agentManifest('day', 'Be brief.'));
    const planned = await plan(project);
    const before = given.writes();
    expect(await failureOf(apply(planned))).toMatchObject({
      next: [{ action: 'lift_guards', guards: ['large_change'] }],
    });
    expect(given.writes()).toBe(before);
    expect((await apply(planned, { allowLargeChange: true })).complete).toBe(true);
  });

  it('gets diagnostics with positions, and errors that contain no secret', async () => {
    await using given = await setting({
      'manifests/more.yaml': agentManifest('day').replace('name: day', 'nam: day'),
    });
    const wrong = await failureOf(plan(given.project));
    expect(wrong).toBeInstanceOf(InvalidManifests);
    expect(wrong instanceof InvalidManifests && wrong.diagnostics[0]).toMatchObject({
      file: 'manifests/more.yaml',
      line: 4,
    });
    expect(await failureOf(loadProject({ cwd: `${given.folder.root}/manifests` }))).toBeInstanceOf(UserError);
    const keyless = await loadProject({ cwd: given.folder.root });
    expect(await failureOf(plan(keyless))).toMatchObject({ message: expect.stringContaining('API key') });
    await given.folder.write('manifests/more.yaml', NUMBER);
    const env = { VOXFORM_API_KEY: 'a-wrong-key-that-nobody-may-see', LLM_KEY };
    const refused = await loadProject({ cwd: given.folder.root, env });
    const error = await failureOf(plan(refused));
    expect(error).toBeInstanceOf(PlatformError);
    expect(inspect(error, { depth: 20, showHidden: true })).not.toMatch(/nobody-may-see/);
  });

  it('aborts a call with its signal', async () => {
    await using given = await setting();
    const { project } = given;
    const controller = new AbortController();
    const planned = await plan(project);
    const reason = new Error('enough');
    // The first request has reached the platform by then, and is completed.
    given.emulator.world.onWrite = () => controller.abort(reason);
    const applied = await apply(planned, { concurrency: 1, signal: controller.signal });
    expect(applied).toMatchObject({ complete: false, interrupted: true });
    expect(applied.document.resources.map(({ result }) => result)).toEqual(['done', 'skipped']);
    expect(await failureOf(plan(project, { signal: controller.signal }))).toBe(reason);
    expect((await apply(await plan(project))).complete).toBe(true);
    expect(given.writes()).toBe(2);
  });

  it.each([0, -1, 1.5, 257, Number.NaN, 'many', null])('refuses the concurrency %j', async (concurrency) => {
    await using given = await setting();
    const options = { concurrency: concurrency as number };
    const planned = await plan(given.project);
    const before = given.emulator.requests.length;
    for (const call of [plan(given.project, options), drift(given.project, options), apply(planned, options)]) {
      expect(await failureOf(call)).toMatchObject({
        name: 'UserError',
        message: `concurrency must be "auto" or a whole number between 1 and 256, got ${inspect(concurrency)}`,
      });
    }
    expect(given.emulator.requests).toHaveLength(before);
  });
});
