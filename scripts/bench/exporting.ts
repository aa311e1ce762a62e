import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import {
  type Applied,
  BARE_LOOP,
  interleaved,
  type Run,
  type RunOptions,
  runNode,
  startPlatform,
} from './processes.ts';
import { type Bench, memoryBudget } from './report.ts';
import { projectText } from './workload.ts';

const FILE_FLOOR = path.join(import.meta.dirname, 'file-floor.ts');

/** Measures memory and time of an export, compared with the bare loop over the same requests and with writing files of the same sizes. */
export async function exporting(
  { rounds, emit }: Bench,
  { agents, project, voxform }: Applied,
  concurrency: number,
): Promise<void> {
  const platform = await startPlatform(agents, 0);
  const out = path.join(project, 'exported');
  const copy = path.join(project, 'copied');
  const atOnce = String(concurrency);
  const writeOut = async (options?: RunOptions): Promise<Run> => {
    rmSync(out, { recursive: true, force: true });
    return voxform(['export', '--out', out, '--quiet', '--concurrency', atOnce], options);
  };
  try {
    writeFileSync(path.join(project, 'voxform.yaml'), projectText(platform.baseUrl));
    const { mebibytes = Number.NaN } = await writeOut({ memory: true });
    emit({
      what: `export ${agents}: memory`,
      value: mebibytes,
      unit: 'MiB',
      budget: memoryBudget(agents),
    });
    const times = await interleaved(rounds, {
      bare: () => runNode([BARE_LOOP, platform.baseUrl, String(agents), atOnce]),
      files: () => {
        rmSync(copy, { recursive: true, force: true });
        return runNode([FILE_FLOOR, out, copy]);
      },
      whole: () => writeOut(),
    });
    emit({
      what: `export ${agents}: time`,
      floor: 'loop and files',
      floorValue: times.bare + times.files,
      value: times.whole,
      budget: 3,
    });
  } finally {
    await platform.stop();
    for (const folder of [out, copy]) rmSync(folder, { recursive: true, force: true });
  }
}
