import { readFileSync, readlinkSync } from 'node:fs';
import { attempt } from '../problems/attempt.ts';
import { errorCode } from '../problems/error-code.ts';

/** Facts that distinguish a process from another process with the same pid. A fact is undefined if the system does not provide it. */
interface ProcessFacts {
  /** Changes at every boot. */
  readonly boot?: string | undefined;
  /** The PID namespace. Pids are unique only within a namespace. */
  readonly namespace?: string | undefined;
  /** Start time of the process, in clock ticks since boot. */
  readonly started?: string | undefined;
}

export function processFacts(pid: number): ProcessFacts {
  return {
    boot: attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()),
    namespace: attempt(() => readlinkSync('/proc/self/ns/pid')),
    started: statusOf(pid)?.started,
  };
}

/** False only if the process is certainly not running on this machine. */
export function isAlive(pid: number): boolean {
  const state = statusOf(pid)?.state;
  if (state !== undefined) return state !== 'Z' && state !== 'X';
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) !== 'ESRCH';
  }
}

/** Reads fields 3 and 22 of `stat` in proc(5). Counts from the end of field 2, because this field may contain any character. */
function statusOf(pid: number): { state: string | undefined; started: string | undefined } | undefined {
  const text = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  if (text === undefined) return undefined;
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0], started: fields[19] };
}
