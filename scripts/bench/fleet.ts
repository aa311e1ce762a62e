import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import type { FleetFigures } from './fleet-figures.ts';
import { type Platform, sum } from './processes.ts';
import type { Bench } from './report.ts';
import { RunningFleet } from './running-fleet.ts';
import { FLEET_WORKSPACES, fleetAddress, fleetManifest, fleetWorkspaces } from './workload.ts';

const CHANGE_INTERVAL_SECONDS = 10;

interface Usage {
  /** Processor time in seconds. */
  readonly processor: number;
  /** Maximum resident memory in MiB. */
  readonly largest: number;
}

/** Measures the cost of the runs of two replicas in mode report. */
export async function fleet(
  bench: Bench,
  { workspaces, minutes }: { readonly workspaces: number; readonly minutes: number },
): Promise<void> {
  const urlOf = ({ baseUrl }: Platform): string => baseUrl;
  await using running = await RunningFleet.start(bench, { workspaces, mode: 'report', urlOf });
  const { figures, platform, replicas, projects } = running;
  await figures.allChecked(workspaces, () => running.refuseEnded());
  await figures.begin();
  const before = await usageOf(replicas, platform);
  const change = await changing({ projects, workspaces, minutes, figures });
  const after = await usageOf(replicas, platform);
  const { runs, seconds, lateness, statements, server: ofServer } = await figures.end();
  const own = (value: number, what: string, unit: 'ms' | 's' | 'MiB' | 'runs/s' | 'statements', budget?: number) =>
    bench.emit({
      what: `fleet of ${workspaces}: ${what}`,
      value,
      unit,
      budget,
    });
  const each = (total: number): number => (total / runs) * 1000;
  const spent = (of: (usage: Awaited<ReturnType<typeof usageOf>>) => number) => each(of(after) - of(before));
  own(runs / seconds, 'runs begun a second', 'runs/s');
  own(lateness.median, 'lateness, median', 's');
  own(lateness.high, 'lateness, 99 %', 's');
  own(lateness.most, 'lateness, most', 's', 30);
  own(change, 'from the change of a file to the begin of its run, most', 's', 5);
  own(
    spent(({ replicas: all }) => sum(all.map(({ processor }) => processor))),
    'processor time of the replicas a run',
    'ms',
  );
  own(each(ofServer), 'processor time of PostgreSQL a run', 'ms');
  own(
    spent((usage) => usage.platform),
    'processor time of the platform a run',
    'ms',
  );
  own(statements / runs, 'statements a run', 'statements');
  for (const [index, { largest }] of after.replicas.entries())
    own(largest, `memory of replica ${index + 1}, most`, 'MiB', 400);
}

interface Changing {
  readonly projects: string;
  readonly workspaces: number;
  readonly minutes: number;
  readonly figures: FleetFigures;
}

/** Changes a manifest at intervals. Returns the maximum time in seconds until all its workspaces began a run. */
async function changing({ projects, workspaces, minutes, figures }: Changing): Promise<number> {
  let max = 0;
  for (let nth = 0; nth < (minutes * 60) / CHANGE_INTERVAL_SECONDS; nth++) {
    const began = Date.now();
    const project = nth % Math.floor(workspaces / FLEET_WORKSPACES.length);
    appendFileSync(fleetManifest(projects, project, 0), '      - Say goodbye.\n');
    max = Math.max(max, await figures.untilRun(fleetWorkspaces(project).map(fleetAddress), began));
    await setTimeout(Math.max(0, CHANGE_INTERVAL_SECONDS * 1000 - (Date.now() - began)));
  }
  return max;
}

async function usageOf(
  replicas: readonly ChildProcess[],
  platform: Platform,
): Promise<{ readonly replicas: readonly Usage[]; readonly platform: number }> {
  const { processor } = await platform.figures();
  return { replicas: await Promise.all(replicas.map(usage)), platform: processor };
}

async function usage(replica: ChildProcess): Promise<Usage> {
  replica.send('usage');
  const [{ microseconds, largest }] = (await once(replica, 'message')) as [
    { readonly microseconds: number; readonly largest: number },
  ];
  return { processor: microseconds / 1e6, largest };
}
