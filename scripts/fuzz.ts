import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { FuzzGround } from '../test/trust/fuzz-ground.ts';
import { faultOf, targets } from '../test/trust/fuzz-targets.ts';

/*
 * The long form of test/trust/fuzz.test.ts: npm run fuzz [-- RUNS [SEED [TARGET]]]. Runs whole commands on damaged manifests, project files,
 * states, journals, saved plans and responses, in a process with a heap limit of 512 MB. Prints the number of inputs and the faults.
 */

const HEAP_MEGABYTES = 512;
const [runsText = '2000', seedText = String(Date.now() % 2 ** 31), only, role] = process.argv.slice(2);

if (role === 'child') process.exitCode = await campaign(Number(runsText), Number(seedText));
else {
  const args = [
    `--max-old-space-size=${HEAP_MEGABYTES}`,
    import.meta.filename,
    runsText,
    seedText,
    only ?? '',
    'child',
  ];
  const { status, signal } = spawnSync(process.execPath, args, { stdio: 'inherit' });
  if (signal !== null) say(`The process was killed by ${signal}, probably because of its heap limit.`);
  process.exitCode = status ?? 1;
}

async function campaign(runs: number, seed: number): Promise<number> {
  say(`${runs} runs per target, seed ${seed}, heap at most ${HEAP_MEGABYTES} MB`);
  await using ground = await FuzzGround.open();
  let faults = 0;
  for (const { name, attempts } of targets) {
    if (only !== undefined && only !== '' && only !== name) continue;
    const property = fc.asyncProperty(attempts(ground), async (attempt) => {
      const fault = await faultOf(ground, attempt);
      if (fault !== undefined) throw new Error(fault);
    });
    const outcome = await fc.check(property, { numRuns: runs, seed });
    const memory = Math.round(process.resourceUsage().maxRSS / 1024);
    say(`${name}: ${outcome.numRuns} tried, ${outcome.failed ? 'FAILED' : 'no fault'}, ${memory} MB resident at most`);
    if (!outcome.failed) continue;
    faults++;
    say(`  to repeat: npm run fuzz -- ${runs} ${seed} ${JSON.stringify(name)}`);
    const { errorInstance } = outcome;
    say(`  ${errorInstance instanceof Error ? errorInstance.message : String(errorInstance)}`);
    say(`  input: ${fc.stringify(outcome.counterexample).slice(0, 3_000)}`);
  }
  return faults === 0 ? 0 : 1;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
