import { describe, expect, it } from 'vitest';
import type { BehaviourPatch } from '../../src/emulator/behaviour.ts';
import { actionsIn, at, Bench, besidesResends } from './bench.ts';
import { agent } from './resources.ts';

const TEMPERATURE = 'llm_config.temperature';
const IGNORED_WARNING = {
  message: 'The platform ignored the last update of llm_config.temperature and kept 0.7.',
  next: [{ action: 'retry_ignored', path: TEMPERATURE }],
} as const;

const withTemperature = (temperature: number, model = 'm') => [agent('a', { llm_config: { model, temperature } })];

/** Returns an agent with the temperature 0.7 on a platform that responds to its update with 200 and ignores it. */
async function refusing(behaviour: BehaviourPatch = {}): Promise<Bench> {
  const w = await Bench.applied(withTemperature(0.7), { ...behaviour, ignoredByPut: { fields: [TEMPERATURE] } });
  return w;
}

function reads(w: Bench): number {
  return w.emulator.requests.filter(({ method, path }) => method === 'GET' && path.includes('/agents/')).length;
}

describe('a field whose update the platform ignores', () => {
  it('is reported by apply, plan and drift, and not resent', async () => {
    const w = await refusing();
    const report = await w.apply(withTemperature(0.2));
    expect(besidesResends(report)).toEqual([{ address: 'Agent/a', ...IGNORED_WARNING }]);
    expect((await w.state()).resources.get('Agent/a')).toMatchObject({
      recorded: { [TEMPERATURE]: 0.2 },
      observed: { [TEMPERATURE]: 0.7 },
      not_applied: [TEMPERATURE],
    });

    const plan = await w.plan(withTemperature(0.2));
    expect(at(plan, 'Agent/a')).toMatchObject({ action: 'noop', not_applied: [TEMPERATURE], changes: [] });
    expect(at(plan, 'Agent/a').reason).not.toBe('in sync');
    expect(plan.warnings).toEqual([{ address: 'Agent/a', ...IGNORED_WARNING }]);
    expect(await w.plan(withTemperature(0.2), { refresh: false })).toMatchObject({ warnings: plan.warnings });
    const drift = await w.drift(withTemperature(0.2));
    expect(actionsIn(drift)).toEqual([]);
    expect(drift.warnings).toEqual(plan.warnings);

    w.requests();
    const again = await w.apply(withTemperature(0.2));
    expect(w.writes, 'no writes').toEqual([]);
    expect(again.warnings).toEqual(plan.warnings);
    expect((await w.state()).resources.get('Agent/a')?.not_applied).toEqual([TEMPERATURE]);
  });

  it('is resent when the manifest changes it', async () => {
    const w = await refusing();
    await w.apply(withTemperature(0.2));
    expect(at(await w.plan(withTemperature(0.3)), 'Agent/a')).toMatchObject({
      action: 'update',
      changes: [{ path: TEMPERATURE, before: 0.7, after: 0.3, cause: 'manifest' }],
    });
    expect(
      at(await w.plan(withTemperature(0.7)), 'Agent/a'),
      'the manifest has the value that the platform kept',
    ).toMatchObject({
      action: 'noop',
      reason: 'in sync',
    });
    await w.apply(withTemperature(0.7));
    expect((await w.state()).resources.get('Agent/a')).not.toHaveProperty('not_applied');
  });

  it('is resent with --retry-ignored, also by a saved plan, and unmarked once it is applied', async () => {
    const w = await refusing();
    await w.apply(withTemperature(0.2));
    const saved = await w.plan(withTemperature(0.2), { retryIgnored: true });
    expect(at(saved, 'Agent/a')).toMatchObject({
      action: 'update',
      changes: [{ path: TEMPERATURE, before: 0.7, after: 0.2, cause: 'manifest', not_applied: true }],
    });
    expect(at(saved, 'Agent/a')).not.toHaveProperty('not_applied');
    expect(besidesResends(saved)).toEqual([]);
    expect(besidesResends(await w.apply(withTemperature(0.2), { retryIgnored: true }))).toEqual([
      { address: 'Agent/a', ...IGNORED_WARNING },
    ]);

    const next = await w.plan(withTemperature(0.2), { retryIgnored: true });
    w.emulator.setBehaviour({ ignoredByPut: { fields: [] } });
    expect(besidesResends(await w.applySaved(next))).toEqual([]);
    const plan = await w.plan(withTemperature(0.2));
    expect(at(plan, 'Agent/a')).toMatchObject({ action: 'noop', reason: 'in sync' });
    expect((await w.state()).resources.get('Agent/a')).not.toHaveProperty('not_applied');
  });

  it('keeps its mark when another field of its object is sent, and loses it once it is applied', async () => {
    const w = await refusing();
    await w.apply(withTemperature(0.2));
    await w.apply(withTemperature(0.2, 'n'));
    expect(at(await w.plan(withTemperature(0.2, 'n')), 'Agent/a').not_applied).toEqual([TEMPERATURE]);
    w.emulator.setBehaviour({ ignoredByPut: { fields: [] } });
    const saved = await w.plan(withTemperature(0.2, 'o'));
    expect(besidesResends(saved)).toEqual([{ address: 'Agent/a', ...IGNORED_WARNING }]);
    expect(besidesResends(await w.applySaved(saved)), 'the warnings after the apply').toEqual([]);
    expect(at(await w.plan(withTemperature(0.2, 'o')), 'Agent/a')).toMatchObject({ reason: 'in sync' });
  });

  it('is drift after another change, and in sync once it equals the manifest', async () => {
    const w = await refusing();
    await w.apply(withTemperature(0.2));
    const [id = ''] = w.emulator.world.agents.keys();
    w.emulator.dashboard.edit('agents', id, { llm_config: { temperature: 0.9 } });
    expect(at(await w.plan(withTemperature(0.2)), 'Agent/a').changes).toMatchObject([{ cause: 'drift' }]);
    w.emulator.dashboard.edit('agents', id, { llm_config: { temperature: 0.2 } });
    const plan = await w.plan(withTemperature(0.2));
    expect(at(plan, 'Agent/a')).toMatchObject({ action: 'noop', reason: 'in sync' });
    expect(besidesResends(plan)).toEqual([]);
    await w.apply(withTemperature(0.2));
    expect((await w.state()).resources.get('Agent/a')).not.toHaveProperty('not_applied');
  });

  it('is detected if the response hides it', async () => {
    const w = await refusing({ shows: { update: [] } });
    expect(besidesResends(await w.apply(withTemperature(0.2)))).toEqual([{ address: 'Agent/a', ...IGNORED_WARNING }]);
    expect(reads(w), 'one read by the plan and one after the update').toBe(2);
    expect(at(await w.plan(withTemperature(0.2)), 'Agent/a').not_applied).toEqual([TEMPERATURE]);
  });

  it('is detected although the response contains the sent value', async () => {
    const w = await Bench.applied(withTemperature(0.7), { ignoredByPut: { fields: [TEMPERATURE], answer: 'sent' } });
    expect(besidesResends(await w.apply(withTemperature(0.2)))).toEqual([]);
    expect(at(await w.plan(withTemperature(0.2)), 'Agent/a').changes).toMatchObject([{ cause: 'drift' }]);
    expect(besidesResends(await w.apply(withTemperature(0.2)))).toEqual([{ address: 'Agent/a', ...IGNORED_WARNING }]);
    expect(await w.writesOf(withTemperature(0.2))).toEqual([]);
  });

  it('has no mark if ignore_drift allows other values', async () => {
    const w = await refusing();
    const free = (temperature: number, model = 'm') => [
      agent('a', { llm_config: { model, temperature } }, { ignoreDrift: [TEMPERATURE] }),
    ];
    await w.apply(free(0.2));
    expect((await w.plan(free(0.2))).warnings).toEqual([]);
    expect(await w.writesOf(free(0.2))).toEqual([]);
    await w.apply(free(0.2, 'n'));
    expect(await w.writesOf(free(0.2, 'n'))).toEqual([]);
  });

  it('is reported after an update that imports, and not resent', async () => {
    const w = await Bench.open({ ignoredByPut: { fields: [TEMPERATURE] } });
    const { id } = await w.client.agents.create({ name: 'a', llm_config: { model: 'm', temperature: 0.7 } });
    const desired = [agent('a', { llm_config: { model: 'n', temperature: 0.2 } }, { id })];
    w.requests();
    const report = await w.apply(desired);
    expect(report.warnings).toContainEqual({ address: 'Agent/a', ...IGNORED_WARNING });
    expect(w.writes).toEqual([`PUT /api/v1/agents/${id}`]);
    for (let run = 0; run < 3; run += 1) await w.apply(desired);
    expect(w.writes).toHaveLength(1);
    expect(at(await w.plan(desired), 'Agent/a')).toMatchObject({ action: 'noop', not_applied: [TEMPERATURE] });
  });

  it('is not reported for an adopted or a normalised value', async () => {
    const w = await Bench.open({ normalise: { trim: true } });
    const desired = (prompt: string) => [agent('a', { name: ' A ', prompt_config: { prompt } })];
    await w.apply(desired('x'));
    await w.apply(desired('y'));
    expect((await w.plan(desired('y'))).warnings, 'the name was normalised from the start').toEqual([]);
  });
});

