import { describe, expect, it } from 'vitest';
import type { ImpactDocument } from '../../src/runs/impact/impact-document.ts';
import { schemaProblems } from '../schema-problems.ts';
import { agentManifest, testWorkspace } from './workspace.ts';

const FILE = 'manifests/day.yaml';
const calls = {
  perDay: 50,
  days: 10,
  session_outcome: { resolved: 0.7, escalated: 0.3 },
  versions: { '2': { session_outcome: { resolved: 0.95, escalated: 0.05 }, duration: 120 } },
};

/** Returns an agent with two published versions and the calls of ten days after each. */
async function twoVersions() {
  const workspace = await testWorkspace({ [FILE]: agentManifest('day') }, { behaviour: { calls } });
  for (const prompt of ['Be kind.', 'Be brief.']) {
    await workspace.folder.write(FILE, agentManifest('day', prompt));
    await workspace.run('apply', '--auto-approve');
    workspace.emulator.dashboard.publishAgent([...workspace.emulator.world.agents.keys()][0] ?? '');
  }
  return workspace;
}

describe('voxform impact', () => {
  it('compares versions in every format and reads each call once', { tags: ['long'] }, async () => {
    await using workspace = await twoVersions();
    workspace.emulator.clearRequests();
    const { stdout } = await workspace.run('impact', 'Agent/day', '--output', 'json');
    const document = JSON.parse(stdout) as ImpactDocument;
    expect(schemaProblems('impact', document)).toEqual([]);
    expect(document.versions.map(({ version }) => version)).toEqual([1, 2]);
    const { near_publication: near } = document.left_out;
    expect(document.versions.reduce((sum, each) => sum + each.calls, near)).toBe(1000);
    expect(document.compared).toMatchObject({
      ...{ from: 1, to: 2, duration: { verdict: 'lower' } },
      shares: { session_outcome: { escalated: { verdict: 'lower' }, resolved: { verdict: 'higher' } } },
    });
    const paths = workspace.emulator.requests.map(({ path }) => path.replace(/\?.*|\/01\w+/g, ''));
    expect(paths).toEqual(['/api/v1/agents/versions', ...Array(10).fill('/api/v1/call-histories')]);

    const text = (await workspace.run('impact', 'Agent/day')).stdout;
    expect(text).toMatch(/session_outcome=escalated +\d+\.\d% +\d+\.\d% +-\d+(\.\d)? points \(-[\d.]+ to -[\d.]+\)/);
    expect(text.replace(/\s+/g, ' ')).toContain('does not show which version a call used');
    const html = (await workspace.run('impact', 'Agent/day', '--output', 'html')).stdout;
    expect(html).toMatch(/^<!doctype html>/);
    expect(html.match(/<svg /g)).toHaveLength(7);
    expect(html).toContain('class="publication"');
  });

  it('exits with 2 only if a difference is beyond a limit', { tags: ['long'] }, async () => {
    await using workspace = await twoVersions();
    const code = async (...conditions: string[]) => {
      const flags = conditions.flatMap((condition) => ['--fail-if', condition]);
      return workspace.run('impact', 'Agent/day', ...flags);
    };
    expect((await code('session_outcome=resolved>+10%')).code).toBe(2);
    expect((await code('session_outcome=resolved>+90%')).code).toBe(0);
    expect((await code('session_outcome=escalated>+5%', 'session_outcome=escalated<-10%')).code).toBe(2);
    expect((await code('duration<-20')).code).toBe(2);
    const met = ['--fail-if', 'duration<-20', '--no-detailed-exitcode'];
    expect(await workspace.run('impact', 'Agent/day', ...met)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('is met'),
    });
    expect((await code('session_outcome=escalated>+5%')).code).toBe(0);
    const misspelt = await code('session_outcome=escalatd>+5%');
    expect(misspelt.code).toBe(0);
    expect(misspelt.stderr.replace(/\s+/g, ' ')).toContain('did you mean "escalated"?');
    expect((await workspace.run('impact', 'Agent/day', '--since', '2026-01-12', '--fail-if', 'duration>+1')).code).toBe(
      0,
    );
  });

  it('reads decimals in strings, and fails if a condition uses values that are not numbers', async () => {
    await using workspace = await twoVersions();
    const figures = async (...flags: string[]) => {
      const { stdout, stderr, code } = await workspace.run('impact', 'Agent/day', '--output', 'json', ...flags);
      return { document: JSON.parse(stdout) as ImpactDocument, stderr, code };
    };
    const numbers = await figures();
    workspace.emulator.setBehaviour({ callFigures: 'text' });
    const texts = await figures('--fail-if', 'cost>-9');
    expect(texts).toMatchObject({ document: numbers.document, code: 2 });
    workspace.emulator.setBehaviour({ callFigures: 'withUnit' });
    const odd = await figures('--fail-if', 'cost>-9');
    expect(odd.code).toBe(1);
    expect(odd.stderr.replace(/\s+/g, ' ')).toMatch(/cannot be checked: cost of \d+ of \d+ calls of version 1/);
    const [{ calls, cost, unreadable } = {}] = odd.document.versions;
    expect({ cost, unreadable }).toEqual({
      cost: { median: null, p95: null },
      unreadable: { duration: 0, e2e_latency: calls, cost: calls },
    });
    expect(odd.document.notes.join(' ')).toContain('Values of cost that are not numbers');
    expect((await figures('--fail-if', 'duration>+90')).code, 'a condition on another field').toBe(0);
    expect((await figures('--fail-if', 'cost>-9', '--fail-if', 'duration<-20')).code).toBe(2);
    workspace.emulator.setBehaviour({ callFigures: 'number' });
    const { calls: stored } = workspace.emulator.world.records;
    for (const [id, call] of stored) stored.set(id, { ...call, cost: null } as never);
    const none = await figures('--fail-if', 'cost>-9');
    expect([none.code, none.stderr.replace(/\s+/g, ' ')]).toEqual([
      0,
      expect.stringContaining('no call of version 1 has cost'),
    ]);
  });

  it('counts only the calls of a direction and a channel', async () => {
    await using workspace = await twoVersions();
    const [agent_id = ''] = workspace.emulator.world.agents.keys();
    const late = { start_time: '2026-01-21T00:00:00Z', agent_id };
    for (const channel_type of ['sms', 'sms', 'voice'])
      workspace.emulator.dashboard.recordCall({ ...late, channel_type, direction: 'outbound' });
    workspace.emulator.dashboard.recordCall({ ...late, channel_type: 'sms' });
    const counted = async (...flags: string[]) => {
      const { stdout } = await workspace.run('impact', 'Agent/day', '--output', 'json', ...flags);
      return (JSON.parse(stdout) as ImpactDocument).versions.map(({ calls }) => calls);
    };
    expect(await counted('--direction', 'outbound')).toEqual([0, 3]);
    expect(await counted('--channel', 'sms')).toEqual([0, 3]);
    expect(await counted('--direction', 'outbound', '--channel', 'sms')).toEqual([0, 2]);
    const text = (await workspace.run('impact', 'Agent/day', '--channel', 'sms')).stdout;
    expect(text).toContain('Version 1 has no calls with channel sms: there is nothing to compare.');
    expect((await workspace.run('impact', 'Agent/day', '--direction', 'out')).code).toBe(64);
  });

  it('names the version without calls in the range', async () => {
    await using workspace = await twoVersions();
    const late = ['impact', 'Agent/day', '--since', '2026-01-12', '--compare', '1..2'];
    const reason = 'Version 1 has no calls since 2026-01-12: there is nothing to compare.';
    const text = await workspace.run(...late, '--fail-if', 'session_outcome=resolved>+90%');
    expect(text.stdout).toContain(reason);
    expect(text.stdout).not.toContain('too few calls');
    expect(text.stderr.replace(/\s+/g, ' ')).toContain(`--fail-if is not checked. ${reason}`);
    expect((await workspace.run(...late, '--output', 'html')).stdout).toContain(reason);
  });

  it('reports wrong usage and missing versions', async () => {
    await using workspace = await testWorkspace({ [FILE]: agentManifest('day') });
    await workspace.run('apply', '--auto-approve');
    const cases: readonly (readonly [readonly string[], number, string])[] = [
      [['impact', 'Agent/day'], 1, 'Agent/day was never published'],
      [['impact', 'Agent/dya'], 64, 'did you mean "Agent/day"?'],
      [['impact', 'agent/day'], 64, 'did you mean "Agent/day"?'],
      [['impact', 'Webhook/x'], 64, 'has no versions'],
      [['impact', 'Agent/day', '--compare', '2'], 64, 'Expected two versions'],
      [['impact', 'Agent/day', '--since', 'monday'], 64, 'Expected a date'],
      [['impact', 'Agent/day', '--fail-if', 'cost'], 64, 'expected a condition'],
      [['impact', 'Agent/day', '--fail-if', 'costs>1'], 64, 'did you mean "cost"?'],
      [['impact', 'Agent/day', '--fail-if', 'session_outcome>5%'], 64, 'expected session_outcome=VALUE>5%'],
      [['impact', 'Agent/day', '--fail-if', 'cost=1>5%'], 64, 'expected cost>5'],
    ];
    for (const [args, expected, message] of cases) {
      const { code, stderr } = await workspace.run(...args);
      expect(stderr.replace(/\s+/g, ' '), args.join(' ')).toContain(message);
      expect(code, args.join(' ')).toBe(expected);
    }
    workspace.emulator.dashboard.publishAgent([...workspace.emulator.world.agents.keys()][0] ?? '');
    const unknown = await workspace.run('impact', 'Agent/day', '--compare', '1..9');
    expect(unknown).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('Agent/day has no published version 9'),
    });
    const first = await workspace.run('impact', 'Agent/day', '--fail-if', 'cost>1');
    expect(first.code).toBe(0);
    expect(first.stderr.replace(/\s+/g, ' ')).toContain('--fail-if is not checked. Only one published version');
    const late = await workspace.run('impact', 'Agent/day', '--since', '2030-01-01');
    expect(late.stdout).toContain('Only one version has been in use since 2030-01-01');
  });
});
