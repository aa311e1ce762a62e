import { writeFileSync } from 'node:fs';

/*
 * Loaded before a program: leaves the largest resident memory of the process, in kilobytes, and its processor time, in
 * microseconds, where the bench looks.
 */

const file = process.env.BENCH_MEMORY_REPORT;
if (file !== undefined) {
  process.on('exit', () => {
    const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
    writeFileSync(file, `${maxRSS} ${userCPUTime + systemCPUTime}`);
  });
}
