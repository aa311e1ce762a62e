import { rmSync } from 'node:fs';
import path from 'node:path';
import {
  type Applied,
  BARE_LOOP,
  interleaved,
  type Platform,
  type Run,
  removeManifestCache,
  runNode,
  YAML_FLOOR,
} from './processes.ts';
import type { Bench } from './report.ts';

const SYNC_FLOOR = path.join(import.meta.dirname, 'sync-floor.ts');

interface Creating {
  readonly concurrency: number;
  readonly platform: Platform;
  /** A run that created all agents, with its syncs and bytes. */
  readonly counted: Run;
}

/** Compares an apply that creates everything with the same POSTs, the same syncs and the parser, and measures the cost of its output. */
export async function applying(
  { emit, rounds }: Bench,
  { agents, project, voxform }: Applied,
  { concurrency, platform, counted: { syncs = 0, bytes = 0 } }: Creating,
): Promise<void> {
  const concurrencyText = String(concurrency);
  const always = ['--auto-approve', '--allow-large-change', '--concurrency', concurrencyText];
  const apply = (...flags: string[]): Promise<Run> => {
    rmSync(path.join(project, '.voxform'), { recursive: true, force: true });
    return voxform(['apply', ...always, ...flags]);
  };
  const times = await interleaved(rounds, {
    loop: () => runNode([BARE_LOOP, platform.baseUrl, String(agents), concurrencyText, 'POST']),
    syncs: () => runNode([SYNC_FLOOR, project, String(syncs), String(bytes)]),
    yaml: () => runNode([YAML_FLOOR, project]),
    warm: () => apply('--quiet'),
    text: () => apply(),
    json: () => apply('--output', 'json'),
    cold: async () => {
      removeManifestCache();
      return apply('--quiet');
    },
  });
  const floor = times.loop + times.syncs;
  const what = `apply creating ${agents}`;
  emit({ what: `${what}, warm`, floor: 'loop and syncs', floorValue: floor, value: times.warm, budget: 2.5 });
  emit({
    what: `${what}, cold`,
    floor: 'loop, syncs and yaml',
    floorValue: floor + times.yaml,
    value: times.cold,
    budget: 1.5,
  });
  const quiet = { floor: '--quiet', floorValue: times.warm, budget: 1.1 };
  emit({ ...quiet, what: `${what}: text in a pipe`, value: times.text });
  emit({ ...quiet, what: `${what}: JSON`, value: times.json });
}
