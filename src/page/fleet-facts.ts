import type { FleetFigures, ShownWorkspace } from '../fleet/rows/status-rows.ts';
import { plural } from '../output/plural.ts';
import { lastRun } from './fleet-rows.ts';
import type { Fact, ShownProblem } from './page-data.ts';
import { invalidHeading, NO_REQUEST_SHOWN, requestFacts } from './report-status.ts';
import { pauseText } from './run-details.ts';
import { lasting } from './views/parts.ts';

export function factsOf(
  { lateness, oldestCheckAge, neverChecked, orphans, processes, sources }: FleetFigures,
  now: Date,
): Fact[] {
  const count = (wanted: string) => processes.filter(({ status }) => status === wanted).length;
  const ago = (seconds: number) => new Date(now.getTime() - seconds * 1000);
  return [
    ['Longest unchecked since', oldestCheckAge === null ? 'none' : ago(oldestCheckAge)],
    ...(neverChecked === 0 ? [] : [['Never checked', plural(neverChecked, 'workspace')] as const]),
    ...(orphans === 0 ? [] : [['Orphans', String(orphans)] as const]),
    ['Lateness', lasting(Math.round(lateness))],
    ['Processes', `${count('alive')} alive${count('dead') === 0 ? '' : `, ${count('dead')} dead`}`],
    ...sources.map(({ name, problem, fetchedAge, removed }): Fact => {
      if (removed || problem !== null) return [`Source ${name}`, problem ?? 'no longer in the fleet file'];
      return [`Source ${name}, fetched`, fetchedAge === null ? 'never' : ago(fetchedAge)];
    }),
  ];
}

export function factsOfWorkspace(shown: ShownWorkspace): Fact[] {
  const {
    workspaceId,
    baseUrl,
    commit,
    intervalSeconds,
    failures,
    paused,
    vanishedAt,
    asked,
    plan,
    rejected,
  } = shown;
  const known: readonly (readonly [string, string | Date | null | undefined])[] = [
    ['Workspace', workspaceId],
    ['Platform', baseUrl],
    ['Commit', commit],
    ['Interval', lasting(intervalSeconds)],
    ['Labels', lastRun(shown).labels.join(', ') || null],
    ['Failed runs in a row', failures === 0 ? null : String(failures)],
    ['Paused', paused && new Date(paused.at)],
    ['Paused by', paused && pauseText(paused)],
    ['Vanished', vanishedAt === null ? null : new Date(vanishedAt)],
    ['Asked for a run', asked?.by],
    ['Plan', plan?.id],
    ['Plan approved by', plan?.state === 'approved' ? plan.by : null],
    ['Plan rejected', rejected && new Date(rejected.at)],
    ['Plan rejected by', rejected && pauseText(rejected)],
  ];
  const told = known.flatMap(([name, value]): Fact[] =>
    value === null || value === undefined ? [] : [[name, value]],
  );
  return [...told, ...requestFacts(lastRun(shown).pull_request)];
}

export function problemsOf(shown: ShownWorkspace): ShownProblem[] {
  const { error, problems, pull_request: request } = lastRun(shown);
  const { status, checkedAt } = shown;
  const invalid = status === 'failed' ? [] : problems;
  const failed = [
    ...(error === null || status === 'in-sync' ? [] : [error]),
    ...(status === 'failed' ? problems : []),
  ];
  return [
    ...(shown.problem === null ? [] : [{ heading: 'The project cannot be read', lines: [shown.problem] }]),
    ...(failed.length === 0 ? [] : [{ heading: 'The last run failed', lines: failed }]),
    ...(invalid.length === 0 ? [] : [{ heading: invalidHeading(checkedAt ?? undefined), lines: invalid }]),
    ...(request?.problem ? [{ heading: NO_REQUEST_SHOWN, lines: [request.problem] }] : []),
  ];
}
