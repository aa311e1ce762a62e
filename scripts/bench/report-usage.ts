import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/*
 * Loaded before a long-running program. Sends to its parent on request: its processor time in microseconds, and in MiB its resident
 * memory, the largest one, and its heap after a garbage collection.
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
