import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { startEmulator } from '../../src/emulator/start-emulator.ts';
import { approvalDigest } from '../../src/engine/plan/plan-digest.ts';
import { systemClock } from '../../src/operator/clock.ts';
import { GracefulShutdown } from '../../src/operator/graceful-shutdown.ts';
import { LastGoodManifests } from '../../src/operator/load-version.ts';
import { Reconciler, type WatchPolicy } from '../../src/operator/reconciler.ts';
import type { RunReport } from '../../src/operator/run-report.ts';
import { folderSource } from '../../src/operator/source.ts';
import { parseRuns } from '../../src/state/run-history.ts';
import type { FreshState } from '../../src/state/state.ts';
import { temporaryFolder } from '../cli/voxform-process.ts';
import { API_KEY, agentManifest, projectFile } from '../cli/workspace.ts';
import { call } from '../emulator/call.ts';
import { step } from '../step.ts';
import { testContext } from './test-context.ts';

it('applies only the approved plan', async () => {
  await using emulator = await startEmulator({ seed: 3 });
  await using folder = await temporaryFolder({
    'voxform.yaml': projectFile(emulator),
    'manifests/a.yaml': agentManifest('a', 'One.'),
  });
  let fresh: FreshState | undefined;
  const run = (approved?: WatchPolicy['approved']): Promise<RunReport> => {
    const context = testContext(folder.root, { env: { VOXFORM_API_KEY: API_KEY } });
    return new Reconciler({
      context,
      shutdown: new GracefulShutdown(context.interrupts.stop, { clock: systemClock, graceMs: 1000 }),
      clock: systemClock,
      policy: { mode: 'approve', lockTimeout: 0, approved },
      operation: 'fleet',
      fresh,
      address: 'voices/acme:test',
      maxBusy: 1000,
      removalDelay: 0,
      hasUnreadChanges: () => false,
      origin: () => ({ checkout: folder.root }),
      manifests: new LastGoodManifests({
        context,
        source: folderSource(folder.root),
        local: undefined,
        watchFiles: async () => false,
      }),
    }).run({ number: 1, triggers: ['interval'], askedBy: [] });
  };
  const writes = () => emulator.requests.filter(({ method }) => method !== 'GET').length;
  const digestIn = ({ hold }: RunReport): string => (hold?.reason === 'approval' ? hold.digest : '');
  const approving = (digest: string) => run({ digest, by: 'ann' });

  const first = await step('produces the same plan until something changes', async () => {
    const one = await run();
    fresh = one.plan?.state;
    const two = await run();
    expect(one).toMatchObject({ result: 'ok', workspace: { name: 'voices/acme:test' }, applied: [] });
    expect(digestIn(two)).toBe(digestIn(one));
    expect(digestIn(one)).toMatch(/^[0-9a-f]{32}$/);
    const { plan } = one;
    expect(plan && approvalDigest(JSON.parse(JSON.stringify(plan)))).toBe(digestIn(one));
    return digestIn(one);
  });

  await step('does not apply a plan that differs from the approved one', async () => {
    await folder.write('manifests/a.yaml', agentManifest('a', 'Two.'));
    const report = await approving(first);
    expect(report).toMatchObject({ result: 'ok', hold: { reason: 'approval', address: 'voices/acme:test' } });
    expect([digestIn(report) === first, writes()]).toEqual([false, 0]);
  });

  await step('applies the approved plan and records the approver in the history', async () => {
    const digest = digestIn(await run());
    const report = await approving(digest);
    expect(report).toMatchObject({ result: 'ok', hold: undefined, applied: [{ action: 'create' }] });
    expect(writes()).toBe(1);
    const history = await readFile(path.join(folder.root, '.voxform/test.history.jsonl'), 'utf8');
    expect(parseRuns(history.split('\n')).at(-1)).toMatchObject({
      command: 'fleet',
      result: 'done',
      approved_by: 'ann',
      plan: { digest },
    });
  });

  await step('does not apply the plan if its record changed after the approval', async () => {
    await folder.write('manifests/a.yaml', agentManifest('a', 'Three.'));
    const digest = digestIn(await run());
    const [id = ''] = emulator.world.agents.keys();
    await call(emulator, ['PUT', `/api/v1/agents/${id}`, { name: 'Renamed' }]);
    const before = writes();
    const report = await approving(digest);
    expect(report.hold?.reason).toBe('approval');
    expect([digestIn(report) === digest, writes() - before]).toEqual([false, 0]);
  });

  await step('needs no approval for an empty plan', async () => {
    await folder.write('manifests/a.yaml', agentManifest('a', 'Three.'));
    await approving(digestIn(await run()));
    expect(await run()).toMatchObject({ result: 'ok', hold: undefined, applied: [] });
  });
});
