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
  const bench = await Bench.applied(withTemperature(0.7), { ...behaviour, ignoredByPut: { fields: [TEMPERATURE] } });
  return bench;
}

function reads(bench: Bench): number {
  return bench.emulator.requests.filter(({ method, path }) => method === 'GET' && path.includes('/agents/')).length;
}

describe('a field whose update the platform ignores', () => {
  it('is reported by apply, plan and drift, and not resent', async () => {
    const bench = await refusing();
    const report = await bench.apply(withTemperature(0.2));
    expect(besidesResends(report)).toEqual([{ address: 'Agent/a', ...IGNORED_WARNING }]);
    expect((await bench.state()).resources.get('Agent/a')).toMatchObject({
      recorded: { [TEMPERATURE]: 0.2 },
      observed: { [TEMPERATURE]: 0.7 },
      not_applied: [TEMPERATURE],
    });

    const plan = await bench.plan(withTemperature(0.2));
    expect(at(plan, 'Agent/a')).toMatchObject({ action: 'noop', not_applied: [TEMPERATURE], changes: [] });
    expect(at(plan, 'Agent/a').reason).not.toBe('in sync');
    expect(plan.warnings).toEqual([{ address: 'Agent/a', ...IGNORED_WARNING }]);
    expect(await bench.plan(withTemperature(0.2), { refresh: false })).toMatchObject({ warnings: plan.warnings });
    const drift = await bench.drift(withTemperature(0.2));
    expect(actionsIn(drift)).toEqual([]);
    expect(drift.warnings).toEqual(plan.warnings);

    bench.requests();
    const again = await bench.apply(withTemperature(0.2));
    expect(bench.writes, 'no writes').toEqual([]);
    expect(again.warnings).toEqual(plan.warnings);
    expect((await bench.state()).resources.get('Agent/a')?.not_applied).toEqual([TEMPERATURE]);
  });

  it('is resent when the manifest changes it', async () => {
    const bench = await refusing();
    await bench.apply(withTemperature(0.2));
    expect(at(await bench.plan(withTemperature(0.3)), 'Agent/a')).toMatchObject({
      action: 'update',
      changes: [{ path: TEMPERATURE, before: 0.7, after: 0.3, cause: 'manifest' }],
    });
    expect(
      at(await bench.plan(withTemperature(0.7)), 'Agent/a'),
      'the manifest has the value that the platform kept',
    ).toMatchObject({
      action: 'noop',
      reason: 'in sync',
    });
    await bench.apply(withTemperature(0.7));
    expect((await bench.state()).resources.get('Agent/a')).not.toHaveProperty('not_applied');
  });

  it('is resent with --retry-ignored, also by a saved plan, and unmarked once it is applied', async () => {
    const bench = await refusing();
    await bench.apply(withTemperature(0.2));
    const saved = await bench.plan(withTemperature(0.2), { retryIgnored: true });
    expect(at(saved, 'Agent/a')).toMatchObject({
      action: 'update',
      changes: [{ path: TEMPERATURE, before: 0.7, after: 0.2, cause: 'manifest', not_applied: true }],
    });
    expect(at(saved, 'Agent/a')).not.toHaveProperty('not_applied');
    expect(besidesResends(saved)).toEqual([]);
    expect(besidesResends(await bench.apply(withTemperature(0.2), { retryIgnored: true }))).toEqual([
      { address: 'Agent/a', ...IGNORED_WARNING },
    ]);

    const next = await bench.plan(withTemperature(0.2), { retryIgnored: true });
    bench.emulator.setBehaviour({ ignoredByPut: { fields: [] } });
    expect(besidesResends(await bench.applySaved(next))).toEqual([]);
    const plan = await bench.plan(withTemperature(0.2));
    expect(at(plan, 'Agent/a')).toMatchObject({ action: 'noop', reason: 'in sync' });
    expect((await bench.state()).resources.get('Agent/a')).not.toHaveProperty('not_applied');
  });

  it('keeps its mark when another field of its object is sent, and loses it once it is applied', async () => {
    const bench = await refusing();
    await bench.apply(withTemperature(0.2));
    await bench.apply(withTemperature(0.2, 'n'));
    expect(at(await bench.plan(withTemperature(0.2, 'n')), 'Agent/a').not_applied).toEqual([TEMPERATURE]);
    bench.emulator.setBehaviour({ ignoredByPut: { fields: [] } });
    const saved = await bench.plan(withTemperature(0.2, 'o'));
    expect(besidesResends(saved)).toEqual([{ address: 'Agent/a', ...IGNORED_WARNING }]);
    expect(besidesResends(await bench.applySaved(saved)), 'the warnings after the apply').toEqual([]);
    expect(at(await bench.plan(withTemperature(0.2, 'o')), 'Agent/a')).toMatchObject({ reason: 'in sync' });
  });

  it('is drift after another change, and in sync once it equals the manifest', async () => {
    const bench = await refusing();
    await bench.apply(withTemperature(0.2));
    const [id = ''] = bench.emulator.world.agents.keys();
    bench.emulator.dashboard.edit('agents', id, { llm_config: { temperature: 0.9 } });
    expect(at(await bench.plan(withTemperature(0.2)), 'Agent/a').changes).toMatchObject([{ cause: 'drift' }]);
    bench.emulator.dashboard.edit('agents', id, { llm_config: { temperature: 0.2 } });
    const plan = await bench.plan(withTemperature(0.2));
    expect(at(plan, 'Agent/a')).toMatchObject({ action: 'noop', reason: 'in sync' });
    expect(besidesResends(plan)).toEqual([]);
    await bench.apply(withTemperature(0.2));
    expect((await bench.state()).resources.get('Agent/a')).not.toHaveProperty('not_applied');
  });

  it('is detected if the response hides it', async () => {
    const bench = await refusing({ shows: { update: [] } });
    expect(besidesResends(await bench.apply(withTemperature(0.2)))).toEqual([
      { address: 'Agent/a', ...IGNORED_WARNING },
    ]);
    expect(reads(bench), 'one read by the plan and one after the update').toBe(2);
    expect(at(await bench.plan(withTemperature(0.2)), 'Agent/a').not_applied).toEqual([TEMPERATURE]);
  });

  it('is detected although the response contains the sent value', async () => {
    const bench = await Bench.applied(withTemperature(0.7), {
      ignoredByPut: { fields: [TEMPERATURE], answer: 'sent' },
    });
    expect(besidesResends(await bench.apply(withTemperature(0.2)))).toEqual([]);
    expect(at(await bench.plan(withTemperature(0.2)), 'Agent/a').changes).toMatchObject([{ cause: 'drift' }]);
    expect(besidesResends(await bench.apply(withTemperature(0.2)))).toEqual([
      { address: 'Agent/a', ...IGNORED_WARNING },
    ]);
    expect(await bench.writesOf(withTemperature(0.2))).toEqual([]);
  });

  it('has no mark if ignore_drift allows other values', async () => {
    const bench = await refusing();
    const free = (temperature: number, model = 'm') => [
      agent('a', { llm_config: { model, temperature } }, { ignoreDrift: [TEMPERATURE] }),
    ];
    await bench.apply(free(0.2));
    expect((await bench.plan(free(0.2))).warnings).toEqual([]);
    expect(await bench.writesOf(free(0.2))).toEqual([]);
    await bench.apply(free(0.2, 'n'));
    expect(await bench.writesOf(free(0.2, 'n'))).toEqual([]);
  });

  it('is reported after an update that imports, and not resent', async () => {
    const bench = await Bench.open({ ignoredByPut: { fields: [TEMPERATURE] } });
    const { id } = await bench.client.agents.create({ name: 'a', llm_config: { model: 'm', temperature: 0.7 } });
    const desired = [agent('a', { llm_config: { model: 'n', temperature: 0.2 } }, { id })];
    bench.requests();
    const report = await bench.apply(desired);
    expect(report.warnings).toContainEqual({ address: 'Agent/a', ...IGNORED_WARNING });
    expect(bench.writes).toEqual([`PUT /api/v1/agents/${id}`]);
    for (let run = 0; run < 3; run += 1) await bench.apply(desired);
    expect(bench.writes).toHaveLength(1);
    expect(at(await bench.plan(desired), 'Agent/a')).toMatchObject({ action: 'noop', not_applied: [TEMPERATURE] });
  });

  it('is not reported for an adopted or a normalised value', async () => {
    const bench = await Bench.open({ normalise: { trim: true } });
    const desired = (prompt: string) => [agent('a', { name: ' A ', prompt_config: { prompt } })];
    await bench.apply(desired('x'));
    await bench.apply(desired('y'));
    expect((await bench.plan(desired('y'))).warnings, 'the name was normalised from the start').toEqual([]);
  });
});

