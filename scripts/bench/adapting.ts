import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Applied, BARE_LOOP, type Capacity, interleaved, runNode, startPlatform } from './processes.ts';
import type { Bench } from './report.ts';
import { projectText } from './workload.ts';

const LATENCY_MS = 20;
const MAX_CONCURRENCY = 64;

/** Measures runs with the default concurrency: their time on a fast platform, and how a plan adapts to a limited one. */
export async function adapting({ rounds, emit }: Bench, applied: Applied): Promise<void> {
  const { agents, project, voxform } = applied;
  const flags = ['plan', '--quiet', '--detailed-exitcode'];
  const open = async (capacity?: Capacity) => {
    const platform = await startPlatform(agents, LATENCY_MS, capacity);
    writeFileSync(path.join(project, 'voxform.yaml'), projectText(platform.baseUrl));
    return platform;
  };
  const platform = await open();
  await voxform(flags);
  const times = await interleaved(rounds, {
    bare: () => runNode([BARE_LOOP, platform.baseUrl, String(agents), String(MAX_CONCURRENCY)]),
    plan: () => voxform(flags),
  });
  const what = `plan ${agents}, ${LATENCY_MS} ms, default concurrency`;
  const floor = `loop, ${MAX_CONCURRENCY} at once`;
  emit({ what, floor, floorValue: times.bare, value: times.plan, budget: 1.25 });
  const created = await interleaved(rounds, {
    bare: () => runNode([BARE_LOOP, platform.baseUrl, String(agents), String(MAX_CONCURRENCY), 'POST']),
    apply: () => {
      rmSync(path.join(project, '.voxform'), { recursive: true, force: true });
      return voxform(['apply', '--auto-approve', '--allow-large-change', '--quiet']);
    },
  });
  await platform.stop();
  const creating = `apply creating ${agents}, ${LATENCY_MS} ms, default concurrency`;
  emit({ what: creating, floor, floorValue: created.bare, value: created.apply, budget: 1.5 });

  for (const requests of [12, 40]) {
    const refusing = await open({ requests, beyond: 'refuse' });
    await voxform(flags);
    const { settled } = await refusing.figures();
    await refusing.stop();
    const share = (100 * settled.refused) / settled.requests;
    const refused = { what: `${what}: 429 past ${requests} at once` };
    emit({ ...refused, value: share, unit: '%', budget: 5 });

    const slowing = await open({ requests, beyond: 'queue' });
    await voxform(flags);
    const { maxConcurrency } = (await slowing.figures()).settled;
    await slowing.stop();
    const slowed = { what: `${what}: most at once, slower past ${requests}`, floor: 'best' };
    emit({ ...slowed, floorValue: requests, value: maxConcurrency, unit: 'requests', budget: 1.5 });
  }
}
