import { writeFileSync } from 'node:fs';

/* Loaded before a program: leaves the largest resident memory of the process, in kilobytes, where the bench looks. */

const file = process.env.BENCH_MEMORY_REPORT;
if (file !== undefined) process.on('exit', () => writeFileSync(file, String(process.resourceUsage().maxRSS)));