describe('an apply after an update', () => {
  const everything = (seconds: number, prompt = 'p') => [
    agent('a', { call_config: { max_call_duration_ms: seconds }, prompt_config: { prompt } }),
  ];

  it('reads fields again that the response hides, so that a later change is drift', async () => {
    const bench = await Bench.applied(everything(60_000), {
      shows: { read: ['call_config', 'prompt_config'], update: [] },
    });
    await bench.apply(everything(90_000));
    expect(reads(bench)).toBe(2);
    const [id = ''] = bench.emulator.world.agents.keys();
    bench.emulator.dashboard.edit('agents', id, { call_config: { max_call_duration_ms: 1_000 } });
    expect(at(await bench.plan(everything(90_000)), 'Agent/a').changes).toMatchObject([
      { path: 'call_config.max_call_duration_ms', cause: 'drift', before: 1_000 },
    ]);
  });

  it('reads nothing again after a complete response or a create', async () => {
    const bench = await Bench.open({ shows: { read: ['call_config', 'prompt_config'], update: ['prompt_config'] } });
    await bench.apply(everything(60_000));
    expect(reads(bench)).toBe(0);
    await bench.apply(everything(60_000, 'q'));
    expect(reads(bench), 'only the plan').toBe(1);
  });

  it("does not mistake another person's change of an unsent field for normalisation", async () => {
    const bench = await Bench.applied(everything(60_000), { shows: { update: ['call_config', 'prompt_config'] } });
    const [id = ''] = bench.emulator.world.agents.keys();
    await bench.apply(everything(60_000, 'q'), {
      between: () => void bench.emulator.dashboard.edit('agents', id, { call_config: { max_call_duration_ms: 1_000 } }),
    });
    expect(at(await bench.plan(everything(60_000, 'q')), 'Agent/a').changes).toMatchObject([
      { path: 'call_config.max_call_duration_ms', cause: 'drift', before: 1_000 },
    ]);
  });

  it('succeeds if that read fails, and the next plan warns that it cannot compare', async () => {
    const bench = await Bench.applied(everything(60_000), {
      shows: { read: ['call_config', 'prompt_config'], update: [] },
    });
    const fault = { match: { method: 'GET' }, times: 99, fault: { status: 500 } };
    const report = await bench.apply(everything(90_000), { between: () => void bench.emulator.faults.add(fault) });
    expect([...report.results.values()]).toMatchObject([{ status: 'done' }]);
    bench.emulator.faults.clear();

    expect((await bench.plan(everything(90_000))).warnings).toEqual([]);
    const [id = ''] = bench.emulator.world.agents.keys();
    bench.emulator.dashboard.edit('agents', id, { call_config: { max_call_duration_ms: 1_000 } });
    const plan = await bench.plan(everything(90_000));
    expect(at(plan, 'Agent/a').action).toBe('noop');
    expect(plan.warnings).toEqual([
      {
        address: 'Agent/a',
        message: expect.stringMatching(/^call_config\.max_call_duration_ms differs, but it could not be read/),
      },
    ]);
  });
});
