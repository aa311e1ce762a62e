import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { startPostgres } from '../../test/state/backends/postgres/postgres-server.ts';
import { interleaved, type Run, runNode, startPlatform } from './processes.ts';
import type { Bench } from './report.ts';
import { BENCH_ENV, projectText, writeProject } from './workload.ts';

/** Compares an apply with a shared or sealed state with one with a local state. */
export async function sharedStates({ bin, folder, rounds, emit }: Bench, agents: number): Promise<void> {
  const project = path.join(folder, 'shared');
  const platform = await startPlatform(0, 0);
  // Enable syncs, as in production.
  await using database = await startPostgres('-c fsync=on');
  const identity = await generateX25519Identity();
  const recipient = await identityToRecipient(identity);
  writeProject(project, agents, platform.baseUrl);
  const apply = (state: string, cache = 'plain'): Promise<Run> => {
    rmSync(path.join(project, '.voxform'), { recursive: true, force: true });
    writeFileSync(path.join(project, 'voxform.yaml'), `${projectText(platform.baseUrl)}state: ${state}\n`);
    const env = {
      ...BENCH_ENV,
      STATE_URL: database.url('postgres'),
      STATE_IDENTITY: identity,
      // Separate caches, because sealed and plain projects replace each other's.
      XDG_CACHE_HOME: path.join(folder, cache),
    };
    const flags = ['--auto-approve', '--allow-large-change', '--quiet'];
    return runNode([bin, 'apply', ...flags], { cwd: project, env });
  };
  const postgres = () => apply(`{ backend: postgres, url: { $secret: STATE_URL }, name: ${randomUUID()} }`);
  const sealed = () =>
    apply(`{ backend: local, seal: { recipients: [${recipient}], identity: { $secret: STATE_IDENTITY } } }`, 'sealed');
  try {
    await postgres();
    await sealed();
    const times = await interleaved(rounds, { local: () => apply('{ backend: local }'), postgres, sealed });
    const row = { floor: 'local state', floorValue: times.local, budget: 1.3 };
    emit({ ...row, what: `apply creating ${agents}, state in PostgreSQL`, value: times.postgres });
    emit({ ...row, what: `apply creating ${agents}, sealed state`, value: times.sealed });
  } finally {
    await platform.stop();
    rmSync(project, { recursive: true, force: true });
  }
}