describe('an apply after an update', () => {
  const everything = (seconds: number, prompt = 'p') => [
    agent('a', { call_config: { max_call_duration_ms: seconds }, prompt_config: { prompt } }),
  ];

  it('reads fields again that the response hides, so that a later change is drift', async () => {
    const w = await Bench.applied(everything(60_000), {
      shows: { read: ['call_config', 'prompt_config'], update: [] },
    });
    await w.apply(everything(90_000));
    expect(reads(w)).toBe(2);
    const [id = ''] = w.emulator.world.agents.keys();
    w.emulator.dashboard.edit('agents', id, { call_config: { max_call_duration_ms: 1_000 } });
    expect(at(await w.plan(everything(90_000)), 'Agent/a').changes).toMatchObject([
      { path: 'call_config.max_call_duration_ms', cause: 'drift', before: 1_000 },
    ]);
  });

  it('reads nothing again after a complete response or a create', async () => {
    const w = await Bench.open({ shows: { read: ['call_config', 'prompt_config'], update: ['prompt_config'] } });
    await w.apply(everything(60_000));
    expect(reads(w)).toBe(0);
    await w.apply(everything(60_000, 'q'));
    expect(reads(w), 'only the plan').toBe(1);
  });

  it("does not mistake another person's change of an unsent field for normalisation", async () => {
    const w = await Bench.applied(everything(60_000), { shows: { update: ['call_config', 'prompt_config'] } });
    const [id = ''] = w.emulator.world.agents.keys();
    await w.apply(everything(60_000, 'q'), {
      between: () => void w.emulator.dashboard.edit('agents', id, { call_config: { max_call_duration_ms: 1_000 } }),
    });
    expect(at(await w.plan(everything(60_000, 'q')), 'Agent/a').changes).toMatchObject([
      { path: 'call_config.max_call_duration_ms', cause: 'drift', before: 1_000 },
    ]);
  });

  it('succeeds if that read fails, and the next plan warns that it cannot compare', async () => {
    const w = await Bench.applied(everything(60_000), {
      shows: { read: ['call_config', 'prompt_config'], update: [] },
    });
    const fault = { match: { method: 'GET' }, times: 99, fault: { status: 500 } };
    const report = await w.apply(everything(90_000), { between: () => void w.emulator.faults.add(fault) });
    expect([...report.results.values()]).toMatchObject([{ status: 'done' }]);
    w.emulator.faults.clear();

    expect((await w.plan(everything(90_000))).warnings).toEqual([]);
    const [id = ''] = w.emulator.world.agents.keys();
    w.emulator.dashboard.edit('agents', id, { call_config: { max_call_duration_ms: 1_000 } });
    const plan = await w.plan(everything(90_000));
    expect(at(plan, 'Agent/a').action).toBe('noop');
    expect(plan.warnings).toEqual([
      {
        address: 'Agent/a',
        message: expect.stringMatching(/^call_config\.max_call_duration_ms differs, but it could not be read/),
      },
    ]);
  });
});
