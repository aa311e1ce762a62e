import { writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';

/*
 * A module that is loaded before a program. When the process exits, writes a report for the bench: the maximum resident memory in kilobytes,
 * the processor time in microseconds, and the number of syncs and of written bytes.
 */

const file = process.env.BENCH_MEMORY_REPORT;
if (file !== undefined) {
  const handle = await open(import.meta.filename);
  const methods = Object.getPrototypeOf(handle) as typeof handle;
  await handle.close();
  const { datasync, sync, write } = methods;
  let syncs = 0;
  let bytes = 0;
  methods.datasync = function () {
    syncs++;
    return datasync.call(this);
  };
  methods.sync = function () {
    syncs++;
    return sync.call(this);
  };
  methods.write = async function (this: typeof handle, ...given: Parameters<typeof write>) {
    const done = await write.apply(this, given);
    bytes += done.bytesWritten;
    return done;
  } as typeof write;
  process.on('exit', () => {
    const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
    writeFileSync(file, `${maxRSS} ${userCPUTime + systemCPUTime} ${syncs} ${bytes}`);
  });
}
