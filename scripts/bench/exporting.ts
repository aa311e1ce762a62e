import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { median, type Run, type RunOptions, runNode, startPlatform } from './processes.ts';
import type { Row } from './report.ts';
import { projectText } from './workload.ts';

const BARE_LOOP = path.join(import.meta.dirname, 'bare-loop.ts');

export interface Exporting {
  /** How often it is timed; the median counts. */
  readonly rounds: number;
  readonly concurrency: number;
  emit(row: Row): void;
}

/** A project whose state knows every agent. */
export interface Exported {
  readonly agents: number;
  readonly project: string;
  voxform(args: readonly string[], options?: RunOptions): Promise<Run>;
}

/** All agents written out as manifests, against the bare loop over the same requests: resident memory, and time. */
export async function exporting(
  { rounds, concurrency, emit }: Exporting,
  { agents, project, voxform }: Exported,
): Promise<void> {
  const platform = await startPlatform(agents, 0);
  const out = path.join(project, 'exported');
  const atOnce = String(concurrency);
  const writeOut = async (options?: RunOptions): Promise<Run> => {
    rmSync(out, { recursive: true, force: true });
    return voxform(['export', '--out', out, '--quiet', '--concurrency', atOnce], options);
  };
  try {
    writeFileSync(path.join(project, 'voxform.yaml'), projectText(platform.baseUrl));
    const { mebibytes = Number.NaN } = await writeOut({ memory: true });
    const budget = agents <= 10_000 ? 400 : 2048;
    emit({
      what: `export ${agents}: memory`,
      floor: '',
      floorValue: undefined,
      value: mebibytes,
      unit: 'MiB',
      budget,
    });
    const bare: number[] = [];
    const whole: number[] = [];
    for (let round = 0; round < rounds; round++) {
      bare.push((await runNode([BARE_LOOP, platform.baseUrl, String(agents), atOnce])).seconds);
      whole.push((await writeOut()).seconds);
    }
    emit({
      what: `export ${agents}: time`,
      floor: 'loop',
      floorValue: median(bare),
      value: median(whole),
      budget: undefined,
    });
  } finally {
    await platform.stop();
    rmSync(out, { recursive: true, force: true });
  }
}
