import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { freemem } from 'node:os';

const MEMORY = '/dev/shm';
const GIGABYTE = 2 ** 30;

/**
 * Keeps temporary files in memory on machines with enough of it: a tenth of the tests' time is disk work for
 * short-lived files.
 */
export default function keepFilesInMemory(): void {
  if (process.env.TMPDIR !== undefined || !isRoomy()) return;
  const folder = mkdtempSync(`${MEMORY}/voxform-`);
  // The mode of `/tmp`, for commands that run as another user.
  chmodSync(folder, 0o1777);
  process.env.TMPDIR = folder;
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
}

function isRoomy(): boolean {
  if (process.platform !== 'linux' || freemem() < 8 * GIGABYTE) return false;
  const mount = /^\S+ \/dev\/shm tmpfs (\S+)/m.exec(readFileSync('/proc/mounts', 'utf8'));
  if (mount?.[1] === undefined || mount[1].split(',').includes('noexec')) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize > 4 * GIGABYTE;
}
