import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/*
 * A module that is loaded before a long-running program. On request, sends to the parent process the processor time in microseconds, and in
 * MiB the current and the maximum resident memory and the heap after a garbage collection.
 */

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

process.on('message', () => {
  const { user, system } = process.cpuUsage();
  const { rss } = process.memoryUsage();
  const largest = process.resourceUsage().maxRSS / 1024;
  collect();
  const { heapUsed } = process.memoryUsage();
  const resident = rss / 2 ** 20;
  process.send?.({ microseconds: user + system, resident, largest, heap: heapUsed / 2 ** 20 });
});
process.channel?.unref();
