import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/*
 * Loaded before a program that runs on: tells its parent, when asked, its processor time in microseconds, its resident memory, its
 * largest, and what of its heap is left after a collection, all in MiB.
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
