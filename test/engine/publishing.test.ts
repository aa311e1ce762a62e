import { describe, expect, it } from 'vitest';
import { applyJson } from '../../src/output/apply-json.ts';
import { applyHtml, applyMarkdown, applyText } from '../output/rendered.ts';
import { plainStyle } from '../output/sample-styles.ts';
import { actionsIn, at, Bench } from './bench.ts';
import { agent } from './resources.ts';

const MEANWHILE = 'callers may hear the published version until then';
const AGAIN = `In the dashboard, publish it: ${MEANWHILE}.`;
const FIRST = 'In the dashboard, publish it when it is ready.';

const desired = (prompt: string) => [agent('a', { prompt_config: { prompt } })];

/** Returns an agent that was applied and published. */
async function published() {
  const bench = await Bench.applied(desired('one'));
  const [id = ''] = bench.emulator.world.agents.keys();
  bench.emulator.dashboard.publishAgent(id);
  return { bench, id };
}

function touch(bench: Bench, id: string, seconds = 1): void {
  const stored = bench.emulator.world.agents.get(id);
  if (stored === undefined) throw new Error('no agent');
  const updated = new Date(Date.parse(stored.updated_at) + seconds * 1000).toISOString();
  bench.emulator.world.agents.set(id, { ...stored, updated_at: updated });
}

const versionReads = (bench: Bench) =>
  bench.emulator.requests.filter(({ path }) => path.endsWith('/versions/latest')).length;

describe('publishing', () => {
  it('is a step after an apply that created or changed an agent, in every format', async () => {
    const bench = await Bench.open();
    const created = await bench.apply(desired('one'));
    expect(at(created.plan, 'Agent/a').steps).toEqual([{ action: 'publish', instruction: FIRST }]);
    const notices = async (prompt: string) => at(await bench.plan(desired(prompt)), 'Agent/a').notices;
    expect(await notices('one')).toEqual([expect.stringContaining('never published')]);
    const [id = ''] = bench.emulator.world.agents.keys();
    bench.emulator.dashboard.publishAgent(id);
    expect(at(await bench.plan(desired('one')), 'Agent/a')).not.toHaveProperty('steps');
    expect(await notices('one')).toBeUndefined();

    const report = await bench.apply(desired('two'));
    const forms = [
      applyText(report, plainStyle()).replace(/\s+/g, ' '),
      applyMarkdown(report),
      applyHtml(report),
      JSON.stringify(applyJson(report)),
    ];
    for (const form of forms) expect(form).toContain(AGAIN);
    expect(forms[0]).toContain('Remaining steps');
    expect(await notices('two')).toEqual([expect.stringContaining('edited since it was published')]);
    expect(actionsIn(await bench.plan(desired('two')))).toEqual([]);
  });

  it('is not a step if the update restores the published version', async () => {
    const { bench, id } = await published();
    bench.emulator.dashboard.edit('agents', id, { prompt_config: { prompt: 'theirs' } });
    const plan = await bench.plan(desired('one'), { publications: 'changes' });
    expect(at(plan, 'Agent/a')).toMatchObject({ action: 'update' });
    expect(at(plan, 'Agent/a')).not.toHaveProperty('steps');
    expect(at(await bench.plan(desired('two'), { publications: 'changes' }), 'Agent/a').steps).toEqual([
      { action: 'publish', instruction: AGAIN, meanwhile: MEANWHILE },
    ]);
  });

  it('has a notice of other changes in the draft', async () => {
    const { bench, id } = await published();
    bench.emulator.dashboard.edit('agents', id, { llm_config: { model: 'theirs' } });
    const plan = await bench.plan(desired('two'), { publications: 'changes' });
    expect(at(plan, 'Agent/a')).toMatchObject({
      steps: [{ action: 'publish', instruction: AGAIN, meanwhile: MEANWHILE }],
      notices: ['publishing also changes llm_config.model'],
    });
  });
});

describe('a record that changed after its publication', () => {
  it('is compared with its latest version if the publication may be the change', async () => {
    const bench = await Bench.open({ updatedAfterPublishing: 1 });
    const agents = Array.from({ length: 12 }, (_, index) => agent(`a${index}`, { name: `a${index}` }));
    await bench.apply(agents);
    for (const id of bench.emulator.world.agents.keys()) bench.emulator.dashboard.publishAgent(id);
    bench.requests();
    const one = agents.slice(0, 1);
    expect(at(await bench.plan(one, { publications: 'changes' }), 'Agent/a0')).not.toHaveProperty('notices');
    expect(versionReads(bench)).toBe(1);
    bench.requests();
    const { resources } = await bench.plan(agents, { publications: 'changes' });
    expect(versionReads(bench), 'a plan without changes compares only a few').toBe(10);
    expect(resources.flatMap(({ notices = [] }) => notices)).toEqual(
      Array(2).fill(
        'may have been edited since it was published: run status to see the changes that publishing would make',
      ),
    );
  });

  it('is compared with one read in the mode all, and with none in a plan without changes', async () => {
    const { bench, id } = await published();
    touch(bench, id, 3600);
    bench.requests();
    const plan = await bench.plan(desired('one'), { publications: 'changes' });
    expect(versionReads(bench)).toBe(0);
    expect(at(plan, 'Agent/a').notices).toEqual([
      'edited since it was published: run status to see the changes that publishing would make',
    ]);

    expect(at(await bench.plan(desired('one'), { publications: 'all' }), 'Agent/a')).not.toHaveProperty('notices');
    expect(versionReads(bench)).toBe(1);
    bench.emulator.dashboard.edit('agents', id, { name: 'theirs' });
    const drifted = at(await bench.plan(desired('one'), { publications: 'all' }), 'Agent/a');
    expect(drifted.notices).toEqual(['publishing would change name']);
  });

  it('is compared once by repeated plans, until all records are compared', async () => {
    const bench = await Bench.open();
    const agents = Array.from({ length: 12 }, (_, index) => agent(`a${index}`, { name: `a${index}` }));
    await bench.apply(agents);
    const ids = [...bench.emulator.world.agents.keys()];
    for (const id of ids) {
      bench.emulator.dashboard.publishAgent(id);
      bench.emulator.dashboard.edit('agents', id, { llm_config: { model: 'theirs' } });
      touch(bench, id, 3600);
    }
    const comparedDrafts = new Map();
    const look = async () => {
      bench.requests();
      const { resources } = await bench.plan(agents, { publications: 'changes', comparedDrafts });
      const noticeCount = resources.filter(({ notices: [notice] = [] }) => notice === MODEL).length;
      return { reads: versionReads(bench), noticeCount };
    };
    const MODEL = 'publishing would change llm_config.model';
    expect(await look()).toEqual({ reads: 10, noticeCount: 10 });
    expect(await look()).toEqual({ reads: 2, noticeCount: 12 });
    expect(await look()).toEqual({ reads: 0, noticeCount: 12 });
    bench.emulator.dashboard.edit('agents', ids[0] ?? '', { llm_config: { model: null } });
    expect(await look()).toEqual({ reads: 1, noticeCount: 11 });
    bench.emulator.dashboard.publishAgent(ids[1] ?? '');
    expect(await look(), 'a published record needs no comparison').toEqual({ reads: 0, noticeCount: 10 });
  });

  it('is compared by recorded values if reads hide them', async () => {
    const bench = await Bench.open({ shows: { read: [], update: [] } });
    const voice = (voice_id: string) => [agent('a', { tts_config: { voice_id } })];
    await bench.apply(voice('one'));
    const [id = ''] = bench.emulator.world.agents.keys();
    bench.emulator.dashboard.publishAgent(id);
    touch(bench, id);
    const noticed = async (voice_id: string) =>
      at(await bench.plan(voice(voice_id), { publications: 'all' }), 'Agent/a').notices;
    expect(await noticed('one')).toBeUndefined();
    await bench.apply(voice('two'));
    expect(await noticed('two')).toEqual(['publishing would change tts_config.voice_id']);
  });

  it('is reported as edited if its version cannot be read', async () => {
    const { bench, id } = await published();
    touch(bench, id);
    const stored = bench.emulator.world.agents.get(id);
    if (stored !== undefined) bench.emulator.world.agents.set(id, { ...stored, versions: [] });
    const plan = await bench.plan(desired('one'), { publications: 'all' });
    expect(at(plan, 'Agent/a').notices).toEqual([
      expect.stringMatching(/edited since it was published: the platform returns no published version/),
    ]);
    bench.emulator.faults.add({ match: { pattern: '/versions/latest' }, times: 9, fault: { status: 400 } });
    const failed = at(await bench.plan(desired('one'), { publications: 'all' }), 'Agent/a').notices;
    expect(failed).toEqual([expect.stringMatching(/: its latest version cannot be read/)]);
    expect([...(failed ?? [])].join(), 'no hint to status in the output of status').not.toContain('run status');
  });
});
